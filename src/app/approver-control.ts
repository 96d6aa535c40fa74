/** `banksman approvers`: whose keys count on this machine. Needs the store for the record of it, and no cluster. */
import { generateApproverKey, isSameKey, keyIdOf } from '#approval/keys';
import { type SealedKey, sealKey } from '#approval/sealed-key';
import type { ApproverKey, Signer } from '#kernel/answer';
import { Fault } from '#kernel/errors';
import type { JsonObject } from '#kernel/json';
import type { Store } from '#kernel/ports/store';
import { approverName, keyFolderOf, listKeyFiles, removeKeyFile, unlockKey, writeKeyFile } from './approver-key-file.ts';
import { addApprover, readApprovers, removeApprover } from './config-file.ts';
import { openStore, type StoreOptions } from './open-store.ts';

export interface ApproverOptions extends StoreOptions {
  /** Where keys are pinned, and beside which they lie: the machine's configuration file, or the one that was named. */
  readonly configFile: string;
  /** The machine's own, where `configFile` is another: whoever is pinned there counts, too. */
  readonly machineFile?: string;
}

export interface ApproverEntry {
  readonly name: string;
  readonly key: string;
  /** Short name of the key, as in a grant. */
  readonly keyId: string;
  /** `machine`: in the machine's file; `configuration`: only in the one that was named; null: nowhere, so it counts for nothing. */
  readonly pinned: 'machine' | 'configuration' | null;
  /** The file that pins it; absent where none does. */
  readonly pinnedIn?: string;
  /** Its private key lies on this machine, locked. */
  readonly local: boolean;
}

export interface NewApprover {
  readonly name: string;
  readonly passphrase: string;
  /** A pinned approver who vouches for the new one. Absent: the new key is pinned only where there is no other. */
  readonly voucher?: Signer;
}

export interface ApproverControl {
  list(): Promise<readonly ApproverEntry[]>;
  /** @returns the new entry; its `pinned` is null where others are pinned and nobody vouched. @throws {Fault} `bad_approver_name`, `approver_exists`, `needs_approver` */
  create(draft: NewApprover): Promise<ApproverEntry>;
  /** Unpins the key, and removes it from this machine where it lies here. @throws {Fault} `needs_approver` */
  revoke(entry: ApproverEntry, voucher: Signer | undefined): Promise<void>;
}

/** @throws {Fault} `store_…` */
export async function withApproverControl<T>(options: ApproverOptions, work: (control: ApproverControl) => Promise<T>): Promise<T> {
  const store = await openStore(options);
  try {
    return await work({
      list: () => listApprovers(options),
      create: (draft) => create(draft, options, store),
      revoke: (entry, voucher) => revoke({ entry, voucher }, options, store),
    });
  } finally {
    await store.close();
  }
}

/**
 * Locked keys that may sign from here: each lies beside a file that pins it, the one that was named or the machine's own.
 * SECURITY: keys pinned in a configuration that is given as text do not count, and those of a named file count only where the call runs with it.
 */
export async function localApprovers(files: readonly string[]): Promise<readonly SealedKey[]> {
  const found = await Promise.all(files.map(keysPinnedIn));
  const all = found.flat();
  return all.filter(({ name }, index) => all.findIndex((other) => other.name === name) === index);
}

async function keysPinnedIn(file: string): Promise<readonly SealedKey[]> {
  const pinned = await readApprovers(file);
  const { keys } = await listKeyFiles(keyFolderOf(file));
  return keys.filter((key) => isPinned(key.publicKey, pinned));
}

/** Signs as `user:NAME`; undefined where the passphrase is wrong. */
export const unlockApprover: (key: SealedKey, passphrase: string) => Promise<Signer | undefined> = unlockKey;

async function listApprovers({ configFile, machineFile = configFile, config }: ApproverOptions): Promise<readonly ApproverEntry[]> {
  const files = [...new Set([configFile, machineFile])];
  const local = (await Promise.all(files.map((file) => listKeyFiles(keyFolderOf(file))))).flatMap(({ keys }) => keys);
  const isLocal = (key: string) => local.some(({ publicKey }) => isSameKey(publicKey, key));
  const filed: ApproverEntry[] = [];
  for (const file of files) {
    const pinned = file === machineFile ? 'machine' : 'configuration';
    for (const key of await readApprovers(file))
      if (!isPinned(key.key, filed)) filed.push({ ...entryOf(key, pinned, isLocal(key.key)), pinnedIn: file });
  }
  const named = config.approvers.filter(({ key }) => !isPinned(key, filed));
  const unpinned = local.filter(({ publicKey }) => !isPinned(publicKey, [...filed, ...named]));
  return [
    ...filed,
    ...named.map((key) => entryOf(key, 'configuration', isLocal(key.key))),
    ...unpinned.map(({ name, publicKey }) => entryOf({ name, key: publicKey }, null, true)),
  ];
}

