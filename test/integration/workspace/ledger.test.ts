/** The account of the agents' sandboxes in the store: on this thread and behind the worker, with the same answers. */
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openStoreInWorker } from '#app/store/open-store';
import { seal } from '#audit/seal';
import type { PersonaLedger, Reservation } from '#kernel/ports/store';
import { openSqliteStore } from '#stores/sqlite/open-sqlite-store';
import { bundledProgram } from '../stores/bundled-program.ts';
import { required, temporaryFolder } from './support.ts';

const worker = await bundledProgram(new URL('../../../src/app/store/store-worker.ts', import.meta.url));
const limits = { bytes: 10_000, files: 3 };
const directory = 'a'.repeat(32);

async function openLedger(kind: string): Promise<PersonaLedger> {
  const file = path.join(temporaryFolder(), 'state', 'banksman.db');
  const store = kind === 'worker' ? await openStoreInWorker({ worker, file }) : await openSqliteStore({ file, seal });
  onTestFinished(() => store.close());
  return store.personas;
}

function idOf(reservation: Reservation): string {
  if (reservation.ok) return reservation.id;
  throw new Error(`refused: ${reservation.why}`);
}

describe.each(['this thread', 'worker'])('the ledger (%s)', (kind) => {
  it('opens one account an agent, and finds only what was opened', async () => {
    const ledger = await openLedger(kind);
    expect(await ledger.find('mcp:a')).toBeUndefined();
    const account = await ledger.open('mcp:a', directory);
    expect(account).toMatchObject({ agentId: 'mcp:a', directory, bytes: 0, files: 0 });
    expect((await ledger.open('mcp:a', 'b'.repeat(32))).directory).toBe(directory);
    expect(await ledger.find('mcp:a')).toEqual(account);
    await expect(ledger.open('mcp:b', '../../etc')).rejects.toMatchObject({ code: 'store_refused' });
    await expect(ledger.open('mcp:b', directory)).rejects.toMatchObject({ code: 'store_refused' });
  });

  it('counts a path at its largest until it is settled', async () => {
    const ledger = await openLedger(kind);
    const account = await ledger.open('mcp:a', directory);
    const reserve = (name: string, bytes: number) => ledger.reserve(account, { path: name, bytes }, limits);
    const used = async () => required(await ledger.find('mcp:a')).bytes;

    const first = await reserve('x', 6_000);
    expect(await used()).toBe(6_000);
    await ledger.settle(idOf(first), true);
    // Two write the same file at once: a short and a long text. Which of them stays is not known before both are settled.
    const short = await reserve('x', 1_000);
    const long = await reserve('x', 6_000);
    await ledger.settle(idOf(short), true);
    expect(await used()).toBe(6_000);
    expect(await reserve('y', 9_000)).toMatchObject({ ok: false, why: 'full', account: { bytes: 6_000, files: 1 } });
    await ledger.settle(idOf(long), false);
    expect(await used()).toBe(1_000);
    const other = await reserve('y', 9_000);
    await ledger.settle(idOf(other), false);
    expect(await used()).toBe(1_000);
    // Settled twice, or made up: nothing happens.
    await ledger.settle(idOf(other), true);
    await ledger.settle('made up', true);
    expect(await used()).toBe(1_000);
  });

  it('lets an account that is over its limit shrink, and nothing else', async () => {
    const ledger = await openLedger(kind);
    const account = await ledger.open('mcp:a', directory);
    expect(await ledger.recount(account, [{ path: 'big', bytes: 50_000 }], 0)).toBe(true);
    expect(await ledger.reserve(account, { path: 'new', bytes: 1 }, limits)).toMatchObject({ ok: false, why: 'full' });
    await ledger.settle(idOf(await ledger.reserve(account, { path: 'big', bytes: 1_000 }, limits)), true);
    expect(await ledger.find('mcp:a')).toMatchObject({ bytes: 1_000, files: 1 });
  });

  it('does not let a look at the disk undo what happened since', async () => {
    const ledger = await openLedger(kind);
    const account = await ledger.open('mcp:a', directory);
    const reservation = await ledger.reserve(account, { path: 'x', bytes: 5 }, limits);
    expect(await ledger.recount(account, [], 60_000)).toBe(false);
    const during = required(await ledger.find('mcp:a'));
    expect(await ledger.recount(during, [], 60_000)).toBe(false);
    await ledger.settle(idOf(reservation), true);
    expect(await ledger.recount(during, [], 60_000)).toBe(false);
    expect(await ledger.recount(required(await ledger.find('mcp:a')), [{ path: 'y', bytes: 7 }], 60_000)).toBe(true);
    expect(await ledger.list()).toMatchObject([{ agentId: 'mcp:a', bytes: 7, files: 1 }]);
  });

  it('hands out what is unused once, with what belonged to it', async () => {
    const ledger = await openLedger(kind);
    const account = await ledger.open('mcp:a', directory);
    await ledger.reserve(account, { path: 'x', bytes: 5 }, limits);
    expect(await ledger.takeUnused(Date.now() - 60_000)).toEqual([]);
    expect(await ledger.takeUnused(Date.now() + 60_000)).toMatchObject([{ agentId: 'mcp:a', directory, bytes: 5 }]);
    expect(await ledger.takeUnused(Date.now() + 60_000)).toEqual([]);
    expect(await ledger.list()).toEqual([]);
    expect(await ledger.reserve(account, { path: 'x', bytes: 5 }, limits)).toMatchObject({ ok: false, why: 'gone' });
    expect(await ledger.open('mcp:a', 'c'.repeat(32))).toMatchObject({ directory: 'c'.repeat(32), bytes: 0 });
  });
});
