/**
 * What becomes of held changes once a person has answered: approved, they are applied by whoever has the workspace open; refused, over or
 * forgotten, they are dropped. The grant is consumed once, so of two processes that see the same answer one applies it.
 */

import type { ByHandRun } from '#kernel/app';
import { type RequestRecord, waitState } from '#kernel/approval/request';
import { applyHeldTool, type RunHistory } from '#kernel/effects';
import { toFault } from '#kernel/errors';
import type { Outcome } from '#kernel/outcome';
import type { Clock } from '#kernel/ports/clock';
import type { Log } from '#kernel/ports/log';
import type { RequestStore } from '#kernel/ports/request-store';

export interface HeldDeps {
  history(): Promise<RunHistory | undefined>;
  readonly requests: Pick<RequestStore, 'list' | 'waitOf' | 'onChange' | 'cancel'>;
  /** Runs an approved request's call in its agent's place. */
  run(record: RequestRecord, run: ByHandRun): Promise<Outcome>;
  readonly clock: Clock;
  readonly log: Log;
}

export interface HeldAnswers {
  /** From now on, as long as the process stays. Once is enough. */
  follow(): void;
  /** As `run`, once a request: whoever else asks meanwhile gets the same outcome. */
  apply(record: RequestRecord, run: ByHandRun): Promise<Outcome>;
  close(): Promise<void>;
}

/** A person who approves by hand applies it by hand, too, and is told what came of it: that goes first. */
const patienceMs = 1_500;
const lookAgainMs = 15_000;
/** Longer than applying may take. */
const abandonedMs = 120_000;
const mostPages = 20;

export function createHeldAnswers(deps: HeldDeps): HeldAnswers {
  const applying = new Map<string, Promise<Outcome>>();
  const ended = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  let work: Promise<void> | undefined;
  let unsubscribe: (() => void) | undefined;
  const soon = (ms: number) => {
    if (ended.signal.aborted || timer !== undefined) return;
    timer = setTimeout(() => {
      timer = undefined;
      work = (work ?? Promise.resolve()).then(look);
    }, ms).unref();
  };
  const apply = (record: RequestRecord, run: ByHandRun): Promise<Outcome> => {
    const running = applying.get(record.id) ?? runOnce(record, run, deps).finally(() => applying.delete(record.id));
    applying.set(record.id, running);
    return running;
  };
  const look = async () => {
    try {
      const stillOpen = await settle(deps, apply, ended.signal);
      if (stillOpen) soon(lookAgainMs);
    } catch (thrown) {
      deps.log.warn(`held changes: their answers could not be looked at: ${toFault(thrown).message}`);
      soon(lookAgainMs);
    }
  };
  return {
    follow: () => {
      unsubscribe ??= deps.requests.onChange(() => soon(patienceMs));
      soon(patienceMs);
    },
    apply,
    close: async () => {
      ended.abort();
      clearTimeout(timer);
      unsubscribe?.();
      await work;
      await Promise.allSettled(applying.values());
    },
  };
}

/** What lies there now is not what a person approved, and never will be again: no later try could apply it. */
async function runOnce(record: RequestRecord, run: ByHandRun, deps: HeldDeps): Promise<Outcome> {
  const outcome = await deps.run(record, run);
  if (outcome.code !== 'target_changed') return outcome;
  const held = record.action.arguments['held'];
  if (typeof held === 'string') await (await deps.history())?.dropHeld(held);
  await deps.requests.cancel(record.id, 'system:held_conflict');
  return {
    ...outcome,
    code: 'held_conflict',
    message: 'what was held is not what was approved any more; nothing was applied, and it is dropped',
    next: 'run the command again: a person is asked anew',
  };
}

/** @returns whether an answer is still to come, or to be used */
async function settle(deps: HeldDeps, apply: HeldAnswers['apply'], signal: AbortSignal): Promise<boolean> {
  const history = await deps.history();
  let stillOpen = false;
  for (const id of (await history?.heldIds()) ?? []) {
    if (signal.aborted) return false;
    const record = await requestOf(id, deps.requests);
    const standing = record === undefined ? 'open' : await standingOf(record, deps);
    if (standing === 'over') await history?.dropHeld(id);
    else stillOpen = true;
    if (standing === 'apply' && record !== undefined) await applyAnswered(record, { deps, apply, signal });
  }
  return stillOpen;
}

interface Applying {
  readonly deps: HeldDeps;
  readonly apply: HeldAnswers['apply'];
  readonly signal: AbortSignal;
}

async function applyAnswered(record: RequestRecord, { deps, apply, signal }: Applying): Promise<void> {
  const outcome = await apply(record, { by: record.decision?.by ?? 'user', signal });
  const words = `held changes, request ${record.id}: ${outcome.message}`;
  if (outcome.status === 'ok') deps.log.info(words);
  else deps.log.warn(words);
}

/** undefined: it is not asked for yet, or its request is not kept any more; then its age ends it. */
async function requestOf(id: string, requests: HeldDeps['requests']): Promise<RequestRecord | undefined> {
  let cursor: string | undefined;
  for (let page = 0; page < mostPages; page += 1) {
    const found = await requests.list({ search: id, limit: 10, ...(cursor === undefined ? {} : { cursor }) });
    const record = found.records.find(({ action }) => action.tool === applyHeldTool && action.arguments['held'] === id);
    if (record !== undefined || found.cursor === undefined) return record;
    cursor = found.cursor;
  }
  return undefined;
}

async function standingOf({ id, status, consumedAt }: RequestRecord, deps: HeldDeps): Promise<'open' | 'apply' | 'over'> {
  if (status === 'pending') return 'open';
  const now = deps.clock.now();
  if (status === 'approved') return waitState(await deps.requests.waitOf(id), now).waits ? 'open' : 'apply';
  // Whoever consumed the grant is at it, or was killed at it.
  return status === 'consumed' && now - (consumedAt ?? now) < abandonedMs ? 'open' : 'over';
}
