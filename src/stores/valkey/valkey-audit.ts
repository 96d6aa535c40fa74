/** The shared trail: a sorted set to which its writers can only add. */
import type { AuditRecord } from '#kernel/audit-event';
import { Fault, toFault } from '#kernel/errors';
import { isJsonObject } from '#kernel/json';
import type { ChainedAuditLog } from '#kernel/ports/chained-audit-log';
import { storedRecord } from '../stored-record.ts';
import { type AuditChain, type LogRange, rangeOfLog, rangeWithScores, trailReaders } from './audit-chain.ts';
import type { Connections } from './connections.ts';
import { type Keys, lives } from './keys.ts';
import { createValkeyAttempts } from './valkey-attempts.ts';

export interface AuditDeps {
  readonly connections: Connections;
  readonly keys: Keys;
  readonly chain: AuditChain;
  readonly now: () => number;
  readonly ring: () => void;
}

const pageSize = 1000;

export function createValkeyAudit(deps: AuditDeps): ChainedAuditLog {
  const { connections, keys } = deps;
  const readAt = (place: number, limit: number): Promise<readonly string[]> =>
    connections.asAny(trailReaders, (client, role) => rangeOfLog(client, role, keys.log, ['-inf', place, limit]));
  const write = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      const written = await work();
      deps.ring();
      return written;
    } catch (thrown) {
      throw unavailable(thrown);
    }
  };
  const attempts = createValkeyAttempts(deps, {
    append: (draft) => write(() => deps.chain.append(draft)),
    since: (from) => pagesSince(deps, from),
  });
  return {
    append: (draft) => write(() => deps.chain.append(draft)),
    appendAll: (drafts) => write(() => deps.chain.appendGroup(drafts)),
    read: async (after, limit) => (await readAt(Math.max(0, after), Math.max(0, limit))).map((member) => storedRecord(member, 0)),
    ofRequest: async (requestId, since) =>
      (await recordsSince(deps, since, requestId)).filter(({ attributes }) => attributes['request_id'] === requestId),
    changesSince: async (since) => {
      const counts = new Map<string, number>();
      for (const { name, attributes } of await recordsSince(deps, since, '"tool.started"')) {
        const { agent, cluster, impact } = attributes;
        const id = isJsonObject(agent) ? agent['id'] : undefined;
        if (name !== 'tool.started' || typeof id !== 'string' || cluster === undefined || impact === 'none') continue;
        counts.set(id, (counts.get(id) ?? 0) + 1);
      }
      return [...counts];
    },
    ...attempts,
    head: async () => {
      const count = await connections.asAny(trailReaders, (client) => client.zcard(keys.log));
      const [newest] = count === 0 ? [] : await readAt(count - 1, 1);
      return newest === undefined ? undefined : { sequence: count, hash: storedRecord(newest, 0).hash };
    },
    readChains: async (since) => ({
      // Before the first page is read, so that records appended meanwhile do no harm.
      anchors: deps.chain.anchors(),
      keptSince: deps.now() - lives.outcome * 1000,
      records: everyRecord(deps, since === undefined ? '-inf' : since - skewMs),
    }),
  };
}

/** Clocks of the store's users may differ by this much, in ms. */
const skewMs = 60_000;

/** Those that hold `text`; the rest is not even parsed. */
async function recordsSince(deps: AuditDeps, since: number, text: string): Promise<readonly AuditRecord[]> {
  const found: AuditRecord[] = [];
  for await (const page of pagesSince(deps, since))
    found.push(...page.filter((member) => member.includes(text)).map((member) => storedRecord(member, 0)));
  return found;
}

async function* pagesSince({ connections, keys }: AuditDeps, since: number): AsyncGenerator<readonly string[]> {
  for (let offset = 0; ; offset += pageSize) {
    const from: LogRange = [since - skewMs, offset, pageSize];
    const page = await connections.asAny(trailReaders, (client, role) => rangeOfLog(client, role, keys.log, from));
    yield page;
    if (page.length < pageSize) return;
  }
}

/** By score, not by place: records that are trimmed at the other end meanwhile must not make it skip any. */
async function* everyRecord({ connections, keys }: AuditDeps, from: number | string): AsyncGenerator<AuditRecord> {
  let min = from;
  let seen = 0;
  for (;;) {
    const range: LogRange = [min, seen, pageSize];
    const page = await connections.asAny(trailReaders, (client, role) => rangeWithScores(client, role, keys.log, range));
    yield* page.map(({ member }) => storedRecord(member, 0));
    const last = page.at(-1);
    if (!last || page.length < pageSize) return;
    const same = page.filter(({ score }) => score === last.score).length;
    seen = last.score === Number(min) ? seen + same : same;
    min = last.score;
  }
}

function unavailable(thrown: unknown): Fault {
  const fault = toFault(thrown);
  const { message, audience, retryable, next } = fault;
  return new Fault('audit_unavailable', `the audit record could not be written: ${message}`, {
    audience,
    retryable,
    cause: fault,
    ...(next === undefined ? {} : { next }),
  });
}
