/** The trail as people read it, and as JSON Lines with a last line that lets anybody check the rest without the store it came from. */

import { createHash, verify } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open as openFile } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import * as z from 'zod';
import { importPublicKey } from '#approval/keys';
import { checkpointFlaw, compareTrail } from '#audit/compare-trail';
import { rootOf } from '#audit/merkle';
import { verifyChain, verifyChains } from '#audit/verify-chain';
import { isChained, recordsOf, verifyTrail } from '#audit/verify-trail';
import { readerOf } from '#audit/verify-tree';
import type { AuditTrail, SeenPoint, SeenTrail } from '#kernel/app';
import type { ApproverKey, Signer } from '#kernel/approval/answer';
import type { AuditRecord, ChainVerdict } from '#kernel/audit-event';
import { Fault, reasonOf } from '#kernel/errors';
import { canonicalJson, isJsonObject, type JsonObject } from '#kernel/json';
import type { AuditLog, ChainAnchor, Checkpoint } from '#kernel/ports/audit-log';
import type { Store } from '#kernel/ports/store';
import { say } from '#kernel/text/message';
import { openDamagedTrail } from '#stores/sqlite/open-damaged-trail';
import type { Config } from '../config/config.ts';
import { checkpointsIn } from '../witness/witness.ts';
import { sendCheckpoints, type WitnessParts } from '../witness/witnesses.ts';
import { embeddedFile, openExistingStore, type StoreOptions } from './open-store.ts';
import { type LogKeyOptions, trailLog } from './trail-log.ts';

const hex = z.string().regex(/^[a-f0-9]{64}$/);
const signatureSchema = z.strictObject({ approver: z.string(), key: z.string(), value: z.string() });

/** The last line. */
const sealSchema = z.strictObject({
  banksman_export: z.literal(1),
  /** ISO 8601, UTC. */
  exported_at: z.iso.datetime(),
  records: z.number().int().min(0),
  /** Of every byte before this line. */
  sha256: hex,
  /** Where the one chain ends; null: it is empty, or there are several. */
  head: z.strictObject({ sequence: z.number().int().min(1), hash: hex }).nullable(),
  /** Of a store with a chain per writer: what may have been trimmed (ms since the epoch), and where each chain had come to. */
  chains: z
    .strictObject({
      kept_since: z.number(),
      anchors: z.array(z.strictObject({ chain: z.string(), sequence: z.number().int(), hash: hex, time: z.string() })),
    })
    .optional(),
  /** Ed25519, base64url, over the RFC 8785 canonical JSON of this line without it. */
  signature: signatureSchema.optional(),
});
export type ExportSeal = z.output<typeof sealSchema>;
type Open = Omit<ExportSeal, 'signature'>;

/**
 * Writes the whole trail. Records that are appended meanwhile are left out.
 * @param write one line, its line feed included
 * @throws {Fault} `store_…`
 */
export async function exportAudit(
  options: StoreOptions,
  write: (line: string) => Promise<void>,
  signer: Signer | undefined,
): Promise<ExportSeal> {
  const store = await openExistingStore(options);
  try {
    const { records, ends } = await reading(store.audit);
    const sum = createHash('sha256');
    let count = 0;
    for await (const record of records) {
      const line = `${JSON.stringify(record)}\n`;
      sum.update(line);
      await write(line);
      count += 1;
    }
    const open: Open = { banksman_export: 1, exported_at: new Date().toISOString(), records: count, sha256: sum.digest('hex'), ...ends };
    const seal: ExportSeal = signer === undefined ? open : { ...open, signature: await sign(open, signer) };
    await write(`${JSON.stringify(seal)}\n`);
    return seal;
  } finally {
    await store.close();
  }
}

/** Whether the signature is the named key's, and whether that key is one of `trusted`; undefined where there is none. */
function signatureState(seal: ExportSeal, trusted: readonly ApproverKey[]): 'trusted' | 'unknown_key' | 'wrong' | undefined {
  const { signature, ...open } = seal;
  if (signature === undefined) return undefined;
  const key = importPublicKey(signature.key);
  if (key === undefined || !verify(null, messageOf(open), key, Buffer.from(signature.value, 'base64url'))) return 'wrong';
  return trusted.some((pinned) => pinned.key === signature.key) ? 'trusted' : 'unknown_key';
}

async function reading(
  audit: AuditLog,
): Promise<{ readonly records: AsyncIterable<AuditRecord> | Iterable<AuditRecord>; readonly ends: Pick<Open, 'head' | 'chains'> }> {
  if (isChained(audit)) {
    const { records, keptSince, anchors } = await audit.readChains();
    const points = anchors.map(({ chain, sequence, hash, time }) => ({ chain, sequence, hash, time }));
    return { records, ends: { head: null, chains: { kept_since: keptSince, anchors: points } } };
  }
  const head = await audit.head();
  const ends = { head: head === undefined ? null : { sequence: head.sequence, hash: head.hash } };
  return { records: upTo(head?.sequence ?? 0, recordsOf(audit)), ends };
}

