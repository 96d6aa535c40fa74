/** `node run-command.ts REQUEST as JSON`: prints the way that this place gets, or with a `command` what becomes of that and of its undo; with an empty one the runner's status. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { createCommandRunner } from '#execution/command-runner';
import { findWay } from '#execution/effects/find-place';
import { programRunner } from '#execution/run-child';

const request = JSON.parse(process.argv[2] ?? '') as {
  readonly workspaceRoot: string;
  readonly stateDir: string;
  readonly command?: string;
};
const { workspaceRoot, stateDir, command } = request;
const { signal } = new AbortController();
const way = await findWay({ workspaceRoot, stateDir, programs: programRunner }, signal);

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return 'cannot be read';
  }
}

/** What is small goes after the answer. */
async function leftAt(scratch: string | undefined): Promise<readonly string[]> {
  if (scratch === undefined || !existsSync(scratch)) return [];
  for (let tries = 0; tries < 600 && readdirSync(scratch).length > 0; tries += 1) await delay(50);
  return readdirSync(scratch);
}

async function runAndUndo(text: string) {
  const log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };
  const runner = createCommandRunner({
    workspaceRoot,
    stateDir,
    hiddenPaths: [],
    requireSandbox: true,
    rules: { isControl: () => false, isSecret: () => false },
    judge: () => ({ action: 'apply', rule: 'test', why: 'a test' }),
    log,
  });
  if (text === '') return runner.status();
  const line = { command: text, surface: 'workspace_command', timeoutMs: 60_000, network: false, agentId: 'cli:test' } as const;
  const { effects, exitCode, stdout, stderr } = await runner.run(line, signal, () => undefined);
  if (exitCode !== 0) throw new Error(`${exitCode}: ${stderr}`);
  const left = await leftAt(way.kind === 'none' ? undefined : way.scratch);
  if (effects?.runId !== undefined) await (await runner.history?.())?.undo(effects.runId, { force: false });
  const undone = readdirSync(workspaceRoot, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.parentPath.includes('/.banksman-runs-'))
    .map(({ parentPath, name }) => `${name} ${textOf(`${parentPath}/${name}`)}`);
  return { way, done: effects, stdout, stderr, left, undone };
}

process.stdout.write(JSON.stringify(command === undefined ? way : await runAndUndo(command)));
