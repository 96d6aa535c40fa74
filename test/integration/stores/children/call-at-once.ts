/**
 * `node call-at-once.ts JOB as JSON`: a process of its own with an App, as a server has one. Each line on its input is a batch of calls as JSON that it
 * makes at once; it answers with a line of their outcomes, and ends when its input does.
 */
import { createInterface } from 'node:readline';
import { parseConfig } from '#app/config/config';
import { createApp } from '#app/create-app';
import type { Agent } from '#kernel/agent';

export interface AppJob {
  readonly config: object;
  readonly folder: string;
  readonly stateDir: string;
}

export interface Batch {
  readonly tool: string;
  readonly input: object;
  readonly agent: Agent;
  readonly times: number;
}

const { config, folder, stateDir } = JSON.parse(process.argv[2] ?? '') as AppJob;
const silent = () => undefined;
const app = await createApp({
  ...{
    config: parseConfig(config, 'test'),
    baseDir: folder,
    stateDir,
    configFile: `${folder}/config.json`,
    via: 'editor',
    version: 'test',
  },
  ...{ log: { debug: silent, info: silent, warn: silent, error: silent }, stays: true },
});
process.stdout.write('ready\n');
const { signal } = new AbortController();
for await (const line of createInterface({ input: process.stdin })) {
  const { times, ...call } = JSON.parse(line) as Batch;
  const outcomes = await Promise.all(Array.from({ length: times }, () => app.call({ ...call, signal, waitMs: 0 })));
  process.stdout.write(`${JSON.stringify(outcomes)}\n`);
}
await app.close();
