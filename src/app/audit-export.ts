/** The trail as JSON Lines, with a last line that lets anybody check the rest without the store it came from. */
import { createHash, verify } from 'node:crypto';
import * as z from 'zod';
import { importPublicKey } from '#approval/keys';
import { isChained, recordsOf } from '#audit/verify-trail';
import type { ApproverKey, Signer } from '#kernel/answer';
import type { AuditRecord } from '#kernel/audit-event';
import { canonicalJson, type JsonObject } from '#kernel/json';
import type { AuditLog } from '#kernel/ports/audit-log';
import { openStore, type StoreOptions } from './open-store.ts';

const hex = z.string().regex(/^[a-f0-9]{64}$/);
const signatureSchema = z.strictObject({ approver: z.string(), key: z.string(), value: z.string() });

/** The last line. */
export const sealSchema = z.strictObject({
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
  const store = await openStore(options);
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
export function signatureState(seal: ExportSeal, trusted: readonly ApproverKey[]): 'trusted' | 'unknown_key' | 'wrong' | undefined {
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
