/**
 * `node scripts/race-paths.ts [OPENS]`: 100,000 opens (or OPENS) of paths whose links another process swaps all the time, reads and writes in
 * turn. Exit 1 if anything from outside the workspace was read, or anything outside was written. The test suite does a short one.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { pathRules } from '#app/workspace/open-workspace';
import { createWorkspaceFiles } from '#connectors/workspace-files/create-workspace-files';
import { createEffects } from '#execution/effects/effects';
import { programRunner } from '#execution/run-child';
import { usualPinning } from '#files/directory-pin';
import { judgeChange } from '#policy/effects/judge-change';

const opens = Number(process.argv[2] ?? 100_000);
const base = realpathSync(mkdtempSync(path.join(os.tmpdir(), 'banksman-race-')));
const [root, outside] = [path.join(base, 'ws'), path.join(base, 'outside')];
mkdirSync(root);
mkdirSync(outside);
writeFileSync(path.join(outside, 'secret.txt'), 'OUTSIDE\n');

const swapping = spawn(
  process.execPath,
  [path.join(import.meta.dirname, '../test/integration/workspace/children/swap.ts'), root, outside],
  {
    stdio: ['ignore', 'pipe', 'inherit'],
  },
);
await once(swapping.stdout, 'data');

const quiet = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };
const journal = createEffects({
  workspaceRoot: root,
  journal: path.join(base, 'journal'),
  programs: programRunner,
  judge: judgeChange,
  log: quiet,
});
const files = createWorkspaceFiles({
  rules: pathRules([root]),
  workspaceRoot: root,
  personas: { room: async () => undefined },
  pinning: usualPinning,
  mostBytes: 1e6,
  journal: async () => journal,
  notes: path.join(base, 'writing'),
});
const scope = { agentId: 'race' };
const never = new AbortController().signal;
const seen = { inside: 0, outside: 0, written: 0, refused: 0 };

async function oneOpen(round: number): Promise<void> {
  if (round % 10 === 9) {
    await files.write(['d/new.txt', 'd/deep/new.txt'][round % 2] ?? '', 'inside', { createDirs: true }, scope);
    seen.written += 1;
    return;
  }
  const { text } = await files.read(['d/secret.txt', 'f'][round % 2] ?? '', {}, scope, never);
  if (text.includes('OUTSIDE')) seen.outside += 1;
  else seen.inside += 1;
}

for (let round = 0; round < opens; round += 1) {
  await oneOpen(round).catch(() => {
    seen.refused += 1;
  });
}

const swapped = swapping.exitCode === null;
const closed = once(swapping, 'close');
swapping.kill('SIGKILL');
await closed;
const untouched = readdirSync(outside).join() === 'secret.txt' && readFileSync(path.join(outside, 'secret.txt'), 'utf8') === 'OUTSIDE\n';
rmSync(base, { recursive: true, force: true });
console.log(JSON.stringify({ opens, ...seen, outsideUntouched: untouched, swappedToTheEnd: swapped }));
process.exitCode = seen.outside === 0 && untouched && swapped ? 0 : 1;
