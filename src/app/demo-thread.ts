/** The demo cluster in a thread of this process, out of the command line's bundle: for the editor, whose own has none. It ends with the process. */

import { rm } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { Fault } from '#kernel/errors';
import { isJsonObject, type JsonObject, wordOf } from '#kernel/json';
import { say } from '#kernel/text/message';

export interface DemoThread {
  /** As `banksman demo` prints it: `clusters` and `protected`. */
  readonly config: JsonObject;
  /** Once it has ended, by itself or by `stop`, with nothing left on the disk where it can be removed. */
  readonly gone: Promise<void>;
  stop(): Promise<void>;
}

/** In ms. */
const startMs = 30_000;
/** Characters of what it says when it does not start. */
const mostSaid = 2_000;

/** @param cli path of `cli.cjs`. @throws {Fault} `demo_failed` */
export async function startDemoThread(cli: string): Promise<DemoThread> {
  // Options of the editor's own process are not for it.
  const worker = new Worker(cli, { argv: ['demo'], execArgv: [], stdout: true, stderr: true });
  let said = '';
  worker.stderr.on('data', (chunk: Buffer) => {
    said = `${said}${String(chunk)}`.slice(0, mostSaid);
  });
  const ended = new Promise<Error>((resolve) => {
    worker.on('error', resolve);
    worker.once('exit', (code) => resolve(new Error(`it ended with ${code}`)));
  });
  try {
    const config = await firstLine(worker, ended);
    const folder = demoFolder(config);
    const gone = ended.then(async () => {
      if (folder !== undefined) await rm(folder, { recursive: true, force: true }).catch(() => undefined);
    });
    const stop = async () => {
      await worker.terminate();
      await gone;
    };
    return { config, gone, stop };
  } catch (thrown) {
    await worker.terminate();
    const why = thrown instanceof Error ? thrown.message : 'it ended';
    const next = 'try again; at a terminal `banksman demo` says more';
    throw new Fault('demo_failed', say`the demo cluster did not start: ${`${why} ${said}`.trim().slice(0, 450)}`, { next, cause: thrown });
  }
}

/** Its configuration; whatever it prints later is read by nobody, and not kept. */
async function firstLine({ stdout }: Worker, ended: Promise<Error>): Promise<JsonObject> {
  const late = new AbortController();
  const failed = Promise.race([ended, delay(startMs, new Error('it was not ready in time'), { signal: late.signal, ref: false })]).then(
    (why) => Promise.reject(why),
  );
  const { promise: line, resolve } = Promise.withResolvers<string>();
  let text = '';
  const read = (chunk: string) => {
    text += chunk;
    if (text.includes('\n')) resolve(text.slice(0, text.indexOf('\n')));
  };
  stdout.setEncoding('utf8').on('data', read);
  try {
    const config: unknown = JSON.parse(await Promise.race([line, failed]));
    if (!isJsonObject(config)) throw new Error('it printed no configuration');
    return config;
  } finally {
    late.abort();
    failed.catch(() => undefined);
    stdout.off('data', read).resume();
  }
}

/** Of its keys and token. SECURITY: only a directory that is named as the demo names its own is removed. */
function demoFolder({ clusters }: JsonObject): string | undefined {
  const [cluster] = Array.isArray(clusters) ? clusters : [];
  const folder = isJsonObject(cluster) ? dirname(wordOf(cluster['tokenFile'])) : '';
  return basename(folder).startsWith('banksman-demo-') ? folder : undefined;
}
