import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseConfig } from '#app/config/config';
import { generateApproverKey, signerFrom } from '#app/for-hosts';
import { exportAudit, verifyExport } from '#app/store/audit-export';
import { openStore } from '#app/store/open-store';

const pair = generateApproverKey();
const alice = signerFrom(pair.privateKey, 'user:alice');
const pins = [{ name: 'alice', key: pair.publicKey }];
const config = parseConfig({}, 'test');
let folder: string;
let plain: readonly string[];
let signed: readonly string[];
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'banksman-export-'));
  const store = await openStore({ config, stateDir: folder });
  // A line separator, which JSON text may hold as it is, and which some readers take for the end of a line.
  for (let n = 1; n <= 1_203; n += 1) await store.audit.append({ name: 'tool.finished', attributes: { n, text: 'one\u2028two' } });
  await store.close();
  plain = await exported();
  signed = await exported(true);
}, 60_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Its lines, without the line feeds. */
async function exported(sign = false): Promise<readonly string[]> {
  const lines: string[] = [];
  await exportAudit({ config, stateDir: folder }, async (line) => void lines.push(line.slice(0, -1)), sign ? alice : undefined);
  return lines;
}

function verdict(lines: readonly string[], trusted = pins) {
  const file = join(folder, 'export.jsonl');
  writeFileSync(file, lines.map((line) => `${line}\n`).join(''));
  return verifyExport(file, trusted);
}

function seal(lines: readonly string[]): Record<string, unknown> {
  return JSON.parse(lines.at(-1) ?? '') as Record<string, unknown>;
}

const without = (lines: readonly string[], index: number) => lines.filter((_, at) => at !== index);

describe('an export', () => {
  it('is every record and a seal, and checks by itself', async () => {
    expect(plain).toHaveLength(1_204);
    expect(seal(plain)).toMatchObject({ banksman_export: 1, records: 1_203, head: { sequence: 1_203 } });
    expect(await verdict(plain)).toMatchObject({ ok: true, records: 1_203, message: expect.stringContaining('nobody signed it') });
  });

  it('says who signed it, and whether that key means anything here', async () => {
    expect(await verdict(signed)).toMatchObject({ ok: true, signedBy: { approver: 'user:alice', key: pair.publicKey, trusted: true } });
    expect(await verdict(signed, [])).toMatchObject({ ok: true, signedBy: { trusted: false } });
  });

  it.each<[string, () => readonly string[]]>([
    ['a record was altered', () => plain.map((line, at) => (at === 600 ? line.replace('"n":601', '"n":602') : line))],
    ['a record was taken out', () => without(plain, 600)],
    ['the first was taken out', () => without(plain, 0)],
    ['the last was taken out', () => without(plain, 1_202)],
    ['two were swapped', () => plain.with(5, plain[6] ?? '').with(6, plain[5] ?? '')],
    ['one stands there twice', () => plain.toSpliced(5, 0, plain[5] ?? '')],
    ['its end was cut off', () => plain.slice(0, 900)],
    ['the seal counts the rest only', () => [...plain.slice(0, 900), JSON.stringify({ ...seal(plain), records: 900 })]],
    ['the seal is another’s', () => plain.with(1_203, JSON.stringify({ ...seal(plain), sha256: '0'.repeat(64) }))],
    ['a blank line was put in', () => plain.toSpliced(10, 0, '')],
    ['white space was put in', () => plain.with(3, ` ${plain[3]}`)],
    ['the seal has more in it', () => plain.with(1_203, JSON.stringify({ ...seal(plain), note: 1 }))],
    ['there is nothing', () => []],
    ['there is something else', () => ['hello', 'world']],
    ['the signature is of another seal', () => plain.with(1_203, JSON.stringify({ ...seal(plain), signature: seal(signed)['signature'] }))],
    [
      'the signer’s name was changed',
      () => signed.with(1_203, JSON.stringify({ ...seal(signed), exported_at: '2026-01-01T00:00:00.000Z' })),
    ],
  ])('is broken where %s', async (_, lines) => {
    expect(await verdict(lines())).toMatchObject({ ok: false });
  });

  it('names the record', async () => {
    expect(await verdict(plain.map((line, at) => (at === 600 ? line.replace('"n":601', '"n":602') : line)))).toMatchObject({ broken: 601 });
  });

  it('that is not there is no broken one', async () => {
    await expect(verifyExport(join(folder, 'none.jsonl'), pins)).rejects.toMatchObject({ code: 'cannot_read' });
  });

  it('of an empty trail is not whole', async () => {
    const empty = join(folder, 'empty');
    const lines: string[] = [];
    await exportAudit({ config, stateDir: empty }, async (line) => void lines.push(line), undefined);
    const file = join(folder, 'empty.jsonl');
    writeFileSync(file, lines.join(''));
    expect(readFileSync(file, 'utf8').split('\n')).toHaveLength(2);
    expect(await verifyExport(file, pins)).toMatchObject({ ok: false, message: expect.stringContaining('empty') });
  });
});
