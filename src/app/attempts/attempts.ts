/**
 * Calls that began and never said how they ended: found where their process is gone, looked up, and written down as done, as not done or
 * as unknown. What is unknown is said first until a person has seen it.
 */

import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { isMissing, startOf } from '#files/process-life';
import type { AttemptList, ControlResult, Finding } from '#kernel/app';
import {
  type Attempt,
  type AttemptStanding,
  type AttemptView,
  latestEnd,
  ofCall,
  type ProcessMark,
  processOf,
  targetWords,
  unknownTopic,
} from '#kernel/attempt';
import { reasonOf, toFault } from '#kernel/errors';
import { isJsonObject, textOf } from '#kernel/json';
import type { AuditLog } from '#kernel/ports/audit-log';
import type { Log } from '#kernel/ports/log';
import { asListed, say } from '#kernel/text/message';
import { showPlainly } from '#kernel/text/text';
import type { ConnectedClusters } from '../clusters/connect-clusters.ts';
import type { Config } from '../config/config.ts';
import { finding } from '../finding.ts';
import { type Found, foundData, type Look, type LookDeps, lookFor, notDone, unknownEnd } from './look.ts';
import { doubted, endOfOwn, type OwnCalls, ownCalls, runsHere, underWay } from './own-calls.ts';
import { createSpool, type Spool } from './spool.ts';

export interface AttemptsDeps extends LookDeps {
  readonly audit: AuditLog;
  readonly spool: Spool;
  readonly log: Log;
  readonly own: ProcessMark;
  readonly now?: () => number;
}

export interface Attempts {
  /** Looks now and every minute. */
  start(): void;
  /** What this process knows of its own calls. */
  readonly calls: OwnCalls;
  /** How one stands, after a look at it; undefined: it has an end, or none is known. Never rejects. */
  now(call: string): Promise<AttemptStanding | undefined>;
  readonly ofPeople: AttemptList;
  /** This process, for records of what begins. */
  readonly process: ProcessMark;
  readonly spool: Spool;
  close(): Promise<void>;
}

/** In ms. Between two looks; how long a cluster is asked; how long what cannot be asked is asked again once its process is found gone, and how long at most after it began. */
const times = { every: 60_000, ask: 20_000, tryAgain: 3_600_000, giveUp: 24 * 3_600_000 } as const;
/** Beyond a call's own time, for clocks that differ and records under way, in ms. */
const grace = 60_000;

/** Nothing of it can be anywhere: this very process did not go on. */
const notRun = notDone('the store did not confirm the record of its beginning, so it did not run');

function standingAt(attempt: Attempt, own: ProcessMark, now: number): AttemptStanding {
  if (attempt.unknown !== undefined) return 'unknown';
  if (doubted.knows(attempt.call)) return doubted.isDue(attempt.call) ? 'looking' : 'running';
  return isOver(attempt, own, now) ? 'looking' : 'running';
}

export function createAttempts(deps: AttemptsDeps): Attempts {
  const { audit, spool, log, own, now = () => Date.now() } = deps;
  const closing = new AbortController();
  const settler = createSettler({ ...deps, now, signal: closing.signal });
  let timers: NodeJS.Timeout[] = [];
  let looking: Promise<void> | undefined;
  const standingOf = (attempt: Attempt) => standingAt(attempt, own, now());
  const quietly = (): Promise<void> => {
    looking ??= lookAtAll(deps, settler, standingOf)
      // Sooner than in a minute: whoever asked for the call may be waiting to hear of it.
      .then((isSoon) => isSoon && timers.length === 1 && timers.push(setTimeout(endSoon, underWay).unref()))
      .catch((thrown: unknown) => log.warn(`calls without an end are not looked for: ${reasonOf(thrown)}`))
      .then(() => {
        looking = undefined;
      });
    return looking;
  };
  function endSoon(): void {
    timers = timers.slice(0, 1);
    void quietly();
  }
  const find = async (call: string) => (await audit.attempts().catch(() => [])).find((one) => one.call === call);
  return {
    start() {
      if (timers.length > 0) return;
      const look = () => {
        // Again: what was given back when the disk was full is needed the next time, too.
        spool.prepare();
        void quietly();
      };
      timers = [setInterval(look, times.every).unref()];
      look();
    },
    async now(call) {
      await spool.drain();
      const attempt = await find(call);
      if (attempt === undefined || standingOf(attempt) !== 'looking') return attempt && standingOf(attempt);
      await settler.settle(attempt);
      const later = await find(call);
      return later && standingOf(later);
    },
    ...{ process: own, spool },
    calls: ownCalls,
    // Who asks at the command line may have nothing that stays and would look every minute.
    ofPeople: listOf(audit, standingOf, async () => (timers.length > 0 ? undefined : atMost(quietly(), closing.signal))),
    async close() {
      closing.abort();
      for (const timer of timers) clearTimeout(timer);
      await looking;
    },
  };
}

