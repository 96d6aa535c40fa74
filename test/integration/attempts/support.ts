/** A call of the bundled command line that is killed while it runs, against the demo cluster of the test. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LocalApp } from '#app/create-app';
import { agent, call, type World } from '../app/support.ts';
import { cli, type Outcome } from '../cli/support.ts';

/** Of the bundle: it is part of every digest. */
export const bundleVersion = (JSON.parse(readFileSync(join(import.meta.dirname, '../../../package.json'), 'utf8')) as { version: string })
  .version;

export interface Caller {
  /** Starts `banksman call`; nothing waits for its end. */
  start(tool: string, input: object): ChildProcess;
  /** To its end, parsed. */
  run(tool: string, input: object): Promise<Outcome>;
  /** Any command, without a terminal. */
  command(...words: readonly string[]): Promise<{ readonly status: number | null; readonly stdout: string }>;
}

/** @param cwd the caller's workspace */
export function createCaller(world: World, changes: object = {}, cwd = dirname(world.stateDir)): Caller {
  const folder = dirname(world.stateDir);
  const file = join(folder, 'caller.json');
  writeFileSync(file, JSON.stringify({ ...world.config, ...changes }));
  const env = { ...process.env, XDG_CONFIG_HOME: join(folder, 'xdg'), XDG_STATE_HOME: join(folder, 'xdg-state') };
  const begin = (words: readonly string[]) =>
    spawn(process.execPath, [cli, ...words, '--json', '--config', file, '--state', world.stateDir], {
      env,
      cwd,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  const start = (tool: string, input: object) => begin(['call', tool, '--input', JSON.stringify(input)]);
  return {
    start,
    run: async (tool, input) => JSON.parse((await finish(start(tool, input))).stdout) as Outcome,
    command: (...words) => finish(begin(words)),
  };
}

async function finish(child: ChildProcess) {
  let stdout = '';
  child.stdout?.on('data', (chunk: Buffer) => {
    stdout += chunk.toString();
  });
  const [status] = (await once(child, 'close')) as [number | null];
  return { status, stdout };
}

/** Asks, has a person approve it, starts the call again, and kills it once `when` holds. @returns the request's id */
export async function killedCall(
  { world, app, caller }: { readonly world: World; readonly app: LocalApp; readonly caller: Caller },
  [tool, input]: readonly [tool: string, input: object],
  when: () => boolean | Promise<boolean>,
): Promise<string> {
  const { request_id: id = '', ...asked } = await caller.run(tool, input);
  if (id === '') throw new Error(JSON.stringify(asked));
  const answer = await app.approvals.approve(id, world.person);
  if (!answer.ok) throw new Error(answer.message);
  const child = caller.start(tool, input);
  const exit = once(child, 'exit');
  while (!(await when()) && child.exitCode === null) await sleep(10);
  child.kill('SIGKILL');
  await exit;
  if (child.signalCode !== 'SIGKILL') throw new Error('the call ended before it was killed');
  return id;
}

/** What the agent is told of its request. */
export async function toldOf(
  app: LocalApp,
  id: string,
  by = agent,
): Promise<Outcome & { readonly result: { readonly outcome?: unknown } }> {
  const outcome = await call(app, 'check_request_status', { request_id: id }, { agent: by });
  return outcome as Outcome & { readonly result: { readonly outcome?: unknown } };
}

/** Asks until it fits: what is looked up takes a while. */
export async function untilTold(app: LocalApp, id: string, fits: (outcome: unknown) => boolean, by = agent) {
  for (;;) {
    const told = await toldOf(app, id, by);
    // While a store is on its way back there is no answer yet.
    if (told.status === 'ok' && fits(told.result.outcome)) return told;
    await sleep(200);
  }
}
