import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { canSandbox } from './support/bubblewrap.ts';
import { openWorkbench, type Workbench } from './support/workbench.ts';

const swappers: ChildProcess[] = [];
afterEach(() => {
  for (const swapper of swappers.splice(0)) swapper.kill('SIGKILL');
});

/** Another process of the workspace that swaps `name` between a directory and a link to `target`, as fast as it can. */
async function swap(bench: Workbench, name: string, target: string): Promise<void> {
  const script = `my ($d, $t) = @ARGV; open(F, ">", "$d.started"); close F;
    while (1) { rename $d, "$d.dir"; symlink $t, $d; unlink $d; rename "$d.dir", $d; }`;
  const place = path.join(bench.workspace, name);
  swappers.push(spawn('perl', ['-e', script, place, target], { stdio: 'ignore' }));
  while (!existsSync(`${place}.started`)) await new Promise((resolve) => setImmediate(resolve));
}

describe.skipIf(!canSandbox)('while another command swaps a protected directory for a link to the outside', () => {
  it.each(['sub/.vscode', 'sub/.git', 'sub'])('nothing outside is seen, written or made (%s)', async (name) => {
    const bench = openWorkbench();
    const outside = path.join(bench.root, 'outside');
    for (const directory of ['', 'hooks', '.vscode', '.git/hooks']) mkdirSync(path.join(outside, directory), { recursive: true });
    for (const file of ['secret', 'hooks/secret', 'config', '.vscode/secret', '.git/config'])
      writeFileSync(path.join(outside, file), 'SECRET');
    bench.files({ 'sub/.vscode/settings.json': '{}', 'sub/.git/HEAD': 'x', 'sub/.git/config': 'own', 'sub/.env': 'own' });
    await swap(bench, name, outside);
    const peek =
      'cat sub/.vscode/secret sub/.git/secret sub/.git/config sub/.git/hooks/secret sub/secret; echo evil > sub/.git/planted; echo evil > sub/planted; true';
    let ran = 0;
    for (let run = 0; run < 25; run += 1) {
      // A directory that is gone at the moment of its mount may end a run: refused is safe.
      const result = await bench.run(peek).catch(() => undefined);
      if (result === undefined) continue;
      ran += 1;
      expect(result.stdout).not.toContain('SECRET');
    }
    expect(ran).toBeGreaterThan(0);
    expect(readdirSync(outside).sort()).toEqual(['.git', '.vscode', 'config', 'hooks', 'secret']);
    expect(readdirSync(path.join(outside, 'hooks'))).toEqual(['secret']);
  });
});
