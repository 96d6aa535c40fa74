/** The trail as static files, read back as https://c2sp.org/tlog-tiles says. */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, it } from 'vitest';
import { parseConfig } from '#app/config/config';
import { writeTiles } from '#app/store/trail-tiles';
import { openTestStore, temporaryFolder } from '../stores/store-fixtures.ts';

const sha256 = (...parts: readonly Uint8Array[]): Buffer => createHash('sha256').update(Buffer.concat(parts)).digest();

/** RFC 6962 §2.1, over leaf hashes. */
function rootOf(leaves: readonly Buffer[]): Buffer {
  const [only] = leaves;
  if (leaves.length === 1 && only !== undefined) return only;
  let split = 1;
  while (split * 2 < leaves.length) split *= 2;
  return sha256(Buffer.of(1), rootOf(leaves.slice(0, split)), rootOf(leaves.slice(split)));
}

const hashesIn = (bytes: Buffer): readonly Buffer[] =>
  Array.from({ length: bytes.length / 32 }, (_, at) => bytes.subarray(32 * at, 32 * at + 32));

function entriesIn(bytes: Buffer): readonly Buffer[] {
  const entries: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += 2 + bytes.readUInt16BE(at))
    entries.push(bytes.subarray(at + 2, at + 2 + bytes.readUInt16BE(at)));
  return entries;
}

async function bench() {
  const stateDir = temporaryFolder();
  const folder = join(temporaryFolder(), 'tiles');
  const write = async (count: number) => {
    const store = await openTestStore({ file: join(stateDir, 'banksman.db') });
    for (let index = 0; index < count; index += 1) await store.audit.append({ name: 'tool.finished', attributes: { index } });
    await store.close();
  };
  /** SQL without the schema's rules. */
  const change = (sql: string) => {
    const raw = new DatabaseSync(join(stateDir, 'banksman.db'));
    for (const { name } of raw.prepare("SELECT name FROM sqlite_schema WHERE type = 'trigger'").all()) raw.exec(`DROP TRIGGER ${name}`);
    raw.exec(sql);
    raw.close();
  };
  return { folder, write, change, tiles: () => writeTiles({ config: parseConfig({}, 'test'), stateDir }, folder) };
}

it('gives the root of its checkpoint by leaves, by entries and by the level above', async () => {
  const { folder, write, tiles } = await bench();
  await write(700);
  const { checkpoint } = await tiles();
  const { size } = checkpoint;
  const partial = size - 512;
  const read = (path: string) => readFileSync(join(folder, path));
  const names = ['000', '001', `002.p/${partial}`];
  const leaves = names.flatMap((name) => hashesIn(read(`tile/0/${name}`)));
  const entries = names.flatMap((name) => entriesIn(read(`tile/entries/${name}`)));
  const [origin, count, root] = read('checkpoint').toString('utf8').split('\n');
  expect([origin, count, leaves.length]).toEqual([checkpoint.origin, String(size), size]);
  expect(rootOf(leaves).toString('base64')).toBe(root);
  expect(rootOf(entries.map((entry) => sha256(Buffer.of(0), entry))).toString('base64')).toBe(root);
  expect(hashesIn(read('tile/1/000.p/2'))).toEqual([rootOf(leaves.slice(0, 256)), rootOf(leaves.slice(256, 512))]);
  expect(existsSync(join(folder, 'tile/2'))).toBe(false);
  expect(JSON.parse(String(entries[0]))).toMatchObject({ sequence: 1 });
  expect(statSync(join(folder, 'tile/entries/000')).mode & 0o777).toBe(0o600);
});

it('is added to, and what is there and differs is said and left', async () => {
  const { folder, write, tiles } = await bench();
  await write(200);
  const { checkpoint: before } = await tiles();
  await write(300);
  const { checkpoint: after } = await tiles();
  expect(after.size).toBe(before.size + 300);
  expect(existsSync(join(folder, `tile/0/000.p/${before.size}`))).toBe(true);
  const whole = join(folder, 'tile/0/000');
  const bytes = readFileSync(whole);
  writeFileSync(whole, Buffer.concat([Buffer.of((bytes[0] ?? 0) ^ 1), bytes.subarray(1)]));
  await expect(tiles()).rejects.toMatchObject({ code: 'not_continued' });
});

it('lacks entries of records that have left, and none of the hashes', async () => {
  const { folder, write, change, tiles } = await bench();
  await write(300);
  // The log's key is in the trail from now on: nothing more is written once the rules are gone.
  await tiles();
  rmSync(folder, { recursive: true });
  change('DELETE FROM audit WHERE sequence <= 40');
  expect((await tiles()).bundles).toEqual({ written: 1, lacking: 1 });
  expect(existsSync(join(folder, 'tile/entries/000'))).toBe(false);
  expect(hashesIn(readFileSync(join(folder, 'tile/0/000')))).toHaveLength(256);
});

it('of a trail whose hashes are not those of its records is not written as whole', async () => {
  const { folder, write, change, tiles } = await bench();
  await write(300);
  change('UPDATE audit_tree SET hash = zeroblob(32) WHERE level = 0 AND position = 100');
  await expect(tiles()).rejects.toMatchObject({ code: 'audit_broken' });
  expect(existsSync(join(folder, 'checkpoint'))).toBe(false);
});