/** What their own processes said counts, so it comes first. @returns whether it is worth looking again soon */
async function lookAtAll(
  { audit, spool }: Pick<AttemptsDeps, 'audit' | 'spool'>,
  { settle }: Settler,
  standingOf: (attempt: Attempt) => AttemptStanding,
): Promise<boolean> {
  await spool.drain();
  const gone = (await audit.attempts()).filter((attempt) => standingOf(attempt) === 'looking');
  let isSoon = false;
  for (const attempt of gone) isSoon = (await settle(attempt)) || isSoon;
  return isSoon;
}

interface Settler {
  /** Looks at one whose process is gone, and writes down what was found. @returns whether it is worth looking again soon. Never rejects. */
  settle(attempt: Attempt): Promise<boolean>;
}

type SettlerDeps = AttemptsDeps & Required<Pick<AttemptsDeps, 'now'>> & { readonly signal: AbortSignal };

function createSettler(deps: SettlerDeps): Settler {
  const { audit, log, now } = deps;
  /** When each was first found without its process. Monotonic: a clock that jumps makes no waiting short, or endless. */
  const goneSince = new Map<string, number>();

  async function looked({ begun }: Attempt): Promise<Look> {
    try {
      return await lookFor(begun, deps, AbortSignal.any([deps.signal, AbortSignal.timeout(times.ask)]));
    } catch (thrown) {
      return { later: toFault(thrown).message };
    }
  }

  async function endNotRun({ call, begun }: Attempt): Promise<boolean> {
    const written = await audit.endAttempt({ name: 'attempt.resolved', attributes: { ...ofCall(begun), ...foundData(notRun) } });
    if (written) doubted.forget(call);
    return false;
  }

  async function settle(attempt: Attempt): Promise<boolean> {
    const { call, begun } = attempt;
    const known = endOfOwn(call);
    if (known !== undefined) {
      await audit.endAttempt(known);
      return false;
    }
    const gone = performance.now() - (goneSince.get(call) ?? performance.now());
    if (!goneSince.has(call)) goneSince.set(call, performance.now());
    const look = await looked(attempt);
    if (mayArrive(look, begun) && gone < underWay) return true;
    const inAll = now() - Date.parse(begun.time);
    const found = endOf(look, inAll > times.giveUp || (gone > times.tryAgain && !('goesOn' in look)));
    if (found === undefined) return 'goesOn' in look;
    const written = await audit.endAttempt({ name: 'attempt.resolved', attributes: { ...ofCall(begun), ...foundData(found) } });
    goneSince.delete(call);
    if (written) logFound(begun, found, log);
    return false;
  }
  return {
    settle: async (attempt) =>
      !deps.signal.aborted &&
      (doubted.isDue(attempt.call) ? endNotRun(attempt) : settle(attempt)).catch((thrown: unknown) => {
        log.warn(`what came of call ${attempt.call} is not written down: ${reasonOf(thrown)}`);
        return false;
      }),
  };
}

/** Whether what nothing was seen of may still reach a cluster. A workspace is changed by the process itself, which is gone. */
function mayArrive(look: Look, { attributes }: Attempt['begun']): boolean {
  return 'end' in look && look.end === 'not_done' && attributes['workspace'] === undefined;
}

function logFound(begun: Attempt['begun'], { end, message }: Found, log: Log): void {
  const tool = textOf(begun.attributes['gen_ai.tool.name']) ?? 'a call';
  const line = showPlainly(`no end of ${tool} (begun ${begun.time}) was written: ${end}: ${message}`, 500);
  if (end === 'unknown') log.warn(line);
  else log.info(line);
}

