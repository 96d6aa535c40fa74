/** A question that a model answers: what it is told and shown, the loop, and what is said at its end. */
import {
  CancellationTokenSource,
  ChatRequestTurn,
  ChatResponseMarkdownPart,
  ChatResponseTurn,
  type LanguageModelChat,
  LanguageModelChatMessage,
  type LanguageModelChatTool,
  LanguageModelTextPart,
  LanguageModelToolCallPart,
  LanguageModelToolResultPart,
  Location,
  Uri,
  workspace,
} from 'vscode';
import { tierOfPicked } from '#app/for-hosts';
import type { ShortTool } from '#app/short-list';
import type { Agent } from '#kernel/agent';
import { Fault } from '#kernel/errors';
import { isJsonObject, type JsonObject } from '#kernel/json';
import type { Outcome } from '#kernel/outcome';
import { showPlainly } from '#kernel/text/text';
import type { ModelTier } from '#kernel/tiers';
import type { ToolDescription } from '#kernel/tool';
import { languageModelName } from '../contributes/names.ts';
import { participantLabel } from '../contributes/participant.ts';
import { t, titleOf } from '../l10n.ts';
import { abortOnCancel } from '../tools/call-progress.ts';
import { chatCaller } from '../tools/chat-words.ts';
import { runTool } from '../tools/run-tool.ts';
import { type LoopEnd, type Model, type ModelPart, runLoop } from './agent-loop.ts';
import type { Message, ToolCall } from './conversation.ts';
import { exchangeOf, recall, remember, type TurnMemory, type WaitingCall } from './memory.ts';
import { createModelText } from './model-text.ts';
import { questionWords, rulesFor, stillWaits } from './model-words.ts';
import { type Circumstances, offerFor } from './offer.ts';
import { type AttachedPlace, attachedTo } from './references.ts';
import { sayCall, sayEnd, sayNoTools, sayNotRead, sayPlace, sayStart, sayWaiting } from './say.ts';
import type { ParticipantDeps, SignalledTurn, Turn } from './turn.ts';

export async function askModel(turn: SignalledTurn, deps: ParticipantDeps): Promise<TurnMemory> {
  const { command, prompt, references, model } = turn.request;
  if (command !== 'continue' && prompt.trim() === '' && references.length === 0) return sayStart(turn);
  const opening = command === 'continue' ? await openingOf(turn, deps) : [];
  if ('said' in opening) return opening;
  if (cannotCallTools(model)) return sayNoTools(turn);
  return converse(turn, deps, opening);
}

/** Who asks, as the pipeline knows it: the chat's session, with the tier of the model that the person picked in it. */
function agentOf({ request: { toolInvocationToken, model } }: Turn, configured: ModelTier): Agent {
  // Copilot's own list has names that stand for no one model (`auto`): those are what they are to its own agent.
  const tier = tierOfPicked([model.id, model.family], configured, model.vendor === 'copilot' ? configured : 'basic');
  return { ...chatCaller(toolInvocationToken, tier), model: showPlainly(model.id, 100), label: participantLabel };
}

async function converse(turn: SignalledTurn, deps: ParticipantDeps, opening: readonly ToolCall[]): Promise<TurnMemory> {
  const { request, stream, signal } = turn;
  const here = await circumstancesOf(turn, deps);
  const attached = await attachments(turn, deps);
  const text = createModelText();
  const show = (words: string) => {
    if (words !== '') stream.markdown(words);
  };
  const call = async (tool: ToolDescription, input: unknown) => {
    show(text.rest());
    const outcome = await callTool(tool, input, { turn, deps });
    sayCall(turn, tool, outcome);
    return outcome;
  };
  const { end, calls, said } = await runLoop(
    {
      rules: rulesFor(here, request.command),
      before: exchangesOf(turn),
      now: [{ from: 'person', text: questionWords(request.command, request.prompt) + attached }],
    },
    {
      model: chatModel(request.model, t('@banksman lets it answer, and call Banksman’s tools.')),
      offer: offerFor(deps.tools, here),
      signal,
      call,
      say: (words) => show(text.take(words)),
    },
    opening,
  );
  show(text.rest());
  sayEnd(turn, end);
  if (turn.context.history.length === 0) sayPlace(turn, here);
  return { ...remember(said, calls), ...leftOpen(end) };
}