async function* upTo(last: number, records: AsyncIterable<AuditRecord>): AsyncGenerator<AuditRecord> {
  for await (const record of records) {
    if (record.sequence > last) return;
    yield record;
  }
}

async function sign(open: Open, signer: Signer): Promise<z.output<typeof signatureSchema>> {
  const value = Buffer.from(await signer.sign(messageOf(open))).toString('base64url');
  return { approver: signer.approver, key: signer.publicKey, value };
}

function messageOf(open: Open): Uint8Array {
  return Buffer.from(canonicalJson(open as unknown as JsonObject));
}

/** Checks an exported trail by itself, on any machine. */
export interface ExportVerdict extends ChainVerdict {
  /** Who signed the export, where somebody did and the signature fits. */
  readonly signedBy?: { readonly approver: string; readonly key: string; readonly trusted: boolean };
}

/** @param trusted keys whose signature means something here. @throws {Fault} `cannot_read` */
export async function verifyExport(file: string, trusted: readonly ApproverKey[]): Promise<ExportVerdict> {
  try {
    const { seal, sha256 } = await lookThrough(file);
    if (seal === undefined) return broken('its last line is not the seal of an export: its end was cut off, or it is no export');
    const state = signatureState(seal, trusted);
    if (state === 'wrong') return broken('its signature does not fit: its last line was altered');
    const verdict = await chainVerdict(file, seal);
    if (!verdict.ok) return verdict;
    if (verdict.records !== seal.records || sha256 !== seal.sha256) return broken('it was altered after it was written');
    const { signature } = seal;
    if (signature === undefined) return { ...verdict, message: `${verdict.message}; nobody signed it, so whoever had it could rewrite it` };
    return { ...verdict, signedBy: { approver: signature.approver, key: signature.key, trusted: state === 'trusted' } };
  } catch (thrown) {
    if (thrown instanceof NoRecord) return broken(thrown.message);
    throw new Fault('cannot_read', say`${file}: cannot be read: ${reasonOf(thrown)}`, { audience: 'user', cause: thrown });
  }
}

/**
 * What a checkpoint (its text, or a file that holds one) or an export saw of its trail: where each chain had come to.
 * @throws {Fault} `cannot_read`, `bad_export`, `bad_checkpoint`
 */
export async function seenBefore(place: string, trusted: readonly ApproverKey[]): Promise<SeenTrail> {
  const checkpoints = await checkpointsAt(place);
  return checkpoints === undefined ? seenInExport(place, trusted) : { points: [], chains: [], checkpoints };
}

/** So many of a list are compared: half of them the newest, and of those before every so manieth. */
const mostCompared = 2_000;

/** All of a list, as a witness keeps it; undefined for an export, which begins with a record. */
async function checkpointsAt(place: string): Promise<readonly Checkpoint[] | undefined> {
  const text = place.includes('\n') ? place : await listIn(place);
  if (text === undefined) return undefined;
  const listed = checkpointsIn(text);
  if (listed.length > 0) return thinned(listed);
  throw new Fault('bad_checkpoint', 'this is neither a checkpoint nor an export', {
    audience: 'user',
    next: 'name what `banksman audit checkpoint` or `banksman audit export` wrote',
  });
}

function thinned(listed: readonly Checkpoint[]): readonly Checkpoint[] {
  const newest = listed.slice(-mostCompared / 2);
  const older = listed.slice(0, -mostCompared / 2);
  const step = Math.max(1, Math.ceil(older.length / (mostCompared / 2)));
  return [...older.filter((_one, at) => at % step === 0), ...newest];
}

/** undefined for an export, and for what cannot be read, which is said where it is read as one. */
async function listIn(file: string): Promise<string | undefined> {
  try {
    const handle = await openFile(file);
    try {
      const { bytesRead, buffer } = await handle.read({ buffer: Buffer.alloc(1), position: 0 });
      if (bytesRead === 0 || buffer.toString() === '{') return undefined;
      return await handle.readFile('utf8');
    } finally {
      await handle.close();
    }
  } catch {
    return undefined;
  }
}

async function seenInExport(file: string, trusted: readonly ApproverKey[]): Promise<SeenTrail> {
  const verdict = await verifyExport(file, trusted);
  if (!verdict.ok) throw badExport(file, verdict.message);
  const { seal } = await lookThrough(file);
  if (seal === undefined) throw badExport(file, 'it changed while it was read');
  if (seal.chains === undefined) return { points: seal.head === null ? [] : [seal.head], chains: [] };
  const last = new Map<string, ChainAnchor>();
  for await (const { chain = '', sequence, hash, time } of recordsIn(file, seal.records)) last.set(chain, { chain, sequence, hash, time });
  return { points: [], chains: [...last.values()] };
}

function badExport(file: string, why: string): Fault {
  return new Fault('bad_export', say`${file}: ${why}`, { audience: 'user', next: 'name a whole export of this trail' });
}

class NoRecord extends Error {}

