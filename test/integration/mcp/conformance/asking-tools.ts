/**
 * The suite's tools that ask the client during a call, as 2025-11-25 does it. With `send`: the SDK's `elicitInput` and `requestSampling` go
 * out on the session's own stream, which the client may not have opened yet, and are then lost.
 */
import type { ElicitRequestFormParams, McpServer, ServerContext } from '@modelcontextprotocol/server';
import * as z from 'zod';
import { text } from './content-tools.ts';

type RequestedSchema = ElicitRequestFormParams['requestedSchema'];

const account: RequestedSchema = {
  type: 'object',
  properties: {
    username: { type: 'string', description: "User's response" },
    email: { type: 'string', description: "User's email address" },
  },
  required: ['username', 'email'],
};

const defaults: RequestedSchema = {
  type: 'object',
  properties: {
    name: { type: 'string', default: 'John Doe' },
    age: { type: 'integer', default: 30 },
    score: { type: 'number', default: 95.5 },
    status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
    verified: { type: 'boolean', default: true },
  },
};

const titled = (titles: readonly string[]) => titles.map((title, index) => ({ const: `value${index + 1}`, title }));

const enums: RequestedSchema = {
  type: 'object',
  properties: {
    untitledSingle: { type: 'string', enum: ['option1', 'option2', 'option3'] },
    titledSingle: { type: 'string', oneOf: titled(['First Option', 'Second Option', 'Third Option']) },
    legacyEnum: { type: 'string', enum: ['opt1', 'opt2', 'opt3'], enumNames: ['Option One', 'Option Two', 'Option Three'] },
    untitledMulti: { type: 'array', items: { type: 'string', enum: ['option1', 'option2', 'option3'] } },
    titledMulti: { type: 'array', items: { anyOf: titled(['First Choice', 'Second Choice', 'Third Choice']) } },
  },
};

export function registerAskingTools(server: McpServer): void {
  server.registerTool(
    'test_sampling',
    { description: 'asks the model', inputSchema: z.object({ prompt: z.string() }) },
    async ({ prompt }, ctx) => {
      const messages = [{ role: 'user', content: { type: 'text', text: prompt } }];
      const answer = await ctx.mcpReq.send({ method: 'sampling/createMessage', params: { messages, maxTokens: 100 } });
      return text(`LLM response: ${JSON.stringify(answer.content)}`);
    },
  );
  server.registerTool(
    'test_elicitation',
    { description: 'asks the user', inputSchema: z.object({ message: z.string() }) },
    ({ message }, ctx) => elicit(ctx, message, account),
  );
  server.registerTool('test_elicitation_sep1034_defaults', { description: 'asks with defaults' }, (ctx) =>
    elicit(ctx, 'defaults', defaults),
  );
  server.registerTool('test_elicitation_sep1330_enums', { description: 'asks with choices' }, (ctx) => elicit(ctx, 'choices', enums));
}

async function elicit(ctx: ServerContext, message: string, requestedSchema: RequestedSchema) {
  const params = { mode: 'form', message, requestedSchema };
  const { action, content } = await ctx.mcpReq.send({ method: 'elicitation/create', params });
  return text(`Elicitation completed: action=${action}, content=${JSON.stringify(content)}`);
}
