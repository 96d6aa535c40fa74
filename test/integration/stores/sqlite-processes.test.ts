import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { verifyTrail } from '#audit/verify-trail';
import type { AuditRecord } from '#kernel/audit-event';
import type { Store } from '#kernel/ports/store';
import { startChild } from './child-process.ts';
import { approved, createApprover, decisionBy, draftBy, opened, openTestStore, temporaryFolder } from './store-fixtures.ts';

const newFile = (): string => join(temporaryFolder(), 'state', 'banksman.db');

async function allRecords(store: Store): Promise<readonly AuditRecord[]> {
  const head = await store.audit.head();
  return store.audit.read(0, head?.sequence ?? 0);
}

// Every child is a Node of its own: slow to start where much else runs.
vi.setConfig({ testTimeout: 180_000 });

describe('several processes on one SQLite file', () => {
  it('that claim one grant 200 times have exactly one winner, every time', async () => {
    const file = newFile();
    const store = await openTestStore({ file });
    for (let round = 0; round < 3; round += 1) {
      const { id, digest } = await approved(store, createApprover(), Date.now(), draftBy(`mcp:${round}`));
      const children = Array.from({ length: 4 }, () => startChild('claim', [file, id, digest, '50']));
      await Promise.all(children.map((child) => child.line()));
      for (const child of children) child.send('go');
      const wins = await Promise.all(children.map((child) => child.line()));
      expect(wins.map(Number).reduce((sum, won) => sum + won)).toBe(1);
      expect((await store.requests.get(id))?.status).toBe('consumed');
    }
    expect(await verifyTrail(store.audit)).toMatchObject({ ok: true, records: 9 });
  });

  it('that start together on a file that does not exist yet share one trail', async () => {
    const file = newFile();
    const children = Array.from({ length: 4 }, () => startChild('try-open', [file]));
    expect(await Promise.all(children.map((child) => child.line()))).toEqual(['open', 'open', 'open', 'open']);
    await Promise.all(children.map((child) => child.end()));
    const store = await openTestStore({ file });
    expect(await verifyTrail(store.audit)).toMatchObject({ ok: true, records: 4 });
  });

  it('see each other\u2019s changes without asking', async () => {
    const file = newFile();
    const store = await openTestStore({ file });
    const child = startChild('open-one', [file]);
    await child.line();
    for (const agent of ['mcp:first', 'mcp:second', 'mcp:third']) {
      const rang = new Promise<void>((resolve) => {
        const stop = store.requests.onChange(() => {
          stop();
          resolve();
        });
      });
      child.send(agent);
      const [id] = await Promise.all([child.line(), rang]);
      expect(await store.requests.get(id)).toMatchObject({ status: 'pending', agent: { id: agent } });
    }
  });

  it('hear of changes after all others left and the write-ahead file was made anew', async () => {
    const file = newFile();
    await (await openTestStore({ file })).close();
    const store = await openTestStore({ file });
    const heard = new Promise<number>((resolve) => {
      store.requests.onChange(() => void store.requests.countPending().then((count) => count > 0 && resolve(count)));
    });
    const child = startChild('open-one', [file]);
    await child.line();
    child.send('mcp:other');
    expect(await heard).toBe(1);
  });
});

describe('a process killed at any point', () => {
  it('loses nothing it was told is done, breaks no chain and lets nothing run twice', async () => {
    const file = newFile();
    const said: string[] = [];
    for (let round = 0; round < 8; round += 1) {
      const children = [startChild('work-forever', [file]), startChild('work-forever', [file])];
      await Promise.all(children.map((child) => child.line()));
      const enough = 1 + Math.floor(Math.random() * 40);
      for (let index = 0; index < enough; index += 1) said.push(await children[0]!.line());
      await Promise.all(children.map((child) => child.kill()));
      for (const child of children) said.push(...(await child.end()));
    }
    const store = await openTestStore({ file });
    const records = await allRecords(store);
    expect(await verifyTrail(store.audit)).toMatchObject({ ok: true, records: records.length });
    await expectNothingLost(said, store, records);
    await expectNothingConsumedTwice(store, records);
  });
});

async function expectNothingLost(said: readonly string[], store: Store, records: readonly AuditRecord[]): Promise<void> {
  const complete = said.filter((line) => /^(?:appended \d+ [a-f0-9]{64}|(?:approved|consumed) req-[a-f0-9]{8})$/.test(line));
  expect(complete.length).toBeGreaterThan(8);
  const lost = [];
  for (const line of complete) if (!(await stillTrue(line, store, records))) lost.push(line);
  expect(lost).toEqual([]);
}

async function stillTrue(line: string, store: Store, records: readonly AuditRecord[]): Promise<boolean> {
  const [what, which = '', hash] = line.split(' ');
  if (what === 'appended') return records[Number(which) - 1]?.hash === hash;
  const status = (await store.requests.get(which))?.status;
  return status === 'consumed' || (what === 'approved' && status === 'approved');
}

/** Whoever comes after the crash tries to consume everything again: only what was approved and never consumed may work. */
async function expectNothingConsumedTwice(store: Store, records: readonly AuditRecord[]): Promise<void> {
  const consumed = records.filter((record) => record.name === 'approval.consumed').map((record) => String(record.attributes.request_id));
  expect(new Set(consumed).size).toBe(consumed.length);
  for (const record of records.filter((entry) => entry.name === 'approval.approved')) {
    const { request_id: id, digest } = record.attributes;
    const again = await store.requests.consume(String(id), String(digest), 'after the crash');
    expect(again.ok).toBe(!consumed.includes(String(id)));
  }
}

describe('a lock held by another program', () => {
  it('makes a change wait, and works once it is released', async () => {
    const file = newFile();
    const store = await openTestStore({ file });
    const holder = startChild('hold-lock', [file, 'write']);
    await holder.line();
    const change = opened(store);
    // Reading goes on meanwhile: that is what the write-ahead log is for.
    expect(await store.requests.countPending()).toBe(0);
    holder.send('release');
    expect(await change).toMatchObject({ status: 'pending' });
  });

  it('for too long is told as busy, retryable, with nothing changed', async () => {
    const file = newFile();
    const store = await openTestStore({ file, busyDeadlineMs: 150 });
    const record = await opened(store);
    const holder = startChild('hold-lock', [file, 'write']);
    await holder.line();
    await expect(store.requests.deny(record.id, decisionBy())).rejects.toMatchObject({
      code: 'store_busy',
      retryable: true,
      message: expect.stringContaining(file),
    });
    await expect(store.audit.append({ name: 'tool.started', attributes: {} })).rejects.toMatchObject({
      code: 'audit_unavailable',
      retryable: true,
    });
    holder.send('release');
    await holder.line();
    expect((await store.requests.get(record.id))?.status).toBe('pending');
    expect(await store.requests.deny(record.id, decisionBy())).toMatchObject({ ok: true });
  });

  it('at the start is told as locked, with the file and what to do', async () => {
    const file = newFile();
    await (await openTestStore({ file })).close();
    const holder = startChild('hold-lock', [file, 'exclusive']);
    await holder.line();
    await expect(openTestStore({ file, busyDeadlineMs: 150 })).rejects.toMatchObject({
      code: 'store_locked',
      retryable: true,
      message: expect.stringContaining(file),
      next: expect.stringContaining('close the program'),
    });
    holder.send('release');
    await holder.line();
    expect(await (await openTestStore({ file })).requests.countPending()).toBe(0);
  });
});
