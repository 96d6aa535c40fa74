/** One `tools/call`: from the protocol into the App and back. */
import {
  type CallToolRequest,
  type CallToolResult,
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  type InputRequiredResult,
  inputRequired,
  type Server,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { mcpAgent } from '#app/for-hosts';
import type { CallingApp, HumanGate } from '#kernel/app';
import { requestIdPattern } from '#kernel/approval/request';
import { isJsonObject, type JsonValue } from '#kernel/json';
import type { Outcome } from '#kernel/outcome';
import { showPlainly } from '#kernel/text/text';
import type { ModelTier } from '#kernel/tiers';
import { clientIsGone } from './call-tracker.ts';

/** Who is behind a connection: known from its token, or from the OS over stdio. Never from what the client says. */
export interface Caller {
  /** The agent id without `mcp:`. */
  readonly name: string;
  readonly modelTier: ModelTier;
}

interface CallToolDeps {
  readonly app: CallingApp;
  readonly server: Server;
  readonly caller: Caller;
  readonly era: 'legacy' | 'modern';
  /** The caller's cancel, or the server's end. */
  readonly signal: AbortSignal;
}

export async function callTool(
  params: CallToolRequest['params'],
  ctx: ServerContext,
  deps: CallToolDeps,
): Promise<CallToolResult | InputRequiredResult> {
  const client = clientView(deps.server, ctx);
  const call = { params, ctx, client, report: progressReporter(ctx) };
  return deps.era === 'modern' && client.showsForms
    ? callInRounds(call, deps)
    : callResult(await callApp(call, deps, pushedGate(call, deps)));
}

interface Call {
  readonly params: CallToolRequest['params'];
  readonly ctx: ServerContext;
  readonly client: ClientView;
  readonly report: ReportProgress;
}

/**
 * 2026-07-28 has no requests from server to client: the call answers with what it wants shown, and the client calls again. The first round
 * does not wait for a person; the second does, whatever came of the pointer: clients without a screen refuse every form at once, which says
 * nothing of a person, and what a person presses there is no answer either. Both open the same request (same agent, same digest).
 */
async function callInRounds(call: Call, deps: CallToolDeps): Promise<CallToolResult | InputRequiredResult> {
  const isFirst = !wasShown(call.ctx.mcpReq.inputResponses);
  const outcome = await callApp(call, deps, waitingGate(call), isFirst ? 0 : undefined);
  if (!isFirst || outcome.status !== 'pending' || outcome.request_id === undefined) return callResult(outcome);
  const title = (await titleOf(outcome.request_id, deps)) ?? deps.app.announce(call.params.name, call.params.arguments ?? {})?.title;
  const pointer = pointerTo(outcome.request_id, title ?? call.params.name);
  return inputRequired({ inputRequests: { [pointerKey]: inputRequired.elicit(pointer) } });
}

/** As it stands in the approvals view, with the guest's name. */
async function titleOf(id: string, { app }: CallToolDeps): Promise<string | undefined> {
  return (await app.approvals.get(id).catch(() => undefined))?.title;
}

async function callApp(
  { params, client, report }: Call,
  { app, caller, signal, era }: CallToolDeps,
  gate: HumanGate,
  waitMs?: number,
): Promise<Outcome> {
  const agent = mcpAgent(caller.name, caller.modelTier, client.label);
  let asked: string | undefined;
  const outcome = await app.call({
    tool: params.name,
    input: params.arguments ?? {},
    agent,
    signal,
    waitMs: waitMs ?? app.config.approvalWait.mcp,
    gate: {
      ask: (request, done) => {
        asked = request.id;
        gate.ask(request, done);
      },
    },
    onProgress: report,
  });
  // It would wait for an hour for a person whose answer nobody wants any more. What cannot be withdrawn lapses by itself.
  if (asked !== undefined && outcome.code === 'cancelled' && isWithdrawn(signal, era)) {
    await app.approvals.cancel(asked, agent.id).catch(() => undefined);
  }
  return withRule(outcome);
}

/**
 * The client itself said that it no longer wants this call. A client that went away, or a server that stops, is not that: the agent may come back
 * for the answer within the hour. Over 2026-07-28's HTTP the two look the same.
 */
function isWithdrawn({ reason }: AbortSignal, era: CallToolDeps['era']): boolean {
  if (typeof reason === 'string') return reason !== clientIsGone;
  return era === 'legacy' && reason instanceof DOMException && reason.name === 'AbortError';
}

/** Some clients drop the server's instructions, so the rule goes with the refusal that it is about. */
function withRule(outcome: Outcome): Outcome {
  return outcome.status === 'denied' && outcome.next === undefined ? { ...outcome, next: deniedRule } : outcome;
}

const deniedRule = 'do not try it another way or through another tool; tell the user';

/** Keeps the client's own time limit from ending the wait. */
function waitingGate({ report }: Call): HumanGate {
  return { ask: (request, done) => heartbeat(report, `still waiting for a person: ${request.id}`, done) };
}

/** The same, and where the client can be asked during a call (2025-11-25), the pointer beside it. Its answer is thrown away. */
function pushedGate(call: Call, { app, era }: CallToolDeps): HumanGate {
  const waiting = waitingGate(call);
  if (era === 'modern' || !call.client.showsForms) return waiting;
  return {
    ask: (request, done) => {
      waiting.ask(request, done);
      const params = { mode: 'form', ...pointerTo(request.id, request.title) };
      // `send`, not `elicitInput`: the latter goes out on the session's own stream over HTTP and is lost where the client has not opened one.
      call.ctx.mcpReq
        .send({ method: 'elicitation/create', params }, { signal: done, timeout: app.config.approvalWait.mcp + 5_000 })
        .catch(() => undefined);
    },
  };
}

/**
 * Structured for programs, and the same as text for clients that read nothing else (MCP 2025-11-25, tools, structured content).
 * Denied and error are errors to the client. Pending is none: a person has been asked, and there is nothing to mend; its code, message and
 * `next` say that nothing has been done yet.
 *
 * An error is text alone. Claude Code gives its model the text of an error, Gemini CLI and Cline give theirs both forms: a sentence in the one and
 * the data in the other would leave some model without one of them, and of two whole ones all is read twice. No tool lists an `outputSchema`, so
 * none is owed a structure.
 */
export function callResult(outcome: Outcome): CallToolResult {
  const content: CallToolResult['content'] = [{ type: 'text', text: JSON.stringify(outcome) }];
  const isError = outcome.status === 'denied' || outcome.status === 'error';
  return isError ? { content, isError } : { content, structuredContent: { ...outcome } };
}

/** What a client says of itself: a label for people and what it can show. Never an identity (any client can claim any name). */
interface ClientView {
  readonly label?: string;
  /** Whether it can put a form before a person (`elicitation/create`). */
  readonly showsForms: boolean;
}

/** From the request's own envelope (2026-07-28), else from `initialize` (2025-11-25 and before). */
export function clientView(server: Pick<Server, 'getClientVersion' | 'getClientCapabilities'>, ctx: ServerContext): ClientView {
  const envelope: Readonly<Record<string, unknown>> = ctx.mcpReq.envelope ?? {};
  const info = envelope[CLIENT_INFO_META_KEY] ?? server.getClientVersion();
  const capabilities = envelope[CLIENT_CAPABILITIES_META_KEY] ?? server.getClientCapabilities();
  const label = labelOf(info);
  return { ...(label === undefined ? {} : { label }), showsForms: showsForms(capabilities) };
}

function labelOf(info: unknown): string | undefined {
  if (!isJsonObject(info) || typeof info.name !== 'string') return undefined;
  const version = typeof info.version === 'string' ? ` ${info.version}` : '';
  return showPlainly(`${info.name}${version}`, 100);
}

/** `elicitation: {}` is the older way to say `{ form: {} }`; a client that names only `url` shows no forms. */
function showsForms(capabilities: unknown): boolean {
  if (!isJsonObject(capabilities)) return false;
  const elicitation: JsonValue | undefined = capabilities.elicitation;
  if (!isJsonObject(elicitation)) return false;
  return elicitation.form !== undefined || elicitation.url === undefined;
}

/** Key of the pointer among a 2026-07-28 call's input requests. */
export const pointerKey = 'answer_elsewhere';

interface Pointer {
  readonly message: string;
  /** Nothing to fill in: an answer here would look like one that counts. */
  readonly requestedSchema: { readonly type: 'object'; readonly properties: Record<string, never> };
}

/** @param title what would happen, as in the approvals view; shown plainly, since names from the cluster are in it */
export function pointerTo(requestId: string, title: string): Pointer {
  const id = requestIdPattern.test(requestId) ? requestId : 'unknown';
  return {
    message:
      `${showPlainly(title)}: this waits for you as request ${id}. Answer it in VS Code (Banksman: pending approvals) or in a terminal of ` +
      `your own with \`banksman approvals show ${id}\`. What you press here approves nothing.`,
    requestedSchema: { type: 'object', properties: {} },
  };
}

/** Whether the client brought back an answer to the pointer: then it has been called before. What the answer says is not looked at. */
export function wasShown(responses: Readonly<Record<string, unknown>> | undefined): boolean {
  return responses !== undefined && Object.hasOwn(responses, pointerKey);
}

/** How often a wait for a person is reported, in ms: well within the 60 s after which clients give up on a silent call. */
const heartbeatMs = 10_000;

type ReportProgress = (message: string) => void;

/**
 * Sends each message as a notification with a growing count. A client that cannot be reached is no error of the call's.
 * @returns a function that does nothing for a client that did not ask
 */
function progressReporter({ mcpReq }: Pick<ServerContext, 'mcpReq'>): ReportProgress {
  const { _meta: meta } = mcpReq;
  const progressToken = meta?.progressToken;
  if (progressToken === undefined) return () => undefined;
  let progress = 0;
  return (message) => {
    // A call that was given up reports nothing more: its token is no longer the client's.
    if (mcpReq.signal.aborted) return;
    progress += 1;
    mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress, message } }).catch(() => undefined);
  };
}

/** Reports at intervals until `done` aborts, so that the client's own time limit does not end a wait for a person. */
function heartbeat(report: ReportProgress, message: string, done: AbortSignal): void {
  const timer = setInterval(() => report(message), heartbeatMs);
  done.addEventListener('abort', () => clearInterval(timer), { once: true });
}
