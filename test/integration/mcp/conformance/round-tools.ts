/** The suite's tools and prompt that ask the client between calls, as 2026-07-28 does it. */
import {
  acceptedContent,
  type CallToolResult,
  CLIENT_CAPABILITIES_META_KEY,
  type InputRequiredResult,
  inputRequired,
  type McpServer,
  type RequestStateCodec,
  type ServerContext,
} from '@modelcontextprotocol/server';
import * as z from 'zod';
import { text } from './content-tools.ts';

type Answer = CallToolResult | InputRequiredResult;

const nameForm = z.object({ name: z.string() });
const okForm = z.object({ ok: z.boolean() });

const ask = {
  name: (message = 'What is your name?') => inputRequired.elicit({ message, requestedSchema: nameForm }),
  confirm: () => inputRequired.elicit({ message: 'Please confirm', requestedSchema: okForm }),
  color: () => inputRequired.elicit({ message: 'Step 2: What is your favorite color?', requestedSchema: z.object({ color: z.string() }) }),
  model: (question: string, maxTokens: number) =>
    inputRequired.createMessage({ messages: [{ role: 'user', content: { type: 'text', text: question } }], maxTokens }),
};

export function registerRoundTools(server: McpServer, codec: RequestStateCodec): void {
  const tool = (name: string, run: (ctx: ServerContext) => Answer | Promise<Answer>) =>
    void server.registerTool(`test_${name}`, { description: 'asks in rounds' }, run);
  tool('input_required_result_elicitation', askName);
  tool('streaming_elicitation', askName);
  tool('input_required_result_sampling', (ctx) =>
    hasAnswer(ctx, 'capital_question')
      ? text(JSON.stringify(answers(ctx)['capital_question']))
      : inputRequired({ inputRequests: { capital_question: ask.model('What is the capital of France?', 100) } }),
  );
  tool('input_required_result_list_roots', (ctx) =>
    hasAnswer(ctx, 'client_roots')
      ? text(JSON.stringify(answers(ctx)['client_roots']))
      : inputRequired({ inputRequests: { client_roots: inputRequired.listRoots() } }),
  );
  tool('input_required_result_capabilities', askWhatIsDeclared);
  // Asks whether or not the client can: the protocol layer refuses what was not declared.
  tool('missing_capability', () => inputRequired({ inputRequests: { question: ask.model('Anybody there?', 10) } }));
  registerStateTools(server, codec);
  server.registerPrompt('test_input_required_result_prompt', { description: 'asks in rounds' }, (ctx) => {
    const given = acceptedContent(ctx.mcpReq.inputResponses, 'user_context', z.object({ context: z.string() }));
    if (given === undefined) {
      const form = z.object({ context: z.string() });
      return inputRequired({
        inputRequests: { user_context: inputRequired.elicit({ message: 'What context should the prompt use?', requestedSchema: form }) },
      });
    }
    return { messages: [{ role: 'user', content: { type: 'text', text: given.context } }] };
  });
}

function registerStateTools(server: McpServer, codec: RequestStateCodec): void {
  const tool = (name: string, run: (ctx: ServerContext) => Promise<Answer>) =>
    void server.registerTool(`test_input_required_result_${name}`, { description: 'asks in rounds, with state' }, run);
  for (const name of ['request_state', 'tampered_state']) {
    tool(name, async (ctx) => {
      if (ctx.mcpReq.requestState() !== undefined && hasAnswer(ctx, 'confirm')) return text('state-ok');
      return inputRequired({ inputRequests: { confirm: ask.confirm() }, requestState: await codec.mint({ round: 1 }) });
    });
  }
  tool('multiple_inputs', async (ctx) => {
    if (['user_name', 'greeting', 'client_roots'].every((key) => hasAnswer(ctx, key))) return text(JSON.stringify(answers(ctx)));
    return inputRequired({
      inputRequests: { user_name: ask.name(), greeting: ask.model('Generate a greeting', 50), client_roots: inputRequired.listRoots() },
      requestState: await codec.mint({ round: 1 }),
    });
  });
  tool('multi_round', async (ctx) => {
    if (hasAnswer(ctx, 'step2')) return text('both steps done');
    if (hasAnswer(ctx, 'step1'))
      return inputRequired({ inputRequests: { step2: ask.color() }, requestState: await codec.mint({ round: 2 }) });
    return inputRequired({
      inputRequests: { step1: ask.name('Step 1: What is your name?') },
      requestState: await codec.mint({ round: 1 }),
    });
  });
}

function askName(ctx: ServerContext): Answer {
  const given = acceptedContent(ctx.mcpReq.inputResponses, 'user_name', nameForm);
  return given === undefined ? inputRequired({ inputRequests: { user_name: ask.name() } }) : text(`Hello, ${given.name}!`);
}

function askWhatIsDeclared(ctx: ServerContext): Answer {
  const can = declared(ctx);
  const inputRequests = {
    ...(can['elicitation'] === undefined ? {} : { user_name: ask.name() }),
    ...(can['sampling'] === undefined ? {} : { greeting: ask.model('Generate a greeting', 50) }),
  };
  if (Object.keys(inputRequests).length === 0 || Object.keys(inputRequests).some((key) => hasAnswer(ctx, key))) return text('done');
  return inputRequired({ inputRequests });
}

function declared(ctx: ServerContext): Readonly<Record<string, unknown>> {
  const envelope: Readonly<Record<string, unknown>> = ctx.mcpReq.envelope ?? {};
  return (envelope[CLIENT_CAPABILITIES_META_KEY] ?? {}) as Readonly<Record<string, unknown>>;
}

function answers(ctx: ServerContext): Readonly<Record<string, unknown>> {
  return ctx.mcpReq.inputResponses ?? {};
}

function hasAnswer(ctx: ServerContext, key: string): boolean {
  return Object.hasOwn(answers(ctx), key);
}
