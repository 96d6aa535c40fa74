/** A process of its own that runs lines as `run_command` does: `node run-lines.ts JOB as JSON`. Tests start it as another user. Prints what came of each as JSON. */
import { createCommandRunner } from '#execution/command-runner';
import type { CommandResult } from '#kernel/ports/command-runner';
import { isControlPath } from '#policy/effects/control-places';
import { judgeChange } from '#policy/effects/judge-change';
import { isSecretPath } from '#policy/paths/secret-files';

export interface LinesJob {
  readonly workspaceRoot: string;
  readonly stateDir: string;
  readonly home: string;
  readonly lines: readonly string[];
  /** Of who starts it; what its `PATH` has comes first. */
  readonly env?: Readonly<Record<string, string>>;
}

const { lines, home, workspaceRoot, stateDir, env: { PATH: first = '', ...more } = {} } = JSON.parse(process.argv[2] ?? '') as LinesJob;
const quiet = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };
const runner = createCommandRunner({
  workspaceRoot,
  stateDir,
  hiddenPaths: [],
  requireSandbox: true,
  rules: { isControl: isControlPath, isSecret: isSecretPath },
  judge: judgeChange,
  log: quiet,
  environment: { ...process.env, ...more, HOME: home, PATH: `${first}:${home}/.local/bin:${process.env['PATH'] ?? ''}` },
});
const results: CommandResult[] = [];
for (const command of lines) {
  const request = { command, surface: 'workspace_command', timeoutMs: 60_000, network: false, agentId: 'cli:test' } as const;
  results.push(await runner.run(request, new AbortController().signal, () => undefined));
}
process.stdout.write(JSON.stringify(results));
