/** Checks an exported trail by itself, on any machine. */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import type { SeenTrail } from '#audit/compare-trail';
import { type ChainVerdict, verifyChain } from '#audit/verify-chain';
import { verifyChains } from '#audit/verify-chains';
import type { ApproverKey } from '#kernel/answer';
import type { AuditRecord } from '#kernel/audit-event';
import { Fault, reasonOf } from '#kernel/errors';
import { isJsonObject } from '#kernel/json';
import type { ChainAnchor } from '#kernel/ports/chained-audit-log';
import { type ExportSeal, sealSchema, signatureState } from './audit-export.ts';
import { linesOf } from './lines-of.ts';

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
    throw new Fault('cannot_read', `${file}: cannot be read: ${reasonOf(thrown)}`, { audience: 'user', cause: thrown });
  }
}

/**
 * What an export saw of its trail: where each chain had come to.
 * @throws {Fault} `cannot_read`, `bad_export`
 */
export async function seenInExport(file: string, trusted: readonly ApproverKey[]): Promise<SeenTrail> {
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
  return new Fault('bad_export', `${file}: ${why}`, { audience: 'user', next: 'name a whole export of this trail' });
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
