import path from 'node:path';
import { ROOT } from '../lib/cache-folder.mjs';
import { cleanEnv } from '../lib/clean-env.mjs';
import { spawnLeashed } from './leashed.ts';

/** The configuration that `banksman demo` prints: the same keys as the settings `banksman.*`. */
export type DemoConfig = Readonly<Record<string, unknown>>;

interface Running {
  readonly exited: Promise<number | null>;
  output(): string;
  stop(): Promise<void>;
}

export type DemoProcess = Running & { readonly config: DemoConfig };

const READY_MS = 30_000;

/** Starts the built command line's demo cluster on a free port. `env` says where it keeps its state. */
export async function startDemoProcess(env: Readonly<Record<string, string>>): Promise<DemoProcess> {
  const { line, ...demo } = await startCli('demo', env);
  return { ...demo, config: JSON.parse(line) as DemoConfig };
}

interface PageAddresses {
  readonly url: string;
  /** Makes this demo's first passkey, once. */
  readonly enrol?: string;
}

/** Starts the approval page that the configuration of `env` names. */
export async function startPageProcess(env: Readonly<Record<string, string>>): Promise<Running & PageAddresses> {
  const { line, ...page } = await startCli('page', env);
  return { ...page, ...(JSON.parse(line) as PageAddresses) };
}

/** A command that prints one line of JSON and then runs until stopped. */
async function startCli(command: string, env: Readonly<Record<string, string>>): Promise<Running & { readonly line: string }> {
  const cli = path.join(ROOT, 'dist', 'cli.cjs');
  const started = spawnLeashed(process.execPath, [cli, command], { env: cleanEnv(env), cwd: ROOT });
  try {
    const line = await started.waitForLine(/^\{.*\}$/, READY_MS);
    return { line, exited: started.exited, output: () => started.output(), stop: async () => void (await started.stop()) };
  } catch (error) {
    await started.stop();
    throw error;
  }
}

/** The demo's configuration as settings of the editor. */
export function demoSettings(config: DemoConfig): Record<string, unknown> {
  return Object.fromEntries(Object.entries(config).map(([key, value]) => [`banksman.${key}`, value]));
}
