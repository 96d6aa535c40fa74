import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createTagMemory } from '#app/clusters/tag-memory';
import type { Scope } from '#policy/scopes/scopes';

let stateDir: string;

beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), 'scope-members-'));
});

afterEach(() => rmSync(stateDir, { recursive: true, force: true }));

const quiet = () => undefined;
const log = { debug: quiet, info: quiet, warn: quiet, error: quiet };
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
  await memory().admit(300, ['staging']);
  await memory().remember(bears, new Set([101, 300]));
  const both = new Map([...bears, [300, ['staging']]]);
  expect((await memory().remember(both, new Set([101, 300]))).gained).toEqual(new Map());
});
