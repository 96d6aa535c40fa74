/** `banksman approvers`: whose keys count on this machine. Needs the store for the record of it, and no cluster. */

import { personOf } from '#approval/grant';
import { generateApproverKey, isSameKey, keyIdOf, type SealedKey, sealKey, signerFrom } from '#approval/keys';
import { isPageOrigin, passkeyFingerprint } from '#approval/passkey';
import { isForService } from '#files/folder-owner';
import type { ApproverKey, Signer } from '#kernel/approval/answer';
import type { Enrolment } from '#kernel/approval/passkey';
import { Fault } from '#kernel/errors';
import type { JsonObject } from '#kernel/json';
import type { Store } from '#kernel/ports/store';
import { say } from '#kernel/text/message';
import { agreedPins, readAgreement } from '../config/agreement.ts';
import { recordAgreement } from '../config/config-agreement.ts';
import { addApprover, readApprovers, removeApprover } from '../config/config-file.ts';
import { openStore, type StoreOptions } from '../store/open-store.ts';
import { approverName, keyFolderOf, listKeyFiles, removeKeyFile, unlockKey, writeKeyFile } from './approver-key-file.ts';
import { enrolmentLifeMs, openEnrolment } from './enrolments.ts';

export interface ApproverOptions extends StoreOptions {
  /** Where keys are pinned, and beside which they lie: the machine's configuration file, or the one that was named. */
  readonly configFile: string;
  /** The machine's own, where `configFile` is another: whoever is pinned there counts, too. */
  readonly machineFile?: string;
}

