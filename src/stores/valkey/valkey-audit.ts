/** The shared trail: a sorted set to which its writers can only add. */
import { callOf, createAttemptIndex } from '#kernel/attempt';
import type { AuditDraft, AuditRecord } from '#kernel/audit-event';
import { Fault, toFault } from '#kernel/errors';
import { isJsonObject } from '#kernel/json';
import type { AuditLog } from '#kernel/ports/audit-log';
import type { ChainedAuditLog } from '#kernel/ports/chained-audit-log';
import { storedRecord } from '../stored-record.ts';
import type { AuditChain } from './audit-chain.ts';
import type { Connections } from './connections.ts';
import { type Keys, lives } from './keys.ts';
import type { TrailReader } from './read-trail.ts';

export interface AuditDeps {
  readonly connections: Connections;
  readonly keys: Keys;
  readonly chain: AuditChain;
  readonly trail: TrailReader;
  readonly now: () => number;
  readonly ring: () => void;
}

export function createValkeyAudit(deps: AuditDeps): ChainedAuditLog {
  const { trail } = deps;
  const write = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      const written = await work();
      deps.ring();
      return written;
    } catch (thrown) {
      throw unavailable(thrown);
    }
  };
  const attempts = createValkeyAttempts(deps, (draft) => write(() => deps.chain.append(draft)));
  return {
    append: (draft) => write(() => deps.chain.append(draft)),
    appendAll: (drafts) => write(() => deps.chain.appendGroup(drafts)),
    read: async (after, limit) => (await trail.at(Math.max(0, after), Math.max(0, limit))).map((member) => storedRecord(member, 0)),
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
      const count = await trail.count();
      const [newest] = count === 0 ? [] : await trail.at(count - 1, 1);
      return newest === undefined ? undefined : { sequence: count, hash: storedRecord(newest, 0).hash };
    },
    readChains: async (since) => ({
      // Before the first page is read, so that records appended meanwhile do no harm.
      anchors: deps.chain.anchors(),
      keptSince: deps.now() - lives.outcome * 1000,
      records: everyRecord(trail, since === undefined ? undefined : since - skewMs),
    }),
  };
}

/** Clocks of the store's users may differ by this much, in ms. */
const skewMs = 60_000;

/** Those that hold `text`; the rest is not even parsed. */
async function recordsSince({ trail }: AuditDeps, since: number, text: string): Promise<readonly AuditRecord[]> {
  const found: AuditRecord[] = [];
  for await (const page of trail.pages(since - skewMs, text))
    for (const { member } of page) if (member.includes(text)) found.push(storedRecord(member, 0));
  return found;
}

async function* everyRecord(trail: TrailReader, since: number | undefined): AsyncGenerator<AuditRecord> {
  for await (const page of trail.pages(since)) yield* page.map(({ member }) => storedRecord(member, 0));
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

// Which calls have no end: the trail's records since the last look, never the whole trail again.

/** Names that an attempt's records have, as they stand in a member. */
const aboutAttempts = /"name":"(?:tool\.(?:started|finished|denied)|attempt\.(?:resolved|seen))"/;

/** Whoever ends an attempt holds its key this long, in s: others look again after it. */
const endingSeconds = 30;

function createValkeyAttempts(
  { connections, keys, now, trail }: AuditDeps,
  append: (draft: AuditDraft) => Promise<AuditRecord>,
): Pick<AuditLog, 'attempts' | 'endAttempt'> {
  const index = createAttemptIndex();
  let readUntil: number | undefined;
  let turn: Promise<unknown> = Promise.resolve();

  /** The trail lasts a day, so the first look reads at most that; each later one what came since. */
  async function catchUp(): Promise<void> {
    const from = readUntil ?? now() - lives.outcome * 1000;
    const until = now();
    const records: AuditRecord[] = [];
    for await (const page of trail.pages(from - skewMs))
      for (const { member } of page) if (aboutAttempts.test(member)) records.push(storedRecord(member, 0));
    // Writers share no clock: what one began another one may seem to have ended before.
    for (const record of records) if (record.name === 'tool.started') index.note(record);
    for (const record of records) if (record.name !== 'tool.started') index.note(record);
    index.forgetBefore(now() - lives.outcome * 1000);
    readUntil = until;
  }
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const mine = turn.then(work);
    turn = mine.catch(() => undefined);
    return mine;
  };
  return {
    attempts: () => inTurn(() => catchUp().then(() => index.list().slice(0, 1000))),
    endAttempt: (draft) =>
      inTurn(async () => {
        const call = callOf(draft) ?? '';
        const key = keys.ending(call);
        const held = await connections.asAny(['exec', 'admin'], (client) => client.set(key, '', 'EX', endingSeconds, 'NX'));
        if (held === null) return false;
        await catchUp();
        const takes = index.takes(draft);
        if (takes) index.note(await append(draft));
        // Nobody here may delete; a time that is over does. Where the answer was lost it stays: whether the record is there shows until it goes.
        await connections.asAny(['exec', 'admin'], (client) => client.set(key, '', 'PXAT', 1)).catch(() => undefined);
        return takes;
      }),
  };
}