/** The seal comes last, and checking the records needs it first: they are read twice rather than kept. */
async function lookThrough(file: string): Promise<{ readonly seal: ExportSeal | undefined; readonly sha256: string }> {
  const sum = createHash('sha256');
  let last: string | undefined;
  for await (const line of linesOf(createReadStream(file))) {
    if (last !== undefined) sum.update(`${last}\n`);
    last = line;
  }
  return { seal: last === undefined ? undefined : sealSchema.safeParse(parse(last)).data, sha256: sum.digest('hex') };
}

function chainVerdict(file: string, { head, chains, records }: ExportSeal): Promise<ChainVerdict> {
  const read = recordsIn(file, records);
  if (chains !== undefined) return verifyChains({ records: read, keptSince: chains.kept_since, anchors: chains.anchors });
  return verifyChain(read, { anchors: head === null ? [] : [head] });
}

/** All lines but the last. */
async function* recordsIn(file: string, count: number): AsyncGenerator<AuditRecord> {
  let last: string | undefined;
  let number = 0;
  for await (const line of linesOf(createReadStream(file))) {
    if (last !== undefined) yield recordOf(last, number);
    last = line;
    number += 1;
  }
  if (number - 1 !== count) throw new NoRecord(`it holds ${number - 1} records, and its last line says ${count}`);
}

function recordOf(line: string, number: number): AuditRecord {
  const value = parse(line);
  // Its fields are checked by the hash: what does not fit is an altered record.
  if (isJsonObject(value)) return value as unknown as AuditRecord;
  throw new NoRecord(`line ${number} is no record`);
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

function broken(message: string): ExportVerdict {
  return { ok: false, records: 0, message };
}

/** Lines end at line feeds only: `node:readline` also ends them at U+2028, which JSON text may hold as it is. */
export async function* linesOf(input: Readable): AsyncGenerator<string> {
  let rest = '';
  for await (const chunk of input.setEncoding('utf8') as AsyncIterable<string>) {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
  if (rest !== '') yield rest;
}

/** `settle` writes what waits, so that a person sees what has been done so far. */
export function auditTrail(
  { audit }: Pick<Store, 'audit'>,
  settle: () => Promise<void>,
  options: LogKeyOptions & Omit<WitnessParts, 'witnesses' | 'audit' | 'checkpoint'> & { readonly config: Pick<Config, 'witnesses'> },
): AuditTrail {
  const log = trailLog(audit, options);
  return {
    checkpoint: () => settle().then(log.checkpoint),
    witness: async () => {
      await settle();
      return sendCheckpoints({ ...options, ...log, audit, witnesses: options.config.witnesses ?? [] });
    },
    prove: (sequence) => settle().then(() => log.prove(sequence)),
    proveSince: (seen) => settle().then(() => log.proveSince(seen)),
    tail: async (count) => {
      await settle();
      const head = await audit.head();
      return head === undefined ? [] : audit.read(Math.max(0, head.sequence - count), count);
    },
    verify: async (seen) => {
      await settle();
      return verifySeen(audit, seen);
    },
    compare: async (seen) => {
      await settle();
      return compareTrail(audit, seen);
    },
    head: () => headOf(audit),
    continues: async ({ sequence, hash, checkpoint }) => {
      if (checkpoint !== undefined && audit.tree !== undefined && (await checkpointFlaw(audit.tree, checkpoint)) !== undefined)
        return false;
      const [record] = await audit.read(sequence - 1, 1);
      return record !== undefined && (record.sequence > sequence || record.hash === hash);
    },
  };
}

async function verifySeen(audit: AuditLog, seen: SeenPoint | undefined): Promise<ChainVerdict> {
  const verdict = await verifyTrail(audit, seen === undefined ? [] : [seen]);
  if (!verdict.ok || seen?.checkpoint === undefined || audit.tree === undefined) return verdict;
  const message = await checkpointFlaw(audit.tree, seen.checkpoint);
  return message === undefined ? verdict : { ...verdict, ok: false, message };
}

async function headOf(audit: AuditLog): Promise<SeenPoint | undefined> {
  const { tree } = audit;
  if (isChained(audit)) return undefined;
  if (tree === undefined) return audit.head();
  const { origin, size, head } = await tree.state();
  // Where the tree has lost hashes, `verify` says so; the chain goes on being watched.
  const root = await rootOf(readerOf(tree), size).catch(() => undefined);
  return head && { ...head, ...(root === undefined ? {} : { checkpoint: { origin, size, root: root.toString('base64') } }) };
}

/**
 * The same of an embedded store that does not open because its file is damaged: what of it can still be read. undefined for a shared store.
 * @throws {Fault} `store_corrupt` where not even the end of the trail can be found
 */
export async function verifyDamaged(options: StoreOptions): Promise<ChainVerdict | undefined> {
  if (!options.config.store.startsWith('sqlite:')) return undefined;
  const file = embeddedFile(options);
  const { audit, damage, close } = await openDamagedTrail(file);
  try {
    const verdict = await verifyTrail(audit);
    const where = damage === undefined ? '' : `; the file is damaged in ${damage}`;
    return { ...verdict, ok: false, message: `${verdict.message}${where} (${file}; it was left as it is)` };
  } finally {
    close();
  }
}
