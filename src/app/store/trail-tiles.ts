/** The trail as static files that any HTTP server or disk can hold: https://c2sp.org/tlog-tiles. */

import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { leafHash, tileHeight, tileWidth } from '#audit/merkle';
import { readerOf } from '#audit/verify-tree';
import { Fault } from '#kernel/errors';
import { canonicalJson, type JsonObject } from '#kernel/json';
import type { Checkpoint, TrailTree } from '#kernel/ports/audit-log';
import { say } from '#kernel/text/message';
import { hasErrorCode } from '../config/private-file.ts';
import { openExistingStore, type StoreOptions } from './open-store.ts';
import { trailLog } from './trail-log.ts';

/** Of an entry: its length is written in two bytes. */
const mostEntry = 0xffff;

export interface TilesWritten {
  readonly checkpoint: Checkpoint;
  readonly tiles: number;
  /** Tiles of leaves that have left the store; the hashes above them are written. */
  readonly tilesLacking: number;
  /** Bundles of entries; those that are lacking had a record that has left the trail, or one too long for the format. */
  readonly bundles: { readonly written: number; readonly lacking: number };
}

/**
 * Writes checkpoint, tiles and bundles of entries, for this user alone. What is there already stays, and has to be the same: so a folder that
 * is written again shows a trail that was rewritten.
 * @throws {Fault} `no_tree`, `not_continued`, `audit_broken`
 */
export async function writeTiles(options: StoreOptions, folder: string): Promise<TilesWritten> {
  const store = await openExistingStore(options);
  try {
    const { checkpoint, note } = await trailLog(store.audit, options).checkpoint();
    const { tree } = store.audit;
    if (tree === undefined) throw new Fault('no_tree', 'this trail has no tree');
    const { written: tiles, lacking: tilesLacking } = await writeHashes(tree, checkpoint.size, folder);
    const bundles = await writeEntries(tree, { size: checkpoint.size, folder });
    // Last: what a checkpoint needs is there before it.
    await writeFile(join(folder, 'checkpoint'), note, { mode: 0o600 });
    return { checkpoint, tiles, tilesLacking, bundles };
  } finally {
    await store.close();
  }
}

export async function writeHashes(
  tree: TrailTree,
  size: number,
  folder: string,
): Promise<{ readonly written: number; readonly lacking: number }> {
  const read = readerOf(tree);
  let [written, lacking] = [0, 0];
  for (let [level, count] = [0, size]; count > 0; [level, count] = [level + 1, Math.floor(count / tileWidth)])
    for (const { number, width } of tilesOf(count)) {
      const hashes = await read(level * tileHeight, number * tileWidth, width);
      if (hashes.length === width) {
        await keep(join(folder, 'tile', String(level), tilePath(number, width)), Buffer.concat(hashes));
        written += 1;
      } else if (level === 0 && number * tileWidth + width <= (await tree.state()).kept) lacking += 1;
      else throw new Fault('audit_broken', say`the tree lacks hashes of level ${level * tileHeight}`);
    }
  return { written, lacking };
}

async function writeEntries(
  tree: TrailTree,
  { size, folder }: { readonly size: number; readonly folder: string },
): Promise<TilesWritten['bundles']> {
  const { first } = await tree.state();
  let [written, lacking] = [0, 0];
  for (const { number, width } of tilesOf(size)) {
    const from = first + number * tileWidth;
    const [found, leaves] = await Promise.all([tree.records(number * tileWidth, width), tree.hashes(0, number * tileWidth, width)]);
    const records = found.filter((record) => record !== undefined);
    const entries = records.map((record) => Buffer.from(canonicalJson(record as unknown as JsonObject)));
    if (records.length !== width || entries.some(({ length }) => length > mostEntry)) {
      lacking += 1;
      continue;
    }
    const other = entries.findIndex((entry, at) => leafHash(entry).toString('hex') !== leaves[at]);
    if (other >= 0) throw new Fault('audit_broken', say`record ${from + other} is not the one that the tree has`);
    await keep(
      join(folder, 'tile', 'entries', tilePath(number, width)),
      Buffer.concat(entries.flatMap((entry) => [lengthOf(entry), entry])),
    );
    written += 1;
  }
  return { written, lacking };
}

/** The last one of a level can be partial; there is no empty one. */
function tilesOf(count: number): readonly { readonly number: number; readonly width: number }[] {
  return Array.from({ length: Math.ceil(count / tileWidth) }, (_, number) => ({
    number,
    width: Math.min(tileWidth, count - number * tileWidth),
  }));
}

/** 1234067 is `x001/x234/067`; a partial one ends with `.p/W`. */
function tilePath(number: number, width: number): string {
  const digits = String(number);
  const groups = digits.padStart(3 * Math.ceil(digits.length / 3), '0').match(/\d{3}/g) ?? [];
  const path = groups.map((group, at) => (at < groups.length - 1 ? `x${group}` : group)).join('/');
  return width === tileWidth ? path : `${path}.p/${width}`;
}

function lengthOf({ length }: Uint8Array): Buffer {
  return Buffer.of(length >> 8, length & 0xff);
}

/** @throws {Fault} `not_continued` */
async function keep(file: string, bytes: Buffer): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  try {
    await writeFile(file, bytes, { flag: 'wx', mode: 0o600 });
  } catch (thrown) {
    if (!hasErrorCode(thrown, 'EEXIST')) throw thrown;
    if (!(await readFile(file)).equals(bytes))
      throw new Fault('not_continued', say`${file} is of another trail, or this one was rewritten: it is left as it is`, {
        audience: 'user',
      });
  }
}
