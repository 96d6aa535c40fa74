/** An App for one command, closed again whatever happens. */
import { dirname } from 'node:path';
import type { App } from '#app/app';
import { type Config, parseConfig } from '#app/config';
import { loadConfigFile, parseJson } from '#app/config-file';
import { createApp } from '#app/create-app';
import { defaultConfigFile, defaultStateDir } from '#app/paths';
import { version } from '#app/version';
import { Fault } from '#kernel/errors';
import { badUsage, type CommandOptions } from './command-line.ts';
import { stderrLog } from './output.ts';

export async function withApp<T>(options: CommandOptions, work: (app: App, signal: AbortSignal) => Promise<T>): Promise<T> {
  const { config, baseDir } = await configOf(options);
  const app = await createApp({
    config,
    baseDir,
    stateDir: stateDirOf(options),
    configFile: defaultConfigFile(),
    log: stderrLog,
    via: 'cli',
    version,
    workspaceBase: currentDirectory(),
  });
  try {
    return await untilStopped((signal) => work(app, signal));
  } finally {
    await app.close();
  }
}

/** @throws {Fault} `no_current_directory` */
function currentDirectory(): string {
  try {
    return process.cwd();
  } catch (cause) {
    throw new Fault('no_current_directory', 'the current directory is no longer there', {
      audience: 'user',
      next: 'go to another one',
      cause,
    });
  }
}

/** `signal` aborts when the process is asked to stop. */
export async function untilStopped<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const cancel = new AbortController();
  const stop = () => cancel.abort();
  process.once('SIGINT', stop).once('SIGTERM', stop);
  try {
    return await work(cancel.signal);
  } finally {
    process.off('SIGINT', stop).off('SIGTERM', stop);
  }
}

/** `--state`, or where this user's state is. */
export function stateDirOf({ state }: CommandOptions): string {
  return state ?? defaultStateDir();
}

/** `--config` takes a file, or the JSON object itself (as `banksman demo` prints it). */
export async function configOf(options: CommandOptions): Promise<{ readonly config: Config; readonly baseDir: string }> {
  const { config, baseDir } = await namedConfig(options.config);
  return { config: options.store === undefined ? config : parseConfig({ ...config, store: options.store }, '--store'), baseDir };
}

async function namedConfig(named: string | undefined): Promise<{ readonly config: Config; readonly baseDir: string }> {
  if (named?.trimStart().startsWith('{'))
    return { config: parseConfig(parseJson(named, '--config'), '--config'), baseDir: currentDirectory() };
  if (named === '') throw badUsage('`--config` must name a file');
  const file = named ?? defaultConfigFile();
  return { config: await loadConfigFile(file, named === undefined), baseDir: dirname(file) };
}
