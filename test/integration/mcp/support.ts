/** The bundled program as MCP server: what clients meet, not what the sources say. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';

export const program = path.join(import.meta.dirname, '../../../dist/cli.cjs');

export interface Addresses {
  readonly url: string;
  readonly health: string;
  readonly sse?: string;
}

export interface HttpProgram extends Addresses {
  readonly child: ChildProcess;
  /** Everything on stderr so far. */
  said(): string;
  stop(): Promise<number | null>;
}

/** One machine's worth of files: state and configuration of its own. */
export interface Machine {
  readonly env: NodeJS.ProcessEnv;
  readonly folder: string;
  readonly stateDir: string;
  /** `--config` and `--state` with their values. */
  readonly config: readonly string[];
  /** Runs a command to its end. */
  run(words: readonly string[]): Promise<{ readonly status: number | null; readonly stdout: string; readonly stderr: string }>;
  /** The text of a new token. */
  createToken(name: string, tier?: string): Promise<string>;
  serve(more?: readonly string[]): Promise<HttpProgram>;
  close(): Promise<void>;
}

export interface MachineOptions {
  /** The configuration; without: no clusters. */
  readonly settings?: Readonly<Record<string, unknown>>;
  /** Somebody else's state directory, to meet there. */
  readonly stateDir?: string;
}

export function startMachine({ settings = {}, stateDir: shared }: MachineOptions = {}): Machine {
  const folder = mkdtempSync(path.join(tmpdir(), 'banksman-mcp-'));
  const env = { ...process.env, XDG_STATE_HOME: path.join(folder, 'state'), XDG_CONFIG_HOME: path.join(folder, 'config') };
  const children = new Set<ChildProcess>();
  const start = (words: readonly string[]) => {
    const child = spawn(process.execPath, [program, ...words], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    children.add(child);
    child.once('exit', () => children.delete(child));
    return child;
  };
  const stateDir = shared ?? path.join(folder, 'state', 'banksman');
  const configFile = path.join(folder, 'config.json');
  writeFileSync(configFile, JSON.stringify(settings));
  const config = ['--config', configFile, '--state', stateDir];
  const run: Machine['run'] = async (words) => {
    const child = start(words);
    const closed = once(child, 'close') as Promise<[number | null]>;
    const [stdout, stderr, [status]] = await Promise.all([text(child.stdout), text(child.stderr), closed]);
    return { status, stdout, stderr };
  };
  return {
    env,
    folder,
    stateDir,
    config,
    run,
    createToken: async (name, tier = 'intermediate') =>
      (await run(['tokens', 'create', name, '--tier', tier, '--state', stateDir])).stdout.trim(),
    serve: async (more = []) => {
      const child = start(['serve', '--http', '127.0.0.1:0', ...config, ...more]);
      let said = '';
      child.stderr.on('data', (chunk: Buffer) => {
        said += chunk.toString();
      });
      const addresses = (await firstLine(child, () => said)) as unknown as Addresses;
      return { ...addresses, child, said: () => said, stop: () => stop(child) };
    },
    close: async () => {
      await Promise.all([...children].map(stop));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** @throws what the program said, when it ends without a line */
async function firstLine(child: ChildProcess, said: () => string): Promise<Record<string, unknown>> {
  const lines = createInterface({ input: child.stdout! });
  const [line] = (await Promise.race([once(lines, 'line'), once(child, 'close').then(() => [''])])) as [string];
  if (line === '') throw new Error(`the program ended: ${said()}`);
  return JSON.parse(line) as Record<string, unknown>;
}

async function stop(child: ChildProcess): Promise<number | null> {
  if (child.exitCode === null && child.signalCode === null) {
    const exited = once(child, 'exit');
    child.kill('SIGTERM');
    await exited;
  }
  return child.exitCode;
}
