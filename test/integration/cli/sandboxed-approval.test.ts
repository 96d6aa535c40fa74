/** The command line inside the sandbox of `run_command`, with a terminal that the command made itself. */
import { copyFileSync, linkSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { canSandbox } from '../execution/support/bubblewrap.ts';
import { openWorkbench } from '../execution/support/workbench.ts';
import { cli } from './support.ts';

// Every step is a process of its own, and slow cores run several suites at once.
vi.setConfig({ testTimeout: 240_000, hookTimeout: 60_000 });

describe.skipIf(!canSandbox)('inside a sandboxed command', () => {
  it('nobody approves, denies, makes an approver or changes a setting, whatever terminal there is', async () => {
    const bench = openWorkbench();
    copyFileSync(cli, path.join(bench.workspace, 'cli.cjs'));
    place(process.execPath, path.join(bench.workspace, 'node'));
    const lines = [
      ['approvals', 'approve', 'req-00000000'],
      ['approvals', 'deny', 'req-00000000'],
      ['approvers', 'create', 'mallory'],
      ['level', 'set', 'relaxed'],
      ['auto-approve', 'set', 'tool:write_file', 'allow'],
    ].map(
      (words) =>
        `HOME=/tmp XDG_STATE_HOME=/tmp/s XDG_CONFIG_HOME=/tmp/c script -qec "./node ./cli.cjs ${words.join(' ')}" /dev/null; echo "status $?"`,
    );
    const { stdout, sandbox } = await bench.run(
      `script -qec 'test -t 0 && echo a terminal' /dev/null; ${lines.join('; ')}; ls -d /tmp/s /tmp/c; echo end`,
      {
        timeoutMs: 60_000,
      },
    );
    expect(sandbox).toBe('enforced');
    expect(stdout).toContain('a terminal');
    expect(stdout.match(/is not possible from inside a sandboxed command/g)).toHaveLength(lines.length);
    expect(stdout.match(/status 2/g)).toHaveLength(lines.length);
    // Nothing was made: neither state nor a key.
    expect(stdout).toMatch(/status 2\s+end\s*$/);
  });
});

/** The program is large: a second name for it where the file system allows one. */
function place(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch {
    copyFileSync(from, to);
  }
}
