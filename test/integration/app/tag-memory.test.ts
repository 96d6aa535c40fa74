/** What is remembered of tags, by several processes of one user at once: nothing is lost, and what cannot be kept is no consent. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createTagMemory } from '#app/clusters/tag-memory';
import { holdLock } from '#stores/sqlite/hold-lock';
import { startChild } from '../stores/child-process.ts';

let stateDir: string;
beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), 'tag-memory-'));
});
afterEach(() => rmSync(stateDir, { recursive: true, force: true }));

// Every child is a Node of its own: slow to start where much else runs.
vi.setConfig({ testTimeout: 180_000 });

const silent = () => undefined;
const log = { debug: silent, info: silent, warn: silent, error: silent };
const scope = { name: 'staging', agents: ['*'], reason: 'only tests', only: { tags: ['staging'] } };
const memory = () => createTagMemory({ cluster: 'lab', stateDir, log, entries: { windows: [], roles: [], scopes: [scope] } });
const from = (first: number, count: number) => Array.from({ length: count }, (_, index) => first + index);

it('keeps every tag that two processes see, and every guest that they make, at the same time', async () => {
  const count = 40;
  const children = [200, 400].map((first) => startChild('keep-tags', [stateDir, `${first}`, `${count}`]));
  await Promise.all(children.map((child) => child.line()));
  for (const child of children) child.send('go');
  expect(await Promise.all(children.map((child) => child.line()))).toEqual(['done', 'done']);
  const seen = [...from(200, count), ...from(400, count)];
  const made = seen.map((vmid) => vmid + 1_000);
  const bearers = new Map(made.map((vmid) => [vmid, ['staging']]));
  const { bore, gained, brought } = await memory().remember(bearers, new Set(made));
  expect([...bore.keys()].filter((vmid) => vmid < 1_000).toSorted((one, other) => one - other)).toEqual(seen);
  expect({ gained, brought }).toEqual({ gained: new Map(), brought: new Map() });
});

it('of many that look first at once, has the bearers of one first look, for all of them', async () => {
  const bearers = (vmid: number) => new Map([[vmid, ['staging']]]);
  const looks = await Promise.all(from(100, 20).map((vmid) => memory().remember(bearers(vmid), new Set([vmid]))));
  expect(looks.filter(({ gained }) => gained.size === 0)).toHaveLength(1);
});

it('waits for a process that writes, and loses nothing of what it wrote', async () => {
  await memory().remember(new Map(), new Set());
  const release = holdLock(join(stateDir, 'tags'), 'lab');
  let isDone = false;
  const waiting = memory()
    .making({ vmid: 300, tags: ['staging'] }, 'made')
    .then(() => {
      isDone = true;
    });
  // What needs no writing needs no lock.
  expect(await memory().remember(new Map(), new Set())).toMatchObject({ gained: new Map() });
  expect(isDone).toBe(false);
  release();
  await waiting;
  expect((await memory().remember(new Map([[300, ['staging']]]), new Set([300]))).gained).toEqual(new Map());
});

it.each<[string, string, (file: string) => void]>([
  ['is damaged', 'not a database', (file) => writeFileSync(file, 'no lock at all\n'.repeat(100))],
  ['cannot be opened', 'unable to open', (file) => mkdirSync(file)],
])('says that a lock %s, and not that somebody holds it', async (_flaw, said, spoil) => {
  mkdirSync(join(stateDir, 'tags'), { mode: 0o700 });
  spoil(join(stateDir, 'tags', 'lab.lock'));
  const refused = memory().making({ vmid: 300, tags: ['staging'] }, 'begins');
  await expect(refused).rejects.toMatchObject({ code: 'lock_unusable', message: expect.stringContaining(said) });
});
