import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createTagMemory } from '#app/clusters/tag-memory';
import type { Scope } from '#policy/scopes/scopes';

let stateDir: string;

beforeEach(() => {
  lines.length = 0;
  stateDir = mkdtempSync(join(tmpdir(), 'scope-members-'));
});

afterEach(() => rmSync(stateDir, { recursive: true, force: true }));

const quiet = () => undefined;
const lines: string[] = [];
const log = { debug: quiet, info: quiet, warn: (line: string) => void lines.push(line), error: quiet };
const staging: Scope = { name: 'staging', agents: ['*'], reason: 'only tests', only: { tags: ['staging'] } };
const memory = () => createTagMemory({ cluster: 'lab', stateDir, log, entries: { windows: [], roles: [], scopes: [staging] } });
const bears = new Map([[101, ['staging']]]);

it('counts who bore the tag at the first look, and not who lost it and got it again', async () => {
  const seen = new Set([101]);
  expect((await memory().remember(bears, seen)).gained).toEqual(new Map());
  expect((await memory().remember(new Map(), seen)).gained).toEqual(new Map());
  expect((await memory().remember(bears, seen)).gained).toEqual(bears);
});

it('keeps who is not seen for a while, and who was made and has no tags yet', async () => {
  await memory().remember(bears, new Set([101]));
  await memory().remember(new Map(), new Set());
  await memory().making({ vmid: 300, tags: ['staging'] }, 'made');
  await memory().remember(bears, new Set([101, 300]));
  const both = new Map([...bears, [300, ['staging']]]);
  expect((await memory().remember(both, new Set([101, 300]))).gained).toEqual(new Map());
});

it('tells what an agent makes from what somebody tagged, until it is made, and in another process, too', async () => {
  const all = new Set([101, 300, 301]);
  const gained = new Map([
    [300, ['staging']],
    [301, ['staging']],
  ]);
  const both = new Map([...bears, ...gained]);
  await memory().remember(bears, all);
  await memory().making({ vmid: 300, tags: ['staging'] }, 'begins');
  expect(await memory().remember(both, all)).toMatchObject({ gained, brought: new Map([[300, ['staging']]]) });
  expect(lines).toEqual([
    expect.stringMatching(/^lab: guest 300 got the tag staging by a clone or restore of an agent/),
    expect.stringMatching(/^lab: guest 301 got the tag staging outside of Banksman/),
  ]);
  await memory().making({ vmid: 300, tags: ['staging'] }, 'made');
  expect(await memory().remember(both, all)).toMatchObject({ gained: new Map([[301, ['staging']]]), brought: new Map() });
});

it('says of one that was not made, and is there all the same, that somebody tagged it', async () => {
  await memory().remember(bears, new Set([101]));
  await memory().making({ vmid: 300, tags: ['staging'] }, 'begins');
  await memory().making({ vmid: 300, tags: ['staging'] }, 'failed');
  const found = await memory().remember(new Map([...bears, [300, ['staging']]]), new Set([101, 300]));
  expect(found).toMatchObject({ gained: new Map([[300, ['staging']]]), brought: new Map() });
});

it('fails closed where what is kept of guests that are made is damaged', async () => {
  await memory().remember(bears, new Set([101]));
  writeFileSync(join(stateDir, 'tags', 'lab.making.json'), '{"300": "staging"', { mode: 0o600 });
  await expect(memory().remember(bears, new Set([101]))).rejects.toMatchObject({ code: 'tag_memory_damaged' });
});