async function create({ name, passphrase, voucher }: NewApprover, options: ApproverOptions, store: Store): Promise<ApproverEntry> {
  approverName(name);
  const { configFile, machineFile = configFile } = options;
  const known = await listApprovers(options);
  if (known.some((entry) => entry.name === name))
    throw new Fault('approver_exists', `there is an approver named \`${name}\` already`, { audience: 'user', next: 'choose another name' });
  // Text that was named on the command line pins, too, for this one call; a file of its own starts with nobody.
  const pinned = known.filter((entry) => entry.pinned !== null && (entry.pinnedIn ?? configFile) === configFile);
  if (voucher !== undefined) await mustBePinned(voucher, options);
  const pair = generateApproverKey();
  const folder = keyFolderOf(configFile);
  await writeKeyFile(folder, await sealKey({ name, pair, createdAt: new Date().toISOString() }, passphrase));
  if (voucher === undefined && pinned.length > 0) return entryOf({ name, key: pair.publicKey }, null, true);
  try {
    await pin({ name, key: pair.publicKey }, voucher, options, store);
  } catch (thrown) {
    await removeKeyFile(folder, name);
    throw thrown;
  }
  const place = configFile === machineFile ? 'machine' : 'configuration';
  return { ...entryOf({ name, key: pair.publicKey }, place, true), pinnedIn: configFile };
}

/** Written down before it happens: a key that counts without a record of it would be worse than the reverse. */
async function pin(key: ApproverKey, voucher: Signer | undefined, { configFile }: ApproverOptions, store: Store): Promise<void> {
  const by: JsonObject = voucher === undefined ? { first: true } : { by: voucher.approver };
  await store.audit.append({ name: 'approver.trusted', attributes: { approver: key.name, key: key.key, via: 'cli', ...by } });
  await addApprover(configFile, key);
}

async function revoke(
  { entry, voucher }: { readonly entry: ApproverEntry; readonly voucher: Signer | undefined },
  options: ApproverOptions,
  store: Store,
): Promise<void> {
  if (entry.pinned !== null && entry.pinnedIn !== options.configFile)
    throw new Fault(
      'not_pinned_here',
      `\`${entry.name}\` is pinned in ${entry.pinnedIn ?? 'the configuration that was named'}, not in ${options.configFile}`,
      {
        audience: 'user',
        next:
          entry.pinnedIn === undefined
            ? 'take it out of `approvers` there'
            : `name that file with \`--config\`, or leave \`--config\` out for the machine’s own`,
      },
    );
  if (entry.pinned !== null) {
    await mustBePinned(voucher, options);
    const by = voucher?.approver ?? '';
    const attributes = { change: 'approver_revoked', approver: entry.name, key: entry.key, by, via: 'cli' };
    await store.audit.append({ name: 'policy.changed', attributes });
    await removeApprover(options.configFile, entry.key);
  }
  if (entry.local) await removeLocal(entry.key, options);
}

async function removeLocal(key: string, { configFile }: ApproverOptions): Promise<void> {
  const folder = keyFolderOf(configFile);
  const { keys } = await listKeyFiles(folder);
  for (const { name, publicKey } of keys) if (isSameKey(publicKey, key)) await removeKeyFile(folder, name);
}

async function mustBePinned(voucher: Signer | undefined, { configFile }: ApproverOptions): Promise<void> {
  if (voucher !== undefined && isPinned(voucher.publicKey, await readApprovers(configFile))) return;
  throw new Fault('needs_approver', `only an approver who is pinned in ${configFile} may do this`, { audience: 'user' });
}

function isPinned(key: string, pinned: readonly Pick<ApproverKey, 'key'>[]): boolean {
  return pinned.some((entry) => isSameKey(entry.key, key));
}

function entryOf({ name, key }: ApproverKey, pinned: ApproverEntry['pinned'], local: boolean): ApproverEntry {
  return { name, key, keyId: keyIdOf(key) ?? '', pinned, local };
}
