/** For each test of the file that imports it a fresh demo cluster, on a clock that stands still, and ways to ask it. */
import { afterEach, beforeEach } from 'vitest';
import { createManualClock, type DemoCluster, demoTokens, type ManualClock, startDemoCluster } from '#demo/index';
import { call, data, type WireAnswer } from './api-client.ts';

export let demo: DemoCluster;
export let clock: ManualClock;

beforeEach(async () => {
  clock = createManualClock(Date.UTC(2026, 10, 21));
  demo = await startDemoCluster({ clock, taskDurationMs: 1000 });
});
afterEach(() => demo.close());

export type Token = keyof typeof demoTokens;
export type Row = Readonly<Record<string, unknown>>;

export function ask(path: string, token: Token = 'root', endpoint = demo.url): Promise<WireAnswer> {
  return call(demo, { path, authorization: demo.authorization[demoTokens[token]], endpoint });
}

export function rows(path: string, token: Token = 'root'): Promise<readonly Row[]> {
  return data(demo, { path, authorization: demo.authorization[demoTokens[token]] });
}

export function send(
  method: string,
  path: string,
  form: Readonly<Record<string, string>> = {},
  token: Token = 'root',
): Promise<WireAnswer> {
  return call(demo, { method, path, authorization: demo.authorization[demoTokens[token]], ...(method === 'DELETE' ? {} : { form }) });
}

export async function post(path: string, form: Readonly<Record<string, string>> = {}, token: Token = 'root'): Promise<string> {
  return ((await send('POST', path, form, token)).body as { readonly data: string }).data;
}

export async function taskOf(upid: string): Promise<Row> {
  return data(demo, {
    path: `/nodes/${upid.split(':')[1]}/tasks/${encodeURIComponent(upid)}/status`,
    authorization: demo.authorization[demoTokens.root],
  });
}

export const line = (answer: WireAnswer) => `${answer.status} ${answer.statusMessage}`;
