/** How far a sink was told: gaps that pruning leaves, another trail in the place of the old one, and stores with a chain per writer. */
import { hostname } from 'node:os';
import { describe, expect, it } from 'vitest';
import { seal } from '#audit/seal';
import type { AuditRecord } from '#kernel/audit-event';
import type { AuditLog, ChainedAuditLog } from '#kernel/ports/audit-log';
import { fromNow, fromTheStart, trailReader } from '../../../src/app/sinks/follow-trail.ts';

function chainOf(count: number, from = 0): AuditRecord[] {
  const records: AuditRecord[] = [];
  for (let index = 0; index < count; index += 1)
    records.push(seal({ name: 'tool.finished', attributes: { from } }, records.at(-1), (from + index) * 1_000));
  return records;
}

function unused(): never {
  throw new Error('not asked for');
}
const rest = { append: unused, appendAll: unused, ofRequest: unused, changesSince: unused, attempts: unused, endAttempt: unused };

/** What is in the list, as it is when it is asked. */
function logOf(records: AuditRecord[]): AuditLog {
  return {
    ...rest,
    read: async (after, limit) => records.filter(({ sequence }) => sequence > after).slice(0, limit),
    head: async () => records.at(-1),
  };
}

describe('a trail of one chain', () => {
  it('is told page by page, from where it was', async () => {
    const read = trailReader(logOf(chainOf(5)));
    const first = await read(fromTheStart(), 3);
    const second = await read(first.cursor, 3);
    expect([first, second].map(({ records }) => records.map(({ sequence }) => sequence))).toEqual([
      [1, 2, 3],
      [4, 5],
    ]);
    expect((await read(second.cursor, 3)).records).toEqual([]);
  });

  it('from now on leaves out what was there before', async () => {
    const records = chainOf(3);
    const log = logOf(records);
    const cursor = await fromNow(log);
    records.push(seal({ name: 'tool.finished', attributes: {} }, records.at(-1), 9_000));
    expect((await trailReader(log)(cursor, 10)).records.map(({ sequence }) => sequence)).toEqual([4]);
  });

  it('says how many records were pruned before they could be told', async () => {
    const records = chainOf(10);
    const log = logOf(records);
    const { cursor } = await trailReader(log)(fromTheStart(), 2);
    records.splice(0, 6);
    const page = await trailReader(log)(cursor, 10);
    expect([page.gone, page.records.length]).toEqual([4, 4]);
  });

  it('says that it is another one', async () => {
    const { cursor } = await trailReader(logOf(chainOf(5)))(fromTheStart(), 10);
    expect(await trailReader(logOf(chainOf(3)))(cursor, 10)).toMatchObject({ isOther: true });
    expect(await trailReader(logOf(chainOf(5, 100)))(cursor, 10)).toMatchObject({ isOther: true, cursor: fromTheStart() });
  });
});

describe('a trail of several chains', () => {
  const named = (records: readonly AuditRecord[], chain: string) => records.map((record) => ({ ...record, chain }));
  const own = (name: string) => `${hostname()}/${name}`;

  function chained(records: AuditRecord[]): ChainedAuditLog {
    const sorted = () => records.toSorted((a, b) => (a.time < b.time ? -1 : 1));
    return {
      ...rest,
      read: unused,
      head: async () => (records.length === 0 ? undefined : { sequence: records.length, hash: sorted().at(-1)?.hash ?? '' }),
      readChains: async (since = 0) => ({
        keptSince: 0,
        anchors: [],
        records: (async function* () {
          yield* sorted().filter(({ time }) => Date.parse(time) >= since - 60_000);
        })(),
      }),
    };
  }

  it('is told what this machine wrote, each record once, in whatever order they come in', async () => {
    const records = [...named(chainOf(3), own('1/a')), ...named(chainOf(3, 1), 'elsewhere/1/b')];
    const read = trailReader(chained(records));
    const first = await read(fromTheStart(), 2);
    const second = await read(first.cursor, 10);
    expect([...first.records, ...second.records].map(({ chain, sequence }) => [chain, sequence])).toEqual(
      [1, 2, 3].map((at) => [own('1/a'), at]),
    );
    // Another process of this machine, whose clock stamps lie before what was told already.
    records.push(...named(chainOf(2, 0), own('2/c')));
    const third = await read(second.cursor, 10);
    expect(third.records.map(({ chain, sequence }) => [chain, sequence])).toEqual([1, 2].map((at) => [own('2/c'), at]));
    expect((await read(third.cursor, 10)).records).toEqual([]);
    expect([first, second, third].map(({ gone }) => gone)).toEqual([0, 0, 0]);
  });

  it('says what was trimmed before it could be told', async () => {
    const records = named(chainOf(6), own('1/a'));
    const read = trailReader(chained(records));
    const { cursor } = await read(fromTheStart(), 2);
    records.splice(0, 4);
    expect(await read(cursor, 10)).toMatchObject({ gone: 2 });
  });
});
