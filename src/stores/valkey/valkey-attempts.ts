/** Which calls of the shared trail have no end: its members since the last look, never the whole trail again. */
import { callOf, createAttemptIndex } from '#kernel/attempt';
import type { AuditDraft, AuditRecord } from '#kernel/audit-event';
import type { AuditLog } from '#kernel/ports/audit-log';
import { storedRecord } from '../stored-record.ts';
import type { Connections } from './connections.ts';
import { type Keys, lives } from './keys.ts';

interface AttemptDeps {
  readonly connections: Connections;
  readonly keys: Keys;
  readonly now: () => number;
}

interface Trail {
  append(draft: AuditDraft): Promise<AuditRecord>;
  /** Members written since that moment (ms), in pages; earlier ones may be among them. */
  since(from: number): AsyncIterable<readonly string[]>;
}

/** Names that an attempt's records have, as they stand in a member. */
const aboutAttempts = /"name":"(?:tool\.(?:started|finished|denied)|attempt\.(?:resolved|seen))"/;

/** Whoever ends an attempt holds its key this long, in s: others look again after it. */
const endingSeconds = 30;

export function createValkeyAttempts(deps: AttemptDeps, trail: Trail): Pick<AuditLog, 'attempts' | 'endAttempt'> {
  const { connections, keys, now } = deps;
  const index = createAttemptIndex();
  let readUntil: number | undefined;
  let turn: Promise<unknown> = Promise.resolve();

  /** The trail lasts a day, so the first look reads at most that; each later one what came since. */
  async function catchUp(): Promise<void> {
    const from = readUntil ?? now() - lives.outcome * 1000;
    const until = now();
    const records: AuditRecord[] = [];
    for await (const page of trail.since(from))
      records.push(...page.filter((member) => aboutAttempts.test(member)).map((member) => storedRecord(member, 0)));
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
        if (takes) index.note(await trail.append(draft));
        // Nobody here may delete; a time that is over does. Where the answer was lost it stays: whether the record is there shows until it goes.
        await connections.asAny(['exec', 'admin'], (client) => client.set(key, '', 'PXAT', 1)).catch(() => undefined);
        return takes;
      }),
  };
}
