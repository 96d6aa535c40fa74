/** The store behind a real worker thread, as the editor has it. */
import { execFile } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openStoreInWorker, type WorkerStoreOptions } from '#app/store/open-store';
import { verifyTrail } from '#audit/verify-trail';
import type { Store } from '#kernel/ports/store';
import { bundledProgram } from './bundled-program.ts';
import { startChild } from './child-process.ts';
import {
  approved,
  createApprover,
  decisionBy,
  draftBy,
  grantFor,
  levelSetting,
  opened,
  openTestStore,
  reportBy,
  ruleSetting,
  storeApproval,
  temporaryFolder,
} from './store-fixtures.ts';

const source = new URL('../../../src/app/store/store-worker.ts', import.meta.url);
const worker = await bundledProgram(source);
const crashing = await bundledProgram(new URL('./children/crashing-worker.ts', import.meta.url));
const idle = await bundledProgram(new URL('./children/idle-worker-store.ts', import.meta.url));
const newFile = (): string => join(temporaryFolder(), 'state', 'banksman.db');

async function openWorker(options: Partial<WorkerStoreOptions> = {}): Promise<Store> {
  const store = await openStoreInWorker({ worker, file: newFile(), ...options });
  onTestFinished(() => store.close());
  return store;
}

const ring = (store: Store): Promise<void> => new Promise((resolve) => void store.requests.onChange(resolve));

describe('the store in a worker', () => {
  it('does everything that the store on this thread does', async () => {
    const store = await openWorker();
    const alice = createApprover();
    const consumed = await approved(store, alice, Date.now(), draftBy('mcp:a'));
    expect(await store.requests.consume(consumed.id, consumed.digest, 'x')).toMatchObject({ ok: true, record: { status: 'consumed' } });
    const denied = await opened(store, draftBy('mcp:b'));
    expect(await store.requests.deny(denied.id, decisionBy())).toMatchObject({ ok: true });
    const cancelled = await opened(store, draftBy('mcp:c'));
    expect(await store.requests.cancel(cancelled.id, 'mcp:c')).toMatchObject({ ok: true });
    const revoked = await approved(store, alice, Date.now(), draftBy('mcp:d'));
    expect(await store.requests.revoke(revoked.id, decisionBy())).toMatchObject({ ok: true });
    expect(await store.requests.countPending()).toBe(0);
    expect((await store.requests.list({ limit: 10 })).records.map((record) => record.status)).toEqual([
      'revoked',
      'cancelled',
      'denied',
      'consumed',
    ]);
    expect(await store.requests.get('req-00000000')).toBeUndefined();
    expect(await store.requests.countApproved()).toBe(0);
    const report = await opened(store, reportBy('mcp:e', 'req-0badcafe'));
    expect((await store.requests.list({ limit: 10, search: 'blocked.example' })).records).toEqual([report]);
    await store.security.setLevel(levelSetting('strict', 1));
    await store.security.setRule(ruleSetting('destination:a', 'allow', Date.now()));
    expect(await store.security.level()).toEqual({ signed: levelSetting('strict', 1) });
    expect((await store.security.rules()).map((rule) => rule.pattern)).toEqual(['destination:a']);
    expect(await store.security.removeRule('destination:a', 'user:bob')).toBe(true);
    expect(await store.security.rules()).toEqual([]);
    const record = await store.audit.append({ name: 'tool.started', attributes: { a: [1, null, 'x'] } });
    expect(await store.audit.head()).toEqual({ sequence: record.sequence, hash: record.hash });
    expect(await store.audit.read(record.sequence - 1, 1)).toEqual([record]);
    expect(await verifyTrail(store.audit)).toMatchObject({ ok: true, records: 15 });
  });

  it('passes faults on with code, remedy and whether a retry helps', async () => {
    const file = newFile();
    const store = await openWorker({ file, busyDeadlineMs: 150 });
    expect(store.location).toBe(file);
    await expect(store.requests.list({ limit: 1, cursor: 'x' })).rejects.toMatchObject({
      name: 'Fault',
      code: 'bad_cursor',
      audience: 'user',
      next: expect.any(String),
    });
    const holder = startChild('hold-lock', [file, 'write']);
    await holder.line();
    await expect(opened(store)).rejects.toMatchObject({ name: 'Fault', code: 'store_busy', retryable: true });
  });

  it('tells at the start what is wrong with the file, and leaves it', async () => {
    const file = join(temporaryFolder(), 'banksman.db');
    writeFileSync(file, 'a diary');
    await expect(openStoreInWorker({ worker, file })).rejects.toMatchObject({ name: 'Fault', code: 'store_corrupt' });
    expect(readFileSync(file, 'utf8')).toBe('a diary');
    await expect(openStoreInWorker({ worker: new URL('./nowhere.mjs', import.meta.url), file })).rejects.toMatchObject({
      code: 'store_unavailable',
    });
  });

  it('rings for own changes and for other processes\u2019', async () => {
    const file = newFile();
    const store = await openWorker({ file });
    const own = ring(store);
    const record = await opened(store);
    await own;
    const other = await openTestStore({ file });
    const foreign = ring(store);
    await other.requests.deny(record.id, decisionBy());
    await foreign;
    expect(await store.requests.get(record.id)).toMatchObject({ status: 'denied' });
  });

  it('leaves this thread free while it waits for a lock', async () => {
    const file = newFile();
    const store = await openWorker({ file });
    const holder = startChild('hold-lock', [file, 'write']);
    await holder.line();
    const change = opened(store);
    // Many turns of this thread's loop go by while the change is stuck: it is stuck elsewhere.
    for (let turn = 0; turn < 100; turn += 1) await new Promise(setImmediate);
    expect(await store.requests.countPending()).toBe(0);
    holder.send('release');
    expect(await change).toMatchObject({ status: 'pending' });
  });

  it('closes once, finishes what was asked before, and refuses what comes after', async () => {
    const file = newFile();
    const store = await openWorker({ file });
    const last = store.audit.append({ name: 'tool.finished', attributes: {} });
    await Promise.all([store.close(), store.close()]);
    expect(await last).toMatchObject({ sequence: 1 });
    await expect(store.requests.countPending()).rejects.toMatchObject({ code: 'store_closed' });
    // The last connection folds the log into the file and removes it: proof that it was closed, not cut off.
    expect(existsSync(`${file}-wal`)).toBe(false);
  });

  it('does not keep a process alive', async () => {
    expect(await startChild('idle-worker-store', [newFile(), worker.href]).end()).toEqual(['opened']);
  });

  it('runs where there is no WebAssembly', async ({ signal }) => {
    // Without its just-in-time compiler V8 has none, on any thread.
    const command = ['--jitless', fileURLToPath(idle), newFile(), worker.href];
    const { stdout } = await promisify(execFile)(process.execPath, command, { signal });
    expect(stdout).toBe('opened\n');
  });

  it('is not started from TypeScript, whose types Node strips by WebAssembly', async () => {
    const file = newFile();
    for (const entry of [source, fileURLToPath(source)]) {
      await expect(openStoreInWorker({ worker: entry, file })).rejects.toMatchObject({ code: 'internal_error', audience: 'bug' });
    }
    expect(existsSync(file)).toBe(false);
  });
});

