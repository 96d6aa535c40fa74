/** `banksman sandbox` as people run it, from the sources, on a state directory of the test's own. */
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { openTestWorkspace, type TestWorkspace } from './support.ts';

const main = path.resolve(import.meta.dirname, '../../../src/hosts/cli/main.ts');

function banksman({ base }: TestWorkspace, ...words: readonly string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [main, ...words, '--config', '{}', '--state', path.join(base, 'state')], {
    encoding: 'utf8',
  });
  return { status, stdout, stderr };
}

describe('banksman sandbox', () => {
  it('shows what every agent holds, and removes it when told to', async () => {
    const workspace = await openTestWorkspace();
    expect(banksman(workspace, 'sandbox', 'stats')).toMatchObject({ status: 0, stdout: 'no agent has a sandbox\n' });
    await workspace.files.write('/tmp/a', 'x'.repeat(5_000), { createDirs: true }, { agentId: 'mcp:a' });
    await workspace.files.write('/tmp/b', 'x', { createDirs: true }, { agentId: 'chat:\u001b[31mred' });
    const stats = JSON.parse(banksman(workspace, 'sandbox', 'stats', '--json').stdout) as readonly object[];
    expect(stats).toMatchObject([
      { agent: 'mcp:a', bytes: 8_192, files: 1 },
      { agent: 'chat:\u001b[31mred', bytes: 4_096, files: 1 },
    ]);
    // Nothing that an agent calls itself reaches the terminal as it is.
    expect(banksman(workspace, 'sandbox', 'stats').stdout).not.toContain('\u001b');

    expect(banksman(workspace, 'sandbox', 'clean')).toMatchObject({ status: 0, stdout: '0 sandboxes removed, 0.0 MB\n' });
    expect(await workspace.ledger.list()).toHaveLength(2);
    expect(JSON.parse(banksman(workspace, 'sandbox', 'clean', '--all', '--json').stdout)).toEqual({ sandboxes: 2, bytes: 12_288 });
    expect(await workspace.ledger.list()).toEqual([]);
    const left = readdirSync(workspace.personas).toSorted();
    expect(left).toEqual(['.trash', '.writing']);
    expect(left.flatMap((name) => readdirSync(path.join(workspace.personas, name)))).toEqual([]);
  });

  it.each([[['sandbox']], [['sandbox', 'empty']], [['sandbox', 'stats', 'more']]])('refuses %j', async (words) => {
    const workspace = await openTestWorkspace();
    expect(banksman(workspace, ...words)).toMatchObject({ status: 1, stdout: '' });
  });
});