function leftOpen(end: LoopEnd): Pick<TurnMemory, 'waits' | 'unfinished'> {
  if (end.kind === 'rounds') return { unfinished: true };
  if (end.kind !== 'waits' || end.call.outcome.request_id === undefined) return {};
  const { tool, input, outcome } = end.call;
  return { waits: { requestId: outcome.request_id ?? '', tool, input: isJsonObject(input) ? input : {} } };
}

async function circumstancesOf(turn: Turn, { runner }: ParticipantDeps): Promise<Circumstances> {
  const { request } = turn;
  const { configured, clusters } = await runner.session.use(({ config, live }) =>
    Promise.resolve({ configured: config.defaultModelTier, clusters: live.clusters.length }),
  );
  return {
    tier: agentOf(turn, configured).modelTier,
    clusters,
    hasWorkspace: workspace.workspaceFolders?.some(({ uri }) => uri.scheme === 'file') === true,
    looksOnly: request.command === 'plan' || !workspace.isTrusted,
    first: firstTools[request.command ?? ''] ?? [],
    room: request.model.maxInputTokens,
  };
}

const firstTools: Readonly<Record<string, readonly string[]>> = {
  plan: ['propose_plan', 'check_plan'],
  continue: ['check_request_status', 'check_plan'],
};

interface CallPlace {
  readonly turn: SignalledTurn;
  readonly deps: ParticipantDeps;
}

/**
 * In this process, not by `lm.invokeTool`: so the pipeline knows the model, the answer stays a value, a cancelled call says what it knows of its effect, and
 * nothing of the editor's own confirming is in between (docs/adr/0039-participant.md).
 */
async function callTool(tool: ToolDescription, input: unknown, { turn, deps: { runner } }: CallPlace): Promise<Outcome> {
  turn.stream.progress(`${titleOf(tool)}…`);
  const isPlan = turn.request.command === 'plan';
  const gate: typeof runner.gate = {
    ask(request, done) {
      sayWaiting(turn, request);
      runner.gate.ask(request, done);
    },
  };
  return runTool(
    { ...runner, gate },
    {
      tool,
      input,
      agent: (configured) => agentOf(turn, configured),
      call: abortOnCancel(turn.token),
      isShownThere: true,
      // A plan is shown in the chat first: its dialog is opened by whoever has read it.
      ...(isPlan ? { waitMs: 0 } : {}),
    },
  );
}

async function attachments(turn: SignalledTurn, deps: ParticipantDeps): Promise<string> {
  const tool = deps.tools.find(({ name }) => name === 'read_file');
  if (tool === undefined || turn.request.references.length === 0) return '';
  const readFile = (input: JsonObject) => callTool(tool, input, { turn, deps });
  const { text, read, notRead } = await attachedTo(turn.request.references, { readFile, placeOf });
  for (const place of read) turn.stream.reference(place);
  sayNotRead(turn, notRead);
  return text;
}

function placeOf(value: unknown): AttachedPlace | undefined {
  const isPart = value instanceof Location;
  if (!isPart && !(value instanceof Uri)) return undefined;
  const uri = isPart ? value.uri : value;
  const isDirty = workspace.textDocuments.some((document) => document.isDirty && document.uri.toString() === uri.toString());
  return { uri, name: workspace.asRelativePath(uri), isDirty, shown: value, ...(isPart ? { range: value.range } : {}) };
}

/** What was said to this participant before, in this chat. */
function exchangesOf({ context: { history } }: Turn): readonly (readonly Message[])[] {
  return history.flatMap((response, index) => {
    const question = history[index - 1];
    if (!(response instanceof ChatResponseTurn) || !(question instanceof ChatRequestTurn)) return [];
    const memory = recall(response.result.metadata) ?? { said: shownText(response), calls: [] };
    const command = question.command === undefined ? '' : `/${question.command} `;
    return [exchangeOf(command + question.prompt, memory, index)];
  });
}

