/** One `tools/call`: from the protocol into the App and back. */
import {
  type CallToolRequest,
  type CallToolResult,
  type InputRequiredResult,
  inputRequired,
  type Server,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { mcpAgent } from '#app/agents';
import type { App, HumanGate } from '#app/app';
import type { Outcome } from '#kernel/outcome';
import type { ModelTier } from '#kernel/tiers';
import { callResult } from './call-result.ts';
import { type ClientView, clientView } from './client-view.ts';
import { pointerAnswer, pointerKey, pointerTo } from './pointer.ts';
import { heartbeat, progressReporter, type ReportProgress } from './progress.ts';

/** Who is behind a connection: known from its token, or from the OS over stdio. Never from what the client says. */
export interface Caller {
  /** The agent id without `mcp:`. */
  readonly name: string;
  readonly modelTier: ModelTier;
}

export interface CallToolDeps {
  readonly app: App;
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
 * does not wait for a person; the second does, if somebody has seen the pointer. Both open the same request (same agent, same digest).
 */
async function callInRounds(call: Call, deps: CallToolDeps): Promise<CallToolResult | InputRequiredResult> {
  const answer = pointerAnswer(call.ctx.mcpReq.inputResponses);
  const waits = answer === 'seen';
  const outcome = await callApp(call, deps, waitingGate(call), waits ? undefined : 0);
  if (outcome.status !== 'pending' || outcome.request_id === undefined || answer !== 'none') return callResult(outcome);
  const title = deps.app.announce(call.params.name, call.params.arguments ?? {})?.title ?? call.params.name;
  return inputRequired({ inputRequests: { [pointerKey]: inputRequired.elicit(pointerTo(outcome.request_id, title)) } });
}

function callApp(
  { params, client, report }: Call,
  { app, caller, signal }: CallToolDeps,
  gate: HumanGate,
  waitMs?: number,
): Promise<Outcome> {
  return app.call({
    tool: params.name,
    input: params.arguments ?? {},
    agent: mcpAgent(caller.name, caller.modelTier, client.label),
    signal,
    waitMs: waitMs ?? app.config.approvalWait.mcp,
    gate,
    onProgress: report,
  });
}

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