describe('a worker that crashes', () => {
  it('fails the calls under way, and serves the next ones from a new worker', async () => {
    const store = await openWorker({ worker: crashing });
    const record = await opened(store, draftBy('mcp:a'));
    const calls = [
      store.requests.deny(record.id, { ...decisionBy(), message: 'crash' }),
      store.requests.countPending(),
      store.audit.head(),
    ];
    for (const call of calls) await expect(call).rejects.toMatchObject({ name: 'Fault', code: 'store_unavailable', retryable: true });
    expect(await store.requests.get(record.id)).toMatchObject({ status: 'pending' });
    expect(await storeApproval(store.requests, record.id, grantFor(record, createApprover(), Date.now()), decisionBy())).toMatchObject({
      ok: true,
    });
  });

  it('is started again for those who only listen', async () => {
    const file = newFile();
    const store = await openWorker({ file, worker: crashing });
    const record = await opened(store);
    const rang = ring(store);
    await expect(store.requests.deny(record.id, { ...decisionBy(), message: 'crash' })).rejects.toMatchObject({
      code: 'store_unavailable',
    });
    await rang;
    const other = await openTestStore({ file });
    const again = ring(store);
    await other.requests.deny(record.id, decisionBy());
    await again;
  });

  it('can still be closed', async () => {
    const store = await openWorker({ worker: crashing });
    const record = await opened(store);
    const crash = store.requests.deny(record.id, { ...decisionBy(), message: 'crash' });
    await Promise.all([expect(crash).rejects.toMatchObject({ name: 'Fault' }), store.close()]);
    await store.close();
  });
});
