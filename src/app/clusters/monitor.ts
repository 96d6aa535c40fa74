/**
 * What changes in a cluster without a call: nodes that go and come, quorum, guests that start and stop, storages that fill up. Looked at once a
 * minute by processes that stay, and written to the trail with `monitor` as its source. The first look of a process only learns.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { AuditDraft, AuditRecord } from '#kernel/audit-event';
import { reasonOf } from '#kernel/errors';
import { wordOf } from '#kernel/json';
import type { AuditLog } from '#kernel/ports/audit-log';
import type { ClusterPort } from '#kernel/ports/cluster';
import type { Log } from '#kernel/ports/log';
import type { Store } from '#kernel/ports/store';
import { showPlainly } from '#kernel/text/text';
import { holdLock } from '#stores/sqlite/hold-lock';

export interface ClusterMonitor {
  /** One look at every cluster; never rejects. Looks that come meanwhile join it. */
  look(): Promise<void>;
  start(): void;
  close(): Promise<void>;
}

interface MonitorParts extends Pick<Store, 'claim'> {
  readonly clusters: ReadonlyMap<string, ClusterPort>;
  readonly audit: Pick<AuditLog, 'append' | 'head' | 'read'>;
  readonly log: Log;
  readonly stateDir: string;
}

/** In ms. */
const period = 60_000;
const lookMs = 20_000;
/** A storage counts as full from here on, and as having room again only below the second one: no event for every few bytes. */
const fullAt = 0.9;
const roomAt = 0.85;
/** Of one look: a cluster that comes back has hundreds. */
const mostEvents = 50;
/** How often, and how far apart in ms, one asks for its turn. */
const turnTries = 100;
const turnPauseMs = 50;
/** Who was faster on another machine has this long to write it down, in ms: rather told twice than not at all. */
const othersMs = 5_000;
/** Another process saw it first if it is among so many of the newest records, and no older than two looks. */
const recordsLookedAt = 200;

/** What is watched → how it is: `guest 100 (web)` → `running`. */
type State = ReadonlyMap<string, string>;

export function createClusterMonitor(parts: MonitorParts): ClusterMonitor {
  const { clusters, log } = parts;
  const known = new Map<string, State>();
  const closing = new AbortController();
  let looking: Promise<void> | undefined;
  let timer: ReturnType<typeof setInterval> | undefined;

  async function lookAt(cluster: string, api: ClusterPort): Promise<void> {
    const before = known.get(cluster);
    const now = await stateOf(api, before, AbortSignal.any([closing.signal, AbortSignal.timeout(lookMs)]));
    if (closing.signal.aborted) return;
    known.set(cluster, now);
    if (before === undefined) return;
    const drafts = changesBetween(before, now).map(([what, from, to]) => draftOf(cluster, what, from, to));
    if (drafts.length > mostEvents)
      log.warn(`${cluster}: ${drafts.length} things changed at once; the first ${mostEvents} are written down`);
    if (drafts.length > 0) await tellAll(drafts.slice(0, mostEvents), parts);
  }

  async function lookAtAll(): Promise<void> {
    for (const [cluster, api] of clusters) {
      try {
        await lookAt(cluster, api);
      } catch (thrown) {
        if (!closing.signal.aborted) log.warn(`monitor: ${cluster}: ${showPlainly(reasonOf(thrown), 300)}`);
      }
    }
  }

  const look = (): Promise<void> => {
    looking ??= lookAtAll().finally(() => {
      looking = undefined;
    });
    return looking;
  };
  return {
    look,
    start: () => {
      timer ??= setInterval(() => void look(), period);
      // It must not keep a process alive that is done.
      timer.unref();
    },
    close: async () => {
      clearInterval(timer);
      closing.abort();
      await looking;
    },
  };
}

async function tellAll(drafts: readonly AuditDraft[], parts: MonitorParts): Promise<void> {
  const release = await waitForTurn(parts.stateDir);
  try {
    for (const draft of drafts) await tell(draft, parts);
  } finally {
    release();
  }
}

