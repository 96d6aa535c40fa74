/** What is known of the effect of a call that changes something: as data for programs, and in words. */
import type { JsonObject } from './json.ts';

export type KnownEffect =
  /** Surely nothing: it did not leave, or it was refused at once. */
  | { readonly state: 'not_sent' }
  /** It left, and nobody has said what came of it. `what` says what may be, `next` how to find out; `runId`: the run of the journal that it is. */
  | { readonly state: 'sent'; readonly what?: string; readonly next?: string; readonly runId?: string }
  /** The cluster took it on as a task. `exitStatus` once it has ended. */
  | { readonly state: 'task'; readonly upid: string; readonly lastSeen: 'accepted' | 'running' | 'ended'; readonly exitStatus?: string };

export const notSent: KnownEffect = { state: 'not_sent' };

/** The end of a sentence that says what went wrong; undefined where nothing is to be added. */
export function effectWords(effect: KnownEffect): string | undefined {
  if (effect.state === 'not_sent') return 'nothing was done';
  if (effect.state === 'sent') return effect.what;
  if (effect.lastSeen === 'accepted') return `it was accepted as task ${effect.upid}, of which nothing has been seen yet`;
  if (effect.lastSeen === 'running') return `its task was running when it was last seen: ${effect.upid}`;
  return `its task has ended (${effect.exitStatus ?? 'no exit status'}): ${effect.upid}`;
}

/** What to do next because of it; undefined where the failure itself decides. */
export function effectNext(effect: KnownEffect): string | undefined {
  if (effect.state === 'not_sent') return undefined;
  if (effect.state === 'sent') return effect.next ?? 'it may have taken effect: look at the target before calling again';
  return effect.lastSeen === 'ended' ? undefined : followTaskWords(effect.upid);
}

/** How to see the end of a task. INVARIANT: works when followed literally; a test does. */
export function followTaskWords(upid: string): string {
  return `ending the call does not end the task: follow it with get_recent_tasks and \`filter\` \`${upid}\` (\`status\` is its exit status once it has ended), and do not repeat the call before`;
}

/** As outcomes and records hold it. */
export function effectData(effect: KnownEffect): JsonObject {
  if (effect.state === 'sent' && effect.runId !== undefined) return { state: effect.state, run_id: effect.runId };
  if (effect.state !== 'task') return { state: effect.state };
  const { state, upid, lastSeen, exitStatus } = effect;
  return { state, upid, last_seen: lastSeen, ...(exitStatus === undefined ? {} : { exit_status: exitStatus }) };
}
