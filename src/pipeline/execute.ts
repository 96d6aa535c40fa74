/** execute: the only place where a handler is called. */
import { type Deadline, endWithin } from '#execution/deadline';
import { toFault } from '#kernel/errors';
import { effectData, effectNext, effectWords, type KnownEffect } from '#kernel/known-effect';
import type { Outcome } from '#kernel/outcome';
import type { FollowUp, Tool, ToolResult } from '#kernel/tool';
import { type HandlerContext, toolContext } from './context.ts';
import type { CallDeps, IncomingCall } from './deps.ts';
import type { Approved } from './stage.ts';

/** How long a handler whose call was ended may take to say how far it had come, in ms. */
export const lastWordMs = 1_000;

export interface Executed {
  readonly outcome: Outcome;
  readonly asks?: FollowUp;
}

/** Runs the handler under the deadline. Whatever happens is an outcome. */
export async function execute(state: Approved, call: IncomingCall, deps: CallDeps, deadline: Deadline): Promise<Executed> {
  const handler = toolContext(state, { call, deps, deadline });
  let work: Promise<ToolResult> | undefined;
  try {
    // SECURITY: a caller who gave up while the grant was being consumed must not see an effect begin.
    deadline.signal.throwIfAborted();
    work = Promise.resolve(state.tool.run(state.input, handler.context));
    return outcomeOf(await deadline.within(work), state, handler);
  } catch (thrown) {
    const end = deadline.signal.aborted && work !== undefined ? await endWithin(work, lastWordMs) : { thrown };
    // It ended just so: that is truer than any word about the time.
    if (end !== undefined && 'value' in end) return outcomeOf(end.value, state, handler);
    return { outcome: failure(state, end?.thrown, deadline, handler), ...given({ asks: handler.asks() }) };
  }
}

function outcomeOf(result: ToolResult, { requestId }: Approved, handler: HandlerContext): Executed {
  const effect = effectOf(result, handler.effect());
  const outcome: Outcome = {
    status: result.ok ? 'ok' : result.denied === true ? 'denied' : 'error',
    code: result.ok ? 'ok' : result.code,
    message: result.message,
    ...given({ request_id: requestId, next: result.next, tier: result.ok ? undefined : result.tier }),
    ...given({ effect: effect && effectData(effect), result: result.result }),
  };
  return { outcome, ...given({ asks: result.asks }) };
}

/** A task can be looked up whatever came of it; that something left is worth saying where it did not end well. */
function effectOf(result: ToolResult, noted: KnownEffect): KnownEffect | undefined {
  if (noted.state === 'task') return (result.ok ? undefined : result.effect) ?? noted;
  if (result.ok) return undefined;
  return result.effect ?? (noted.state === 'sent' ? noted : undefined);
}

function failure(state: Approved, thrown: unknown, { signal }: Deadline, handler: HandlerContext): Outcome {
  const reported = thrown === undefined ? undefined : toFault(thrown);
  // The deadline's own reason is the cause; a connector may have reported the abort in its own words.
  const fault = signal.aborted || reported === undefined ? toFault(signal.reason) : reported;
  const effect = changesSomething(state.tool) ? mergeEffect(handler.effect(), reported?.effect) : undefined;
  return {
    status: 'error',
    ...told(signal.aborted ? `${state.tool.name}: ${fault.message}` : fault.message, fault.code, effect),
    ...given({ request_id: state.requestId, next: nextOf(fault.next, effect), result: reported?.result }),
  };
}

function told(message: string, code: string, effect: KnownEffect | undefined): Pick<Outcome, 'code' | 'message' | 'effect'> {
  if (effect === undefined) return { code, message };
  const stillRunning = code === 'timeout' && effect.state === 'task';
  return { code: stillRunning ? 'task_still_running' : code, message: withEffectWords(message, effect), effect: effectData(effect) };
}

/** The keys that have a value. */
export function given<Values extends object>(values: Values): { [Key in keyof Values]?: Exclude<Values[Key], undefined> } {
  const entries = Object.entries(values).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [Key in keyof Values]?: Exclude<Values[Key], undefined> };
}

/** A task can be followed, whatever else is to be done; of what was sent the handler knows most, then the failure. */
function nextOf(own: string | undefined, effect: KnownEffect | undefined): string | undefined {
  if (effect === undefined) return own;
  const noted = effect.state === 'sent' ? effect.next : undefined;
  const parts = effect.state === 'task' ? [own, effectNext(effect)] : [noted ?? own ?? effectNext(effect)];
  return parts.filter((part) => part !== undefined).join('; then: ') || undefined;
}

/** Whether a call of this tool has an effect to speak of. */
export function changesSomething(tool: Tool): boolean {
  return tool.tier !== 'green';
}

/** What a failure knows is nearer than what the handler feared; the handler's words fill what it leaves open. */
function mergeEffect(noted: KnownEffect, reported: KnownEffect | undefined): KnownEffect {
  if (reported === undefined) return noted;
  return reported.state === 'sent' && noted.state === 'sent' ? { ...noted, ...reported } : reported;
}

/** Said once, whoever says it. */
export function withEffectWords(message: string, effect: KnownEffect): string {
  const words = effectWords(effect);
  const said =
    words === undefined || message.includes(words) || (effect.state === 'not_sent' && /\bnothing (?:was|has been) /.test(message));
  return said ? message : `${message}; ${words}`;
}
