/** execute: the only place where a handler is called. */
import type { Deadline } from '#execution/deadline';
import { toFault } from '#kernel/errors';
import type { Outcome } from '#kernel/outcome';
import type { ToolResult } from '#kernel/tool';
import { toolContext } from './context.ts';
import type { CallDeps, IncomingCall } from './deps.ts';
import type { Approved } from './stage.ts';

/** Runs the handler under the deadline. Whatever happens is an outcome. */
export async function execute(state: Approved, call: IncomingCall, deps: CallDeps, deadline: Deadline): Promise<Outcome> {
  const handler = toolContext(state, { call, deps, deadline });
  try {
    // SECURITY: a caller who gave up while the grant was being spent must not see an effect begin.
    deadline.signal.throwIfAborted();
    const work = Promise.resolve(state.tool.run(state.input, handler.context));
    return outcomeOf(await deadline.within(work), state.requestId);
  } catch (thrown) {
    return failure(state, thrown, deadline, handler.stillRunning());
  }
}

function outcomeOf(result: ToolResult, requestId: string | undefined): Outcome {
  return {
    status: result.ok ? 'ok' : 'error',
    code: result.ok ? 'ok' : result.code,
    message: result.message,
    ...(requestId === undefined ? {} : { request_id: requestId }),
    ...(result.next === undefined ? {} : { next: result.next }),
    ...(result.result === undefined ? {} : { result: result.result }),
  };
}

function failure(state: Approved, thrown: unknown, deadline: Deadline, running: string | undefined): Outcome {
  // The deadline's own reason is the cause; a connector may have reported the abort in its own words.
  const fault = toFault(deadline.signal.aborted ? deadline.signal.reason : thrown);
  const ended = deadline.signal.aborted || fault.retryable || fault.code === 'outcome_unknown';
  const still = ended && running !== undefined ? `; ${running}` : '';
  const next = still === '' ? fault.next : 'it was not stopped: look at get_recent_tasks or at the target before calling again';
  return {
    status: 'error',
    code: fault.code,
    message: `${deadline.signal.aborted ? `${state.tool.name}: ` : ''}${fault.message}${still}`,
    ...(state.requestId === undefined ? {} : { request_id: state.requestId }),
    ...(next === undefined ? {} : { next }),
  };
}