function shownText({ response }: ChatResponseTurn): string {
  return response.map((part) => (part instanceof ChatResponseMarkdownPart ? part.value.value : '')).join('');
}

/** `/continue`: the approved call itself, to the letter, since an approval is worth that alone; of anything else, how it stands. */
async function openingOf(turn: Turn, { runner: { session } }: ParticipantDeps): Promise<readonly ToolCall[] | TurnMemory> {
  const waits = lastWaiting(turn);
  if (waits === undefined) {
    const next = t('ask for something first, or look at the list of pending approvals');
    throw new Fault('nothing_waits', t('nothing that you asked @banksman for in this chat waits for an answer'), { next });
  }
  const record = await session.use(({ approvals }) => approvals.get(waits.requestId));
  if (record?.status === 'pending') {
    sayWaiting(turn, record);
    return { said: stillWaits(record.id), calls: [], waits };
  }
  return [{ id: 'continue', ...callAfter(waits, record?.status === 'approved') }];
}

function callAfter({ requestId, tool, input }: WaitingCall, isApproved: boolean): Omit<ToolCall, 'id'> {
  if (tool === 'propose_plan') return { name: languageModelName('check_plan'), input: { plan_id: requestId } };
  if (isApproved) return { name: languageModelName(tool), input };
  return { name: languageModelName('check_request_status'), input: { request_id: requestId } };
}

function lastWaiting({ context: { history } }: Turn): WaitingCall | undefined {
  const last = history.findLast((turn) => turn instanceof ChatResponseTurn);
  return last instanceof ChatResponseTurn ? recall(last.result.metadata)?.waits : undefined;
}

// The model that a person picked, of whatever provider, as the loop knows models.

function chatModel(model: LanguageModelChat, justification: string): Model {
  return {
    // Providers that do not know say 0.
    room: model.maxInputTokens > 0 ? model.maxInputTokens : unknownRoom,
    async *send(messages, tools, signal) {
      const source = new CancellationTokenSource();
      const cancel = () => source.cancel();
      signal.addEventListener('abort', cancel, { once: true });
      try {
        const options = { justification, ...(tools.length === 0 ? {} : { tools: tools.map(toolOf) }) };
        const { stream } = await model.sendRequest(messages.map(messageOf), options, source.token);
        for await (const part of stream) {
          const understood = partOf(part);
          if (understood !== undefined) yield understood;
        }
      } finally {
        signal.removeEventListener('abort', cancel);
        source.cancel();
        source.dispose();
      }
    },
  };
}

const unknownRoom = 8_000;

/**
 * Whether its provider says that it cannot call tools. The typings leave it out, VS Code 1.139 gives it to every extension; where it is not there, nobody
 * knows.
 */
function cannotCallTools(model: LanguageModelChat): boolean {
  const capabilities: unknown = Reflect.get(model, 'capabilities');
  return isJsonObject(capabilities) && capabilities['supportsToolCalling'] === false;
}

function toolOf({ name, description, inputSchema }: ShortTool): LanguageModelChatTool {
  return { name, description, inputSchema };
}

function messageOf(message: Message): LanguageModelChatMessage {
  if (message.from === 'person') return LanguageModelChatMessage.User(message.text);
  if (message.from === 'tools')
    return LanguageModelChatMessage.User(
      message.answers.map(({ id, text }) => new LanguageModelToolResultPart(id, [new LanguageModelTextPart(text)])),
    );
  const said = message.text === '' ? [] : [new LanguageModelTextPart(message.text)];
  const calls = message.calls.map(({ id, name, input }) => new LanguageModelToolCallPart(id, name, isJsonObject(input) ? input : {}));
  return LanguageModelChatMessage.Assistant([...said, ...calls]);
}

/** Thoughts, pictures and whatever else comes are no part of an answer. */
function partOf(part: unknown): ModelPart | undefined {
  if (part instanceof LanguageModelTextPart) return { text: part.value };
  if (part instanceof LanguageModelToolCallPart) return { call: { id: part.callId, name: part.name, input: part.input } };
  return undefined;
}