async function tell(draft: AuditDraft, { audit, log, claim }: MonitorParts): Promise<void> {
  const last = await lastAbout(draft, audit);
  if (says(last, draft)) return;
  // Whoever has read the same trail claims the same.
  const { cluster, what, to } = draft.attributes;
  const claimed = (await claim?.(JSON.stringify(['monitor', cluster, what, to, last?.hash ?? null]), 2 * period)) ?? true;
  if (!claimed && (await isToldByOthers(draft, audit))) return;
  await audit.append(draft);
  log.info(`monitor: ${wordOf(draft.attributes['message'])}`);
}

async function isToldByOthers(draft: AuditDraft, audit: MonitorParts['audit']): Promise<boolean> {
  const until = performance.now() + othersMs;
  while (performance.now() < until) {
    if (says(await lastAbout(draft, audit), draft)) return true;
    await sleep(turnPauseMs * 4);
  }
  return false;
}

/** One process of this machine at a time looks whether another has told, and tells. Never rejects: rather told twice than not at all. */
async function waitForTurn(stateDir: string): Promise<() => void> {
  for (let tries = 0; tries < turnTries; tries += 1) {
    try {
      return holdLock(stateDir, 'monitor');
    } catch {
      await sleep(turnPauseMs);
    }
  }
  return () => undefined;
}

async function lastAbout({ attributes }: AuditDraft, audit: MonitorParts['audit']): Promise<AuditRecord | undefined> {
  const head = await audit.head();
  const records = head === undefined ? [] : await audit.read(Math.max(0, head.sequence - recordsLookedAt), recordsLookedAt);
  return records.findLast((record) => isAbout(record, attributes));
}

/** Another process saw it first. */
function says(last: AuditRecord | undefined, { attributes }: AuditDraft): boolean {
  return last?.attributes['to'] === attributes['to'] && Date.now() - Date.parse(last?.time ?? '') < 2 * period;
}

function isAbout({ name, attributes }: AuditRecord, { cluster, what }: AuditDraft['attributes']): boolean {
  return name === 'cluster.changed' && attributes['cluster'] === cluster && attributes['what'] === what;
}

/** Beside a caller's (`llm`, `user`, `api`): nobody called. */
const source = 'monitor';

function draftOf(cluster: string, what: string, from: string, to: string): AuditDraft {
  return { name: 'cluster.changed', attributes: { source, cluster, what, from, to, message: `${cluster}: ${what}: ${from} → ${to}` } };
}

/** Things that are new or gone are no change of their own: guests are made and deleted by calls, which have records. */
function changesBetween(before: State, now: State): readonly (readonly [what: string, from: string, to: string])[] {
  return [...now].flatMap(([what, to]) => {
    const from = before.get(what);
    return from === undefined || from === to ? [] : [[what, from, to] as const];
  });
}

/** A cluster that cannot be asked is known by that alone; what was seen before stays, so that it is compared once it answers again. */
async function stateOf(api: ClusterPort, before: State | undefined, signal: AbortSignal): Promise<State> {
  try {
    const [status, nodes, guests, storages] = await Promise.all([
      api.clusterStatus(signal).catch(() => []),
      api.nodes(signal),
      api.guests(signal),
      api.resources('storage', signal).catch(() => []),
    ]);
    const quorate = status.find(({ type }) => type === 'cluster')?.quorate;
    return new Map([
      ['the API', 'answers'],
      ...(quorate === undefined ? [] : [['quorum', quorate ? 'there' : 'lost'] as const]),
      ...nodes.map(({ node, status: state }) => [`node ${node}`, state] as const),
      ...guests.map(({ vmid, status: state }) => [`guest ${vmid}`, state] as const),
      ...storages.flatMap((row) => fillOf(row, before)),
    ]);
  } catch (thrown) {
    if (before === undefined) throw thrown;
    return new Map([...before, ['the API', 'does not answer']]);
  }
}

function fillOf(
  { storage, node, shared, disk, maxdisk }: Readonly<Record<string, unknown>>,
  before: State | undefined,
): readonly (readonly [string, string])[] {
  const share = Number(disk) / Number(maxdisk);
  if (!Number.isFinite(share)) return [];
  const what = `storage ${wordOf(storage)}${Number(shared ?? 0) === 1 ? '' : ` of ${wordOf(node)}`}`;
  const wasFull = before?.get(what) === 'nearly full';
  return [[what, share >= (wasFull ? roomAt : fullAt) ? 'nearly full' : 'has room']];
}
