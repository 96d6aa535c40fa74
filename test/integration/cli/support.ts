/** The bundled command line as a process, against the bundled demo cluster: nothing of ours is loaded into the test. */
import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';

/** Another build of it can be named while `dist/` belongs to somebody else. */
export const cli = process.env['BANKSMAN_TEST_CLI'] ?? join(import.meta.dirname, '../../../dist/cli.cjs');

export interface Finished {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** One machine's worth of files: state, configuration, and the demo cluster that its configuration names. */
export interface Bench {
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
  readonly state: string;
  /** The machine's own configuration file: where keys are pinned. There is none at first. */
  readonly machineFile: string;
  readonly configFile: string;
  readonly config: { readonly [key: string]: unknown };
  run(
    words: readonly string[],
    options?: { readonly stdin?: string; readonly env?: NodeJS.ProcessEnv; readonly program?: string },
  ): Promise<Finished>;
  /** `call TOOL --json` with the outcome parsed. */
  call(
    tool: string,
    input?: unknown,
    more?: readonly string[],
  ): Promise<{ readonly status: number | null; readonly outcome: Outcome; readonly stderr: string }>;
  close(): Promise<void>;
}

export interface Outcome {
  readonly status: string;
  readonly code: string;
  readonly message: string;
  readonly request_id?: string;
  readonly next?: string;
  readonly result?: unknown;
}

export async function startBench(): Promise<Bench> {
  const folder = mkdtempSync(join(tmpdir(), 'banksman-cli-'));
  const env = { ...process.env, XDG_STATE_HOME: join(folder, 'state'), XDG_CONFIG_HOME: join(folder, 'config') };
  const demo = await startDemo(env);
  const configFile = join(folder, 'demo.json');
  writeFileSync(configFile, JSON.stringify(demo.config));
  const run: Bench['run'] = (words, options = {}) =>
    finish(spawn(options.program ?? process.execPath, [cli, ...words], { env: { ...env, ...options.env } }), options.stdin);
  return {
    folder,
    env,
    state: join(folder, 'state', 'banksman'),
    machineFile: join(folder, 'config', 'banksman', 'config.json'),
    configFile,
    config: demo.config,
    run,
    call: async (tool, input = {}, more = []) => {
      const finished = await run(['call', tool, '--input', JSON.stringify(input), '--json', '--config', configFile, ...more]);
      return { status: finished.status, outcome: JSON.parse(finished.stdout) as Outcome, stderr: finished.stderr };
    },
    close: async () => {
      demo.child.kill('SIGTERM');
      if (demo.child.exitCode === null) await once(demo.child, 'exit');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function startDemo(
  env: NodeJS.ProcessEnv,
): Promise<{ readonly child: ChildProcess; readonly config: { readonly [key: string]: unknown } }> {
  const child = spawn(process.execPath, [cli, 'demo'], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const lines = createInterface({ input: child.stdout });
  const [line] = (await once(lines, 'line')) as [string];
  return { child, config: JSON.parse(line) as { readonly [key: string]: unknown } };
}

async function finish(child: ChildProcessWithoutNullStreams, stdin = ''): Promise<Finished> {
  const closed = once(child, 'close') as Promise<[number | null]>;
  child.stdin.end(stdin);
  const [stdout, stderr, [status]] = await Promise.all([text(child.stdout), text(child.stderr), closed]);
  return { status, stdout, stderr };
}
