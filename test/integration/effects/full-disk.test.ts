/** A disk that is full when the first command comes: what was found out then counts no longer than that. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { createCommandRunner } from '#execution/command-runner';
import { isControlPath } from '#policy/effects/control-places';
import { judgeChange } from '#policy/effects/judge-change';
import { isSecretPath } from '#policy/paths/secret-files';
import { canSandbox } from '../execution/support/bubblewrap.ts';
import { temporaryDirectory } from '../execution/support/temporary.ts';

const quiet = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

describe.runIf(canSandbox && process.getuid?.() === 0)('a disk that is full at the first command', () => {
  it.each([
    ['of the state directory', 'state'],
    ['of the workspace', 'ws'],
    ['of both', '.'],
  ])('%s: with room again commands are judged as ever, without a restart', async (_name, small) => {
    const root = temporaryDirectory('full-start-');
    const [workspaceRoot, stateDir] = [path.join(root, 'ws'), path.join(root, 'state')];
    for (const place of [workspaceRoot, stateDir]) mkdirSync(place);
    const mounted = path.join(root, small);
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'tmpfs', mounted]);
    try {
      for (const place of [workspaceRoot, stateDir]) mkdirSync(place, { recursive: true });
      const filler = path.join(mounted, 'filler');
      execFileSync('bash', ['-c', 'cat /dev/zero > "$0" 2> /dev/null || true', filler]);
      const rules = { isControl: isControlPath, isSecret: isSecretPath };
      const options = { workspaceRoot, stateDir, hiddenPaths: [], requireSandbox: false, rules, judge: judgeChange, log: quiet };
      const runner = createCommandRunner(options);
      const full = await runner.status().catch((thrown: unknown) => String(thrown));
      expect(JSON.stringify(full)).not.toContain('"judged":true');
      expect(JSON.stringify(full)).toMatch(/full|space|ENOSPC/i);
      rmSync(filler);
      expect(await runner.status()).toMatchObject({ state: 'enforced', view: { judged: true } });
      writeFileSync(path.join(workspaceRoot, 'a'), 'one\n');
      const request = {
        command: 'echo two >> a',
        surface: 'workspace_command' as const,
        timeoutMs: 60_000,
        network: false,
        agentId: 'cli:test',
      };
      const { effects } = await runner.run(request, new AbortController().signal, () => undefined);
      expect(effects).toMatchObject({ changed: ['a'] });
    } finally {
      execFileSync('umount', ['-l', mounted]);
    }
  });
});
