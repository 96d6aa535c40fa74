/** The demo cluster in a thread of this process, out of the command line's bundle: for the editor, whose own has none. It ends with the process. */
import { rm } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { Fault } from '#kernel/errors';
import { isJsonObject, type JsonObject, wordOf } from '#kernel/json';

export interface DemoThread {
  /** As `banksman demo` prints it: `clusters` and `protected`. */
  readonly config: JsonObject;
  stop(): Promise<void>;
}

/** In ms. */
const startMs = 30_000;

/** @param cli path of `cli.cjs`. @throws {Fault} `demo_failed` */
export async function startDemoThread(cli: string): Promise<DemoThread> {
  // Options of the editor's own process are not for it.
  const worker = new Worker(cli, { argv: ['demo'], execArgv: [], stdout: true, stderr: true });
  const said: string[] = [];
  worker.stderr.on('data', (chunk: Buffer) => said.push(String(chunk)));
  try {
    const config = await firstLine(worker);
    const folder = demoFolder(config);
    const stop = async () => {
      await worker.terminate();
      if (folder !== undefined) await rm(folder, { recursive: true, force: true });
    };
    return { config, stop };
  } catch (thrown) {
    await worker.terminate();
    const why = thrown instanceof Error ? thrown.message : 'it ended';
    const next = 'try again; at a terminal `banksman demo` says more';
    throw new Fault('demo_failed', `the demo cluster did not start: ${[why, ...said].join(' ').slice(0, 500)}`, { next, cause: thrown });
  }
}

async function firstLine(worker: Worker): Promise<JsonObject> {
  const { promise: failed, reject } = Promise.withResolvers<never>();
  worker.once('error', reject);
  worker.once('exit', (code) => reject(new Error(`it ended with ${code}`)));
  const timer = setTimeout(() => reject(new Error('it was not ready in time')), startMs);
  try {
    const { promise: line, resolve } = Promise.withResolvers<string>();
    let text = '';
    worker.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
      if (text.includes('\n')) resolve(text.slice(0, text.indexOf('\n')));
    });
    const config: unknown = JSON.parse(await Promise.race([line, failed]));
    if (!isJsonObject(config)) throw new Error('it printed no configuration');
    return config;
  } finally {
    clearTimeout(timer);
    failed.catch(() => undefined);
  }
}

/** Of its keys and token. SECURITY: only a directory that is named as the demo names its own is removed. */
function demoFolder({ clusters }: JsonObject): string | undefined {
  const [cluster] = Array.isArray(clusters) ? clusters : [];
  const folder = isJsonObject(cluster) ? dirname(wordOf(cluster['tokenFile'])) : '';
  return basename(folder).startsWith('banksman-demo-') ? folder : undefined;
}