/** Those of an App, which has its clusters and its workspace to look at. */
export function openAttempts(
  { config, stateDir, log }: { readonly config: Pick<Config, 'clusters'>; readonly stateDir: string; readonly log: Log },
  {
    audit,
    clusters,
    workspacePlace,
    history,
  }: {
    readonly audit: AuditLog;
    readonly clusters: Pick<ConnectedClusters, 'configured'>;
    readonly workspacePlace: string | undefined;
    readonly history: LookDeps['history'];
  },
): Attempts {
  return createAttempts({
    ...{ audit, log, history, own: ownMark(), spool: createSpool({ stateDir, audit, log }) },
    ...(workspacePlace === undefined ? {} : { workspacePlace }),
    clusterOf: (name) => {
      const api = clusters.configured.get(name)?.access.api;
      const tokenId = config.clusters.find((cluster) => cluster.name === name)?.tokenId;
      return api === undefined || tokenId === undefined ? undefined : { api, tokenId };
    },
  });
}

/** Clusters that do not answer are not waited for one after the other. Never rejects. */
async function atMost(looked: Promise<void>, signal: AbortSignal): Promise<void> {
  await Promise.race([looked, pause(times.ask, undefined, { ref: false, signal }).catch(() => undefined)]);
}

function listOf(audit: AuditLog, standingOf: (attempt: Attempt) => AttemptStanding, look: () => Promise<void>): AttemptList {
  return { list: () => look().then(() => listed(audit, standingOf)), seen: (call, by) => markSeen(audit, call, by) };
}

/** Those before the rest that nobody could resolve. */
async function listed(audit: AuditLog, standingOf: (attempt: Attempt) => AttemptStanding): Promise<readonly AttemptView[]> {
  const views = (await audit.attempts()).map((attempt) => viewOf(attempt, standingOf(attempt)));
  return [...views.filter(({ standing }) => standing === 'unknown'), ...views.filter(({ standing }) => standing !== 'unknown')];
}

async function markSeen(audit: AuditLog, call: string, by: string): Promise<ControlResult> {
  const attempt = (await audit.attempts()).find((one) => one.call === call);
  if (attempt?.unknown === undefined) return { ok: false, message: `no call ${showPlainly(call, 60)} has an unknown outcome` };
  const written = await audit.endAttempt({ name: 'attempt.seen', attributes: { ...ofCall(attempt.begun), by } });
  return written
    ? { ok: true, message: `call ${call} is marked as seen; the trail keeps it` }
    : { ok: false, message: `call ${call} was marked or resolved by somebody else just now` };
}

/** It runs no more. Of a call of this very process nobody has to guess: its end was written, and the store that took over has not got it. */
function isOver({ call, begun }: Attempt, own: ProcessMark, now: number): boolean {
  const mark = processOf(begun);
  if (mark !== undefined && isSame(mark, own)) return !runsHere(call);
  return isGone(begun, own, now);
}

function isSame(one: ProcessMark, other: ProcessMark): boolean {
  return (['machine', 'pid', 'boot', 'space', 'started'] as const).every((key) => one[key] === other[key]);
}

/** Its process ended, or the time is over that the call itself had: no call runs longer. */
function isGone(begun: Attempt['begun'], own: ProcessMark, now: number): boolean {
  const mark = processOf(begun);
  const life = mark === undefined ? 'unknown' : lifeOf(mark, own);
  return life === 'gone' || (life === 'unknown' && now > latestEnd(begun) + grace);
}

/** undefined: it is looked at again. */
function endOf(look: Look, isLast: boolean): Found | undefined {
  if (!('later' in look)) return look;
  const next = 'look at the target and at the cluster’s tasks before calling again';
  return isLast
    ? unknownEnd(`its process ended before it could say what came of it, and it could not be looked up: ${look.later}`, next)
    : undefined;
}

