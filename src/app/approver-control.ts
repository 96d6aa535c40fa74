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
  /** The machine's configuration file: where keys are pinned, and beside which they lie. */
  readonly configFile: string;
}

export interface ApproverEntry {
  readonly name: string;
  readonly key: string;
  /** Short name of the key, as in a grant. */
  readonly keyId: string;
  /** `machine`: in the machine's file; `configuration`: only in the one that was named; null: nowhere, so it counts for nothing. */
  readonly pinned: 'machine' | 'configuration' | null;
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
 * Locked keys that lie here and are pinned in the machine's own file, and so may sign from here.
 * SECURITY: keys pinned in a configuration that was named on the command line do not count: whoever calls can write one.
 */
export async function localApprovers(configFile: string): Promise<readonly SealedKey[]> {
  const pinned = await readApprovers(configFile);
  const { keys } = await listKeyFiles(keyFolderOf(configFile));
  return keys.filter((key) => isPinned(key.publicKey, pinned));
}

/** Signs as `user:NAME`; undefined where the passphrase is wrong. */
export const unlockApprover: (key: SealedKey, passphrase: string) => Promise<Signer | undefined> = unlockKey;

async function listApprovers({ configFile, config }: ApproverOptions): Promise<readonly ApproverEntry[]> {
  const machine = await readApprovers(configFile);
  const named = config.approvers.filter(({ key }) => !isPinned(key, machine));
  const { keys } = await listKeyFiles(keyFolderOf(configFile));
  const local = (key: string) => keys.some(({ publicKey }) => isSameKey(publicKey, key));
  const unpinned = keys.filter(({ publicKey }) => !isPinned(publicKey, [...machine, ...named]));
  return [
    ...machine.map(({ name, key }) => entryOf({ name, key }, 'machine', local(key))),
    ...named.map(({ name, key }) => entryOf({ name, key }, 'configuration', local(key))),
    ...unpinned.map(({ name, publicKey }) => entryOf({ name, key: publicKey }, null, true)),
  ];
}

async function create({ name, passphrase, voucher }: NewApprover, options: ApproverOptions, store: Store): Promise<ApproverEntry> {
  approverName(name);
  const known = await listApprovers(options);
  if (known.some((entry) => entry.name === name))
    throw new Fault('approver_exists', `there is an approver named \`${name}\` already`, { audience: 'user', next: 'choose another name' });
  const pinned = known.filter((entry) => entry.pinned !== null);
  if (voucher !== undefined) await mustBePinned(voucher, options);
  const pair = generateApproverKey();
  const folder = keyFolderOf(options.configFile);
  await writeKeyFile(folder, await sealKey({ name, pair, createdAt: new Date().toISOString() }, passphrase));
  if (voucher === undefined && pinned.length > 0) return entryOf({ name, key: pair.publicKey }, null, true);
  try {
    await pin({ name, key: pair.publicKey }, voucher, options, store);
  } catch (thrown) {
    await removeKeyFile(folder, name);
    throw thrown;
  }
  return entryOf({ name, key: pair.publicKey }, 'machine', true);
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
  if (entry.pinned === 'configuration')
    throw new Fault('not_pinned_here', `\`${entry.name}\` is pinned in the configuration that was named, not in ${options.configFile}`, {
      audience: 'user',
      next: 'take it out of `approvers` there',
    });
  if (entry.pinned === 'machine') {
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
  throw new Fault('needs_approver', 'only an approver who is pinned on this machine may do this', { audience: 'user' });
}

function isPinned(key: string, pinned: readonly ApproverKey[]): boolean {
  return pinned.some((entry) => isSameKey(entry.key, key));
}

function entryOf({ name, key }: ApproverKey, pinned: ApproverEntry['pinned'], local: boolean): ApproverEntry {
  return { name, key, keyId: keyIdOf(key) ?? '', pinned, local };
}
