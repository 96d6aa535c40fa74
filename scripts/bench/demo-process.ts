import path from 'node:path';
import { ROOT } from '../lib/cache-folder.mjs';
import { cleanEnv } from '../lib/clean-env.mjs';
import { spawnLeashed } from './leashed.ts';

/** The configuration that `banksman demo` prints: the same keys as the settings `banksman.*`. */
export type DemoConfig = Readonly<Record<string, unknown>>;

export interface DemoProcess {
  readonly config: DemoConfig;
  readonly exited: Promise<number | null>;
  output(): string;
  stop(): Promise<void>;
}

const READY_MS = 30_000;

/** Starts the built command line's demo cluster on a free port. `env` says where it keeps its state. */
export async function startDemoProcess(env: Readonly<Record<string, string>>): Promise<DemoProcess> {
  const cli = path.join(ROOT, 'dist', 'cli.cjs');
  const demo = spawnLeashed(process.execPath, [cli, 'demo'], { env: cleanEnv(env), cwd: ROOT });
  try {
    const line = await demo.waitForLine(/^\{.*\}$/, READY_MS);
    return {
      config: JSON.parse(line) as DemoConfig,
      exited: demo.exited,
      output: () => demo.output(),
      stop: async () => void (await demo.stop()),
    };
  } catch (error) {
    await demo.stop();
    throw error;
  }
}

/** The demo's configuration as settings of the editor. */
export function demoSettings(config: DemoConfig): Record<string, unknown> {
  return Object.fromEntries(Object.entries(config).map(([key, value]) => [`banksman.${key}`, value]));
}