export interface ApproverEntry extends ApproverKey {
  /** Short name of the key, as in a grant; of a passkey its fingerprint. */
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

export interface NewPasskey extends Enrolment {
  /** Of the page that it is made on. */
  readonly origin: string;
  readonly voucher?: Signer;
  /** How long the link is good, where that is not as always. */
  readonly lifeMs?: number;
  readonly signal: AbortSignal;
  /** The address to open, good until then (ms since the epoch). */
  onLink(address: string, expiresAt: number): void;
  /** Whether the page shows this fingerprint, too. */
  confirm(fingerprint: string): Promise<boolean>;
}

export interface ApproverControl {
  list(): Promise<readonly ApproverEntry[]>;
  /** @returns the new entry; its `pinned` is null where others are pinned and nobody vouched. @throws {Fault} `bad_approver_name`, `approver_exists`, `needs_approver` */
  create(draft: NewApprover): Promise<ApproverEntry>;
  /**
   * Waits for the page. @returns as `create`; undefined: nobody opened the link in time.
   * @throws {Fault} `bad_approver_name`, `approver_exists`, `needs_approver`, `not_confirmed`
   */
  enroll(draft: NewPasskey): Promise<ApproverEntry | undefined>;
  /** Whether nobody has to vouch: root, for a service that runs as another user. */
  readonly isRoots: boolean;
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
      enroll: (draft) => enroll(draft, options, store),
      isRoots: isForService(options.stateDir),
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
  const pinned = await countingPins(file);
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
    for (const key of await countingPins(file))
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

/** The name is free, and who vouches may. @returns whether the new key is to be pinned, and not only made */
async function mayPin({ name, voucher }: Pick<NewApprover, 'name' | 'voucher'>, options: ApproverOptions): Promise<boolean> {
  approverName(name);
  const known = await listApprovers(options);
  if (known.some((entry) => entry.name === name))
    throw new Fault('approver_exists', say`there is an approver named \`${name}\` already`, {
      audience: 'user',
      next: 'choose another name',
    });
  if (voucher !== undefined) await mustBePinned(voucher, options);
  const { configFile } = options;
  // Text that was named on the command line pins, too, for this one call; a file of its own starts with nobody.
  const isFirst = !known.some((entry) => entry.pinned !== null && (entry.pinnedIn ?? configFile) === configFile);
  return voucher !== undefined || isFirst || isForService(options.stateDir);
}

async function create({ name, passphrase, voucher }: NewApprover, options: ApproverOptions, store: Store): Promise<ApproverEntry> {
  const { configFile } = options;
  const isToPin = await mayPin({ name, ...(voucher === undefined ? {} : { voucher }) }, options);
  const pair = generateApproverKey();
  const folder = keyFolderOf(configFile);
  await writeKeyFile(folder, await sealKey({ name, pair, createdAt: new Date().toISOString() }, passphrase));
  const key: ApproverKey = { name, key: pair.publicKey, kind: 'terminal' };
  if (!isToPin) return entryOf(key, null, true);
  try {
    await pin(key, voucher ?? signerFrom(pair.privateKey, `user:${name}`), options, store);
  } catch (thrown) {
    await removeKeyFile(folder, name);
    throw thrown;
  }
  return pinnedEntry(key, options, true);
}

function pinnedEntry(key: ApproverKey, { configFile, machineFile = configFile }: ApproverOptions, isLocal: boolean): ApproverEntry {
  const place = configFile === machineFile ? 'machine' : 'configuration';
  return { ...entryOf(key, place, isLocal), pinnedIn: configFile };
}

/** The page's answer pins nothing: a link that leaked makes another fingerprint than the one that its owner sees. */
async function enroll(draft: NewPasskey, options: ApproverOptions, store: Store): Promise<ApproverEntry | undefined> {
  const { name, person, display, origin, voucher, lifeMs = enrolmentLifeMs, signal } = draft;
  await mayPin(draft, options);
  if (!isPageOrigin(origin))
    throw new Fault('bad_origin', say`\`${origin}\` is no place for passkeys`, {
      audience: 'user',
      next: 'use the page’s https name, or `http://localhost` with its port',
    });
  const known = (await listApprovers(options)).flatMap(({ passkey }) => (passkey?.origin === origin ? [passkey.id] : []));
  const enrolment = await openEnrolment(options.stateDir, { name, person, display, origin, known, lifeMs });
  try {
    draft.onLink(`${origin}/enrol#${enrolment.link}`, enrolment.expiresAt);
    const key = await enrolment.answer(signal);
    if (key === undefined) return undefined;
    if (!(await draft.confirm(passkeyFingerprint(key))))
      throw new Fault('not_confirmed', 'nothing is pinned: the two sides do not show the same', {
        audience: 'user',
        next: 'somebody else may have the link: keep it to yourself, and start again',
      });
    // Somebody else may have become the first meanwhile.
    if (!(await mayPin(draft, options))) return entryOf(key, null, false);
    await pin(key, voucher, options, store);
    return pinnedEntry(key, options, false);
  } finally {
    await enrolment.close();
  }
}

/** Written down before it happens: a key that counts without a record of it would be worse than the reverse. */
/** @param signer absent: a passkey that is the first, or root's own doing */
async function pin(key: ApproverKey, signer: Signer | undefined, options: ApproverOptions, store: Store): Promise<void> {
  const alone: JsonObject = isForService(options.stateDir) ? { by: 'root' } : { first: true };
  const by = signer === undefined || isSameKey(key.key, signer.publicKey) ? alone : { by: signer.approver };
  const { display, origin } = key.passkey ?? {};
  const passkey: JsonObject = display === undefined || origin === undefined ? {} : { person: personOf(key), display, origin };
  await store.audit.append({ name: 'approver.trusted', attributes: { approver: key.name, key: key.key, via: 'cli', ...by, ...passkey } });
  await addApprover(options.configFile, key);
  if (signer !== undefined) await agreeToPins([key], signer, options, store);
}

/** A named file is its owner's affair; what counts on this machine has to be agreed to. Pins that waited go on waiting. */
async function agreeToPins(
  added: readonly ApproverKey[],
  signer: Signer,
  { configFile, machineFile = configFile, stateDir }: ApproverOptions,
  store: Store,
): Promise<void> {
  const agreement = readAgreement(configFile);
  // Root's own file, for a service, needs none.
  if (isForService(stateDir) || configFile !== machineFile || (added.length === 0 && agreement === undefined)) return;
  const pins = await readApprovers(configFile);
  const approvers = pins.filter((entry) => isPinned(entry.key, added) || agreedPins([entry], agreement).length > 0);
  await recordAgreement(configFile, { approvers }, signer, store.audit);
}

async function revoke(
  { entry, voucher }: { readonly entry: ApproverEntry; readonly voucher: Signer | undefined },
  options: ApproverOptions,
  store: Store,
): Promise<void> {
  if (entry.pinned !== null && entry.pinnedIn !== options.configFile)
    throw new Fault(
      'not_pinned_here',
      say`\`${entry.name}\` is pinned in ${entry.pinnedIn ?? 'the configuration that was named'}, not in ${options.configFile}`,
      {
        audience: 'user',
        next:
          entry.pinnedIn === undefined
            ? 'take it out of `approvers` there'
            : `name that file with \`--config\`, or leave \`--config\` out for the machine’s own`,
      },
    );
  if (entry.pinned !== null) {
    const signer = await mustBePinned(voucher, options);
    const by = signer?.approver ?? 'root';
    const attributes = { change: 'approver_revoked', approver: entry.name, key: entry.key, by, via: 'cli' };
    await store.audit.append({ name: 'policy.changed', attributes });
    await removeApprover(options.configFile, entry.key);
    // Else whoever puts the pin back has an approver whom somebody agreed to once.
    if (signer !== undefined) await agreeToPins([], signer, options, store);
  }
  if (entry.local) await removeLocal(entry.key, options);
}

async function removeLocal(key: string, { configFile }: ApproverOptions): Promise<void> {
  const folder = keyFolderOf(configFile);
  const { keys } = await listKeyFiles(folder);
  for (const { name, publicKey } of keys) if (isSameKey(publicKey, key)) await removeKeyFile(folder, name);
}

/** undefined: root, for a service, needs nobody. */
async function mustBePinned(voucher: Signer | undefined, { configFile, stateDir }: ApproverOptions): Promise<Signer | undefined> {
  if (voucher === undefined && isForService(stateDir)) return undefined;
  if (voucher !== undefined && isPinned(voucher.publicKey, await countingPins(configFile))) return voucher;
  throw new Fault('needs_approver', say`only an approver who is pinned in ${configFile} may do this`, { audience: 'user' });
}

/** SECURITY: a pin that a program wrote into the file counts once somebody agreed to it. Beside a named file there is no agreement: all count. */
async function countingPins(file: string): Promise<readonly ApproverKey[]> {
  return agreedPins(await readApprovers(file), readAgreement(file));
}

function isPinned(key: string, pinned: readonly Pick<ApproverKey, 'key'>[]): boolean {
  return pinned.some((entry) => isSameKey(entry.key, key));
}

function entryOf(key: ApproverKey, pinned: ApproverEntry['pinned'], local: boolean): ApproverEntry {
  return { ...key, keyId: key.passkey === undefined ? (keyIdOf(key.key) ?? '') : passkeyFingerprint(key), pinned, local };
}
