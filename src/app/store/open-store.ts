/** The store that the configuration names. */
import { existsSync, lstatSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { seal } from '#audit/seal';
import { asOwnerOf, isForService, ownerOf } from '#files/folder-owner';
import { Fault } from '#kernel/errors';
import type { LocalStore, PersonaLedger, Store } from '#kernel/ports/store';
import { type Message, say } from '#kernel/text/message';
import { openSqliteStore } from '#stores/sqlite/open-sqlite-store';
import type { Config } from '../config/config.ts';
import { expandPath } from '../config/paths.ts';
import { engineOf } from './engines.ts';
import { type StoreCallName, type StoreCalls, type StoreLink, startStoreLink, type WorkerStoreOptions } from './store-link.ts';

export interface StoreOptions {
  readonly config: Config;
  readonly stateDir: string;
  /** Path of the bundled worker; absent: on this thread. */
  readonly storeWorker?: string;
  /** Whoever asks only looks: where root does so for a service that has no store, none is made for it. */
  readonly looks?: boolean;
}

/** File of the embedded store in the state directory. */
const storeFileName = 'banksman.db';

/** Root's is the service's own: its user could not write one of root's. @throws {Fault} `store_…` with the place and the remedy */
export async function openStore(options: StoreOptions): Promise<Store> {
  const { store: url } = options.config;
  if (!url.startsWith('sqlite:')) return engineOf(url).open(url, (file) => expandPath(file, options.stateDir));
  const file = embeddedFile(options);
  if (options.looks === true && isForService(options.stateDir) && !existsSync(file)) return openMissing(file);
  requireOwners(file);
  const { storeWorker: worker } = options;
  return asOwnerOf(dirname(resolve(file)), async () =>
    worker === undefined ? openSqliteStore({ file, seal }) : openStoreInWorker({ worker, file }),
  );
}

/** As an earlier root may have left it. */
function requireOwners(file: string): void {
  const owner = ownerOf(dirname(resolve(file)));
  const found = lstatSync(file, { throwIfNoEntry: false });
  if (owner === undefined || found === undefined || found.uid === owner.uid) return;
  throw new Fault(
    'store_read_only',
    say`the store \`${file}\` belongs to another user than its folder, the service’s, who cannot write it`,
    {
      next: say`as root: \`chown ${owner.uid}:${owner.gid} ${file}*\``,
    },
  );
}

/** An empty one elsewhere, for as long as somebody looks. */
async function openMissing(file: string): Promise<Store> {
  const folder = await mkdtemp(join(tmpdir(), 'banksman-no-store-'));
  const store = await openSqliteStore({ file: join(folder, storeFileName), seal });
  const close = async () => {
    await store.close();
    await rm(folder, { recursive: true, force: true });
  };
  return { ...store, isMissing: true, location: file, close };
}

/** For who copies what is there. @throws {Fault} `store_missing` */
export async function openExistingStore(options: StoreOptions): Promise<Store> {
  const store = await openStore({ ...options, looks: true });
  if (store.isMissing !== true) return store;
  await store.close();
  throw new Fault('store_missing', missingWords(store), { audience: 'user', next: missingRemedy });
}

/** For people. */
export function missingWords({ location }: Pick<Store, 'location'>): Message {
  return say`there is no store at ${location}`;
}

export const missingRemedy = say`the service makes one when it starts; where there was one, put a backup back: \`banksman store restore FILE\``;

/** Where the embedded store is. */
export function embeddedFile({ config, stateDir }: StoreOptions): string {
  const named = config.store.slice('sqlite:'.length);
  return named === '' ? join(stateDir, storeFileName) : expandPath(named, stateDir);
}

/** Every file of the store's on this machine, absolute where the state directory is. */
export function storeFilesOf(options: StoreOptions): readonly string[] {
  const { config, stateDir } = options;
  const local = withSidecars(join(stateDir, storeFileName));
  if (config.store.startsWith('sqlite:')) return [...local, ...withSidecars(embeddedFile(options))];
  const named = engineOf(config.store).files(config.store);
  return [...local, ...named.map((file) => expandPath(file, stateDir))];
}

/** https://sqlite.org/tempfiles.html */
function withSidecars(file: string): readonly string[] {
  return ['', '-wal', '-shm', '-journal'].map((end) => `${file}${end}`);
}

/**
 * Counts what is on this machine's disk: the store's own ledger, or beside a shared one a local file. Where that cannot be made (a home that
 * cannot be written), only what needs it fails.
 */
export async function openLedger(
  store: Store,
  { stateDir }: StoreOptions,
): Promise<{ readonly ledger: PersonaLedger; close(): Promise<void> }> {
  if (store.personas !== undefined) return { ledger: store.personas, close: async () => undefined };
  try {
    const local = await asOwnerOf(stateDir, () => openSqliteStore({ file: join(stateDir, storeFileName), seal }));
    return { ledger: local.personas, close: () => local.close() };
  } catch (thrown) {
    return { ledger: failingLedger(thrown), close: async () => undefined };
  }
}

function failingLedger(thrown: unknown): PersonaLedger {
  const fail = async (): Promise<never> => Promise.reject(thrown);
  return { open: fail, find: fail, reserve: fail, settle: fail, recount: fail, list: fail, takeUnused: fail };
}

export type { WorkerStoreOptions } from './store-link.ts';

/** After a crash, how long until the worker is started again for those who listen, in ms. */
const restartMs = 1000;
const closeLimitMs = 3000;

/**
 * The embedded store behind a worker thread: the same interface, nothing of it on the caller's thread.
 * Opens the store on a thread of its own. A crash of the worker rejects the calls under way with `store_unavailable` (whether their change
 * was made is then unknown); the next call starts it again.
 * @throws {Fault} whatever `openSqliteStore` throws
 */
export async function openStoreInWorker(options: WorkerStoreOptions): Promise<LocalStore> {
  const listeners = new Set<() => void>();
  const ring = (): void => {
    for (const listener of [...listeners]) listener();
  };
  let closed: Promise<void> | undefined;
  let restart: NodeJS.Timeout | undefined;
  let link: Promise<StoreLink> | undefined;

  const connect = (): Promise<StoreLink> => {
    link ??= startStoreLink(options, { onChange: ring, onLost: lost }).catch((thrown: unknown) => {
      link = undefined;
      throw thrown;
    });
    return link;
  };
  function lost(): void {
    link = undefined;
    if (closed || listeners.size === 0) return;
    // Listeners make no calls while they wait, so nobody else would bring the change feed back. What happened meanwhile is unknown: ring.
    restart = setTimeout(() => void connect().then(ring, lost), restartMs).unref();
  }
  const call = async (name: StoreCallName, ...values: readonly unknown[]): Promise<unknown> => {
    if (closed) throw new Fault('store_closed', 'the store has been closed', { audience: 'bug' });
    return (await connect()).call(name, values);
  };
  await connect();
  return {
    // Sound: the worker answers a call with what the same method of the store behind it gave.
    ...portsOver(call as Call, (listener) => {
      const own = (): void => listener();
      listeners.add(own);
      return () => void listeners.delete(own);
    }),
    location: options.file,
    close: () => {
      clearTimeout(restart);
      listeners.clear();
      closed ??= link
        ? link.then(
            (open) => open.close(closeLimitMs),
            () => undefined,
          )
        : Promise.resolve();
      return closed;
    },
  };
}

type Call = <Name extends Exclude<StoreCallName, 'close'>>(
  name: Name,
  ...values: Parameters<StoreCalls[Name]>
) => Promise<Awaited<ReturnType<StoreCalls[Name]>>>;

function portsOver(call: Call, onChange: (listener: () => void) => () => void): Omit<LocalStore, 'location' | 'close'> {
  return {
    requests: {
      open: (draft) => call('requests.open', draft),
      get: (id) => call('requests.get', id),
      list: (query) => call('requests.list', query),
      countPending: () => call('requests.countPending'),
      countApproved: () => call('requests.countApproved'),
      identity: () => call('requests.identity'),
      advanceCounter: (id, counter) => call('requests.advanceCounter', id, counter),
      approve: (id, grant, answer) => call('requests.approve', id, grant, answer),
      deny: (id, decision) => call('requests.deny', id, decision),
      cancel: (id, by) => call('requests.cancel', id, by),
      revoke: (id, decision) => call('requests.revoke', id, decision),
      consume: (id, digest, by) => call('requests.consume', id, digest, by),
      noteWait: (id, by, forMs) => call('requests.noteWait', id, by, forMs),
      waitOf: (id) => call('requests.waitOf', id),
      onChange,
    },
    audit: {
      tree: {
        state: () => call('tree.state'),
        hashes: (level, from, count) => call('tree.hashes', level, from, count),
        newestOf: (count) => call('tree.newestOf', count),
        records: (from, count) => call('tree.records', from, count),
        find: (hash) => call('tree.find', hash),
        announceKey: (key) => call('tree.announceKey', key),
      },
      append: (draft) => call('audit.append', draft),
      appendAll: (drafts) => call('audit.appendAll', drafts),
      read: (after, limit) => call('audit.read', after, limit),
      ofRequest: (requestId, since) => call('audit.ofRequest', requestId, since),
      changesSince: (since, upTo) => call('audit.changesSince', since, upTo),
      attempts: () => call('audit.attempts'),
      endAttempt: (draft) => call('audit.endAttempt', draft),
      head: () => call('audit.head'),
    },
    security: { ...securityOver(call), onChange },
    codes: {
      put: (requestId, code, lifeMs) => call('codes.put', requestId, code, lifeMs),
      take: (requestId) => call('codes.take', requestId),
      putBack: (requestId, code, leftMs) => call('codes.putBack', requestId, code, leftMs),
    },
    personas: ledgerOver(call),
    care: { time: () => call('care.time'), trustClock: (by) => call('care.trustClock', by) },
  };
}

function ledgerOver(call: Call): LocalStore['personas'] {
  return {
    open: (agentId, directory) => call('personas.open', agentId, directory),
    find: (agentId) => call('personas.find', agentId),
    reserve: (account, file, limits) => call('personas.reserve', account, file, limits),
    settle: (id, written) => call('personas.settle', id, written),
    recount: (account, files, staleMs) => call('personas.recount', account, files, staleMs),
    list: () => call('personas.list'),
    takeUnused: (before) => call('personas.takeUnused', before),
  };
}

function securityOver(call: Call): Omit<LocalStore['security'], 'onChange'> {
  return {
    level: () => call('security.level'),
    setLevel: (setting) => call('security.setLevel', setting),
    rules: () => call('security.rules'),
    setRule: (setting) => call('security.setRule', setting),
    removeRule: (pattern, by) => call('security.removeRule', pattern, by),
    pause: () => call('security.pause'),
    setPause: (pause) => call('security.setPause', pause),
    liftPause: (lifted) => call('security.liftPause', lifted),
  };
}
