/** One bit of the store's file is another one: whatever it was part of, the answer is the right one or a clear refusal, and the trail never lies. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { seal } from '#audit/seal';
import { verifyTrail } from '#audit/verify-trail';
import { type RequestRecord, requestStatuses } from '#kernel/approval/request';
import type { AuditRecord } from '#kernel/audit-event';
import { Fault } from '#kernel/errors';
import type { Store } from '#kernel/ports/store';
import { openDamagedTrail } from '#stores/sqlite/open-damaged-trail';
import { openSqliteStore } from '#stores/sqlite/open-sqlite-store';
import { approved, createApprover, createFakeClock, draftBy } from '../../integration/stores/store-fixtures.ts';

const clock = createFakeClock();
const alice = createApprover();
let folder = '';
let whole: Buffer;
let trail: readonly AuditRecord[];
let requests: readonly RequestRecord[];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'banksman-bits-'));
  const file = join(folder, 'whole.db');
  const store = await openSqliteStore({ file, seal, clock });
  await store.requests.open(draftBy('mcp:a'));
  const { id, digest } = await approved(store, alice, clock.now(), draftBy('mcp:b'));
  await store.requests.consume(id, digest, 'x');
  await approved(store, alice, clock.now(), draftBy('mcp:c'));
  for (let index = 0; index < 40; index += 1)
    await store.audit.append({ name: 'tool.finished', attributes: { index, text: 'x'.repeat(200) } });
  trail = await store.audit.read(0, 1000);
  requests = (await store.requests.list({ limit: 100 })).records;
  await store.close();
  whole = readFileSync(file);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

type Said<T> = { readonly value: T } | { readonly fault: Fault };

/** @throws what is no clear refusal */
async function said<T>(work: () => Promise<T>): Promise<Said<T>> {
  try {
    return { value: await work() };
  } catch (thrown) {
    if (thrown instanceof Fault && /^(?:store_|audit_unavailable)/.test(thrown.code) && thrown.message !== '') return { fault: thrown };
    throw thrown;
  }
}

/** A request that is given is one that was there, but for words that nothing vouches for; what it may do is what it might before. */
function requireTrue(given: RequestRecord): void {
  expect(requestStatuses).toContain(given.status);
  const before = requests.find(({ id }) => id === given.id);
  if (before === undefined) return;
  expect([given.digest, given.agent.id]).toEqual([before.digest, before.agent.id]);
}

async function look(store: Store): Promise<void> {
  const listed = await said(() => store.requests.list({ limit: 100 }));
  if ('value' in listed) listed.value.records.forEach(requireTrue);
  for (const { id } of requests) {
    const got = await said(() => store.requests.get(id));
    if ('value' in got && got.value) requireTrue(got.value);
  }
  const verdict = await said(() => verifyTrail(store.audit));
  const read = await said(() => store.audit.read(0, 1000));
  if ('value' in verdict && verdict.value.ok && 'value' in read) expect(read.value).toEqual(trail);
  await said(() => store.audit.append({ name: 'tool.started', attributes: {} }));
  await said(() => store.requests.open(draftBy('mcp:d')));
}

async function flipped(at: number, bit: number): Promise<string> {
  const file = join(folder, 'flipped.db');
  const bytes = Buffer.from(whole);
  bytes.writeUInt8(bytes.readUInt8(at) ^ (1 << bit), at);
  for (const end of ['-wal', '-shm']) rmSync(`${file}${end}`, { force: true });
  writeFileSync(file, bytes, { mode: 0o600 });
  const opened = await said(() => openSqliteStore({ file, seal, clock, busyDeadlineMs: 100 }));
  if ('value' in opened) {
    try {
      await look(opened.value);
    } finally {
      await opened.value.close();
    }
    return 'opened';
  }
  const damaged = await said(() => openDamagedTrail(file));
  if ('fault' in damaged) return 'nothing to read';
  const verdict = await said(() => verifyTrail(damaged.value.audit));
  damaged.value.close();
  return 'value' in verdict ? 'verified' : 'not verified';
}

const outcome = /^(?:opened|verified|not verified|nothing to read)$/;

describe('one flipped bit', () => {
  it('anywhere in the file is survived or said', async () => {
    await fc.assert(
      fc.asyncProperty(fc.noBias(fc.nat({ max: whole.length - 1 })), fc.nat({ max: 7 }), async (at, bit) => {
        expect(await flipped(at, bit)).toMatch(outcome);
      }),
      { numRuns: 120 },
    );
  }, 300_000);

  it('in the definition of a trigger hides no trail', async () => {
    const at = whole.indexOf("BEGIN SELECT RAISE(ABORT, 'the trail does not change')");
    expect(at).toBeGreaterThan(0);
    expect(await flipped(at, 3)).toBe('verified');
  });

  it.each([0, 16, 18, 28, 44, 60, 68, 96, 100, 105, 108])('at byte %i of the head is survived or said', async (at) => {
    for (let bit = 0; bit < 8; bit += 1) expect(await flipped(at, bit)).toMatch(outcome);
  });
});
