/** people FILE: people who read one request after the other, think, and sign with their own keys, until the process is ended (`PeopleSettings`). */
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseConfig } from '#app/config/config';
import { createApp, type LocalApp } from '#app/create-app';
import { signerFrom } from '#app/for-hosts';
import type { Signer } from '#kernel/approval/answer';
import { createRandom } from '../../../../src/demo/random.ts';
import { journalTo } from '../journal.ts';

export interface PeopleSettings {
  readonly configFile: string;
  readonly stateDir: string;
  readonly people: readonly { readonly name: string; readonly privateKey: string }[];
  readonly seed: number;
  /** From the card to the answer, in ms: at least, and at most. */
  readonly thinkMs: readonly [number, number];
  /** Of 100 answers. */
  readonly denies: number;
  readonly journal: string;
}

const settings = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')) as PeopleSettings;
const random = createRandom(settings.seed);
const write = journalTo(settings.journal);
const taken = new Set<string>();
const waiting: string[] = [];
let app: LocalApp | undefined;

/** Root beside the service, on its state: what the page and root's commands do. */
async function opened(): Promise<LocalApp> {
  const silent = () => undefined;
  const { configFile, stateDir } = settings;
  return createApp({
    ...{ config: parseConfig(JSON.parse(readFileSync(configFile, 'utf8')), 'people'), baseDir: stateDir, stateDir, via: 'cli' },
    ...{ configFile, namedConfigFile: configFile, version: 'fleet', log: { debug: silent, info: silent, warn: silent, error: silent } },
  });
}

/** What nobody has taken yet, oldest first. A store that is away is opened anew. */
async function look(): Promise<void> {
  try {
    app ??= await opened();
    for (const { id } of (await app.approvals.list({ statuses: ['pending'], limit: 200 })).records.toReversed()) {
      if (taken.has(id)) continue;
      taken.add(id);
      waiting.push(id);
    }
  } catch {
    await app?.close().catch(() => undefined);
    app = undefined;
  }
}

async function answer(signer: Signer, id: string): Promise<void> {
  const [least, most] = settings.thinkMs;
  const answerOf = random.next() * 100 < settings.denies ? 'deny' : 'approve';
  try {
    await app?.approvals.card(id);
    await sleep(least + random.next() * (most - least));
    const done = answerOf === 'deny' ? app?.approvals.deny(id, signer.approver, 'not now') : app?.approvals.approve(id, signer);
    const code = (await done)?.code ?? 'store_away';
    write({ by: signer.approver, request: id, answer: answerOf, code });
  } catch (thrown) {
    write({ by: signer.approver, request: id, answer: answerOf, code: String((thrown as { readonly code?: unknown }).code ?? thrown) });
    // Seen again in a moment, like any request that nobody has answered.
    taken.delete(id);
  }
}

async function sit(signer: Signer): Promise<never> {
  for (;;) {
    const id = waiting.shift();
    if (id === undefined) await sleep(200);
    else await answer(signer, id);
  }
}

console.log('ready');
for (const { name, privateKey } of settings.people) void sit(signerFrom(privateKey, name));
for (;;) {
  await look();
  await sleep(500);
}
