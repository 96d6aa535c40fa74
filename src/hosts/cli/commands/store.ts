/** `banksman store`: what the embedded store is in, a backup of it, putting one back, and what a person says about it. */
import { resolve } from 'node:path';
import { defaultConfigFile, osUser } from '#app/config/paths';
import { embeddedFile, openStore } from '#app/store/open-store';
import { backUpStore, lookAtBackup, restoreStore } from '#app/store/store-copies';
import { createTrailMemory } from '#app/store/trail-memory';
import type { ChainPoint } from '#kernel/audit-event';
import { Fault } from '#kernel/errors';
import type { Store } from '#kernel/ports/store';
import { type CommandOptions, noSuchVerb, operands } from '../command-line.ts';
import { printError, printJson, printText } from '../output.ts';
import { configOf, confirmed, stateDirOf } from '../session.ts';

export async function runStore([verb, ...words]: readonly string[], options: CommandOptions): Promise<number> {
  if (verb === 'backup') return backup(words, options);
  if (verb === 'restore') return restore(words, options);
  if (verb === 'accept') return accept(words, options);
  throw noSuchVerb('store', ['backup', 'restore', 'accept'], verb);
}

async function backup(words: readonly string[], options: CommandOptions): Promise<number> {
  const [target = ''] = operands(words, ['FILE']);
  const file = await fileOf(options);
  const { head, records } = await backUpStore(file, resolve(target));
  if (options.json) printJson({ file: resolve(target), records, head: head ?? null });
  else printText(`${resolve(target)}: ${records} records, whole; ${endOf(head)}`);
  return 0;
}

async function restore(words: readonly string[], options: CommandOptions): Promise<number> {
  const [named = ''] = operands(words, ['FILE']);
  const file = await fileOf(options);
  const copy = await lookAtBackup(resolve(named));
  const shown = [
    `${resolve(named)}: ${copy.records} records, ${endOf(copy.head)}`,
    `It takes the place of ${file}, which is set aside. Requests and approvals since then are not in it, and no approval in it counts here.`,
  ];
  await confirmed('restoring the store', shown, 'restore');
  const { before, head, setAside } = await restoreStore(resolve(named), file, person());
  await withStore(options, async (store) => memoryOf(options, store).accept(person()));
  if (options.json) printJson({ file, head: head ?? null, before: before ?? null, set_aside: setAside ?? null });
  else {
    printText(`restored; ${endOf(head)}`);
    if (setAside !== undefined) printText(`the store that was there is ${setAside}; ${endOf(before)}`);
    printError('start what works with this store again: windows, servers, the service');
  }
  return 0;
}

async function accept(words: readonly string[], options: CommandOptions): Promise<number> {
  operands(words, []);
  return withStore(options, (store) => acceptIn(store, options));
}

/** What `doctor` asks a person about: another trail than the one that was here, and a clock that is ahead. */
async function acceptIn(store: Store, options: CommandOptions): Promise<number> {
  const memory = memoryOf(options, store);
  const lost = await memory.finding();
  const { ahead } = (await store.care?.time()) ?? { ahead: 0 };
  const days = Math.floor(ahead / 86_400_000);
  const isAhead = days > 0 ? `The clock is ${days} days ahead of the time that passed; what is old by it will be dropped.` : '';
  if (lost === undefined && days === 0) {
    printText('there is nothing to accept: the trail is the one that was here, and the clock fits');
    return 0;
  }
  const now = `${new Date().toISOString()} by the clock of this machine`;
  await confirmed('accepting the store as it is', [lost === undefined ? '' : `${lost.message}.`, isAhead, `It is ${now}.`], 'accept');
  await memory.accept(person());
  if (days > 0) await store.care?.trustClock(person());
  printText('accepted, and written down');
  return 0;
}

function memoryOf(options: CommandOptions, store: Store) {
  return createTrailMemory({ configFile: defaultConfigFile(), stateDir: stateDirOf(options) }, store);
}

async function withStore<T>(options: CommandOptions, work: (store: Store) => Promise<T>): Promise<T> {
  const { config } = await configOf(options);
  const store = await openStore({ config, stateDir: stateDirOf(options) });
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

/** @throws {Fault} `shared_store` */
async function fileOf(options: CommandOptions): Promise<string> {
  const { config } = await configOf(options);
  if (config.store.startsWith('sqlite:')) return resolve(embeddedFile({ config, stateDir: stateDirOf(options) }));
  throw new Fault('shared_store', 'the store is a server: it is backed up by its own means', {
    audience: 'user',
    next: '`banksman audit export` writes its trail',
  });
}

function person(): string {
  return `user:${osUser().username}`;
}

function endOf(head: ChainPoint | undefined): string {
  return head === undefined ? 'its trail is empty' : `its trail ends with ${head.sequence}:${head.hash}`;
}