function viewOf({ call, begun, unknown: found }: Attempt, standing: AttemptStanding): AttemptView {
  const { agent, target, request_id: requestId, 'gen_ai.tool.name': tool } = begun.attributes;
  const { message, next } = found?.attributes ?? {};
  return {
    ...{ call, standing, begunAt: begun.time, targets: targetWords(target) },
    tool: textOf(tool) ?? 'unknown',
    agent: (isJsonObject(agent) ? textOf(agent['id']) : undefined) ?? 'unknown',
    ...(typeof requestId === 'string' ? { requestId } : {}),
    ...(typeof message === 'string' ? { message } : {}),
    ...(typeof next === 'string' ? { next } : {}),
  };
}

/** One sentence without its end. */
function attemptWords({ tool, targets, agent, begunAt, call, message }: AttemptView): string {
  const what = `${tool}${targets.length === 0 ? '' : ` (${targets.join(', ')})`}`;
  const why = message === undefined ? '' : `: ${message}`;
  return showPlainly(`${what} by ${agent}, begun ${begunAt}, call ${call}${why}`, 600);
}

/** For `doctor`: what is kept beside the store, which comes before all else. Never rejects. */
export function spoolFindings({ spool }: Pick<Attempts, 'spool'>): readonly Finding[] {
  const found = spool.finding();
  return found === undefined ? [] : [found];
}

/** For `doctor`: also what is being looked up, which may be all that anybody hears of it where nothing stays. Never rejects. */
export async function openFindings(attempts: Pick<AttemptList, 'list'>): Promise<readonly Finding[]> {
  return findingsOf(attempts, ['unknown', 'looking']);
}

/** For the alarms. Never rejects. */
export async function attemptFindings(attempts: Pick<AttemptList, 'list'>): Promise<readonly Finding[]> {
  return findingsOf(attempts, ['unknown']);
}

async function findingsOf({ list }: Pick<AttemptList, 'list'>, standings: readonly AttemptStanding[]): Promise<readonly Finding[]> {
  try {
    const open = await list();
    return open
      .filter(({ standing }) => standings.includes(standing))
      .slice(0, 20)
      .map((view): Finding => {
        const call = attemptWords(view);
        if (view.standing === 'unknown') {
          const look = view.next === undefined ? say`look at the target` : asListed(view.next);
          const remedy = say`${look}; then \`banksman attempts seen ${view.call}\``;
          return finding(unknownTopic, 'warning', say`nobody knows what came of ${call}`, remedy);
        }
        const message = say`it has no end, and it is not known yet, what came of ${call}`;
        const remedy = say`a window, an MCP server or the service looks it up every minute; \`banksman attempts list\` says how it stands`;
        return finding(unknownTopic, 'warning', message, remedy);
      });
  } catch {
    // The store says so itself.
    return [];
  }
}

/** `proc(5)`; systems without it have machine and number alone. */
function ownMark(): ProcessMark {
  const known = { boot: textIn('/proc/sys/kernel/random/boot_id'), space: linkOf('/proc/self/ns/pid'), started: startOf(process.pid) };
  const given = Object.entries(known).filter(([, value]) => value !== undefined);
  return { machine: hostname(), pid: process.pid, ...Object.fromEntries(given) };
}

/**
 * `unknown`: it cannot be seen from here (another machine or container, or a system that shows no processes): then only the call's own time tells.
 * INVARIANT: `gone` is said only of a process that surely runs no more.
 */
function lifeOf(mark: ProcessMark, own: ProcessMark = ownMark()): 'alive' | 'gone' | 'unknown' {
  if (!isInSight(mark, own)) return 'unknown';
  if (isMissing(mark.pid)) return 'gone';
  const started = startOf(mark.pid);
  // Where other users' processes are hidden (`hidepid`, `ProtectProc=`), its number alone says nothing.
  if (started === undefined || mark.started === undefined) return 'unknown';
  return started === mark.started ? 'alive' : 'gone';
}

/** The same kernel since the same start, and the same numbers. Another boot is this machine before it was started again, or another machine: nobody can tell. */
function isInSight({ machine, boot, space }: ProcessMark, own: ProcessMark): boolean {
  if (boot === undefined && own.boot === undefined) return machine === own.machine;
  return boot === own.boot && space !== undefined && space === own.space;
}

function textIn(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch {
    return undefined;
  }
}

function linkOf(file: string): string | undefined {
  try {
    return readlinkSync(file);
  } catch {
    return undefined;
  }
}
