/** What becomes of the tree's leaves: the hashes above them are written down, and after days the oldest leaves go where there are millions. */
import { tileHeight, tileWidth } from '#audit/merkle';
import { lives } from './keys.ts';
import { execute, type StoreContext } from './store-context.ts';
import { leafLength } from './tree-leaves.ts';
import { createTreeReader, keepHash, placeOfHash, type TreeReader, treeWriters } from './valkey-tree.ts';

/** Of so many the leaves stay, however old: 160 MB. */
export const keptLeaves = 2 ** 22;
/** A chunk of records may span two days of a quiet trail: no leaf goes before its record, in ms. */
const leastAgeMs = 3 * lives.outcome * 1000;
/** At most so many tiles go at once. */
const tilesAtOnce = 64;

/**
 * Two of the server's users share the work, as with the records: `log-writer` adds hashes where none are, and the tiles in which signed checkpoints
 * end; `log-trimmer` takes leaves away once these are there.
 */
export async function trimTree(context: StoreContext): Promise<void> {
  const { connections } = context;
  if (!treeWriters.some((role) => connections.has(role))) return;
  const reader = createTreeReader(context);
  const { size, kept } = await reader.state();
  await writeHashes(context, reader, size);
  if (!connections.has('log-trimmer')) return;
  for (let gone = kept; size - gone > context.keptLeaves; ) {
    const upTo = await limitOf(context, reader, { gone, size });
    if (upTo <= gone) return;
    await keepSigned(context, reader, { gone, upTo });
    if (!(await dropLeaves(context, { gone, upTo }))) return;
    gone = upTo;
  }
}

/** Where each level ends is found by halving: whoever writes them writes them in their order. */
async function writeHashes({ connections, keys }: StoreContext, reader: TreeReader, size: number): Promise<void> {
  for (
    let [level, count] = [tileHeight, Math.floor(size / tileWidth)];
    count > 0;
    [level, count] = [level + tileHeight, Math.floor(count / tileWidth)]
  )
    await connections.asAny(treeWriters, async (client) => {
      const isThere = async (position: number): Promise<boolean> => (await client.hget(...placeOfHash(keys, level, position))) !== null;
      let [low, high] = [0, count];
      while (low < high) {
        const middle = Math.floor((low + high) / 2);
        if (await isThere(middle)) low = middle + 1;
        else high = middle;
      }
      for (let position = low; position < count; position += 1) {
        const [hash] = await reader.above(level, position, 1);
        if (hash === undefined) return;
        await keepHash(client, keys, { level, position, hash });
      }
    });
}

interface Going {
  readonly gone: number;
  readonly upTo: number;
}

/** Whole tiles whose records are long gone, as many as there are too many. */
async function limitOf(
  { now, keptLeaves: most }: StoreContext,
  reader: TreeReader,
  { gone, size }: { readonly gone: number; readonly size: number },
): Promise<number> {
  const tiles = Math.min(tilesAtOnce, Math.floor((size - most - gone) / tileWidth));
  const leaves = await reader.leaves(gone, tiles * tileWidth);
  const young = leaves.findIndex(({ time }) => time >= now() - leastAgeMs);
  return gone + Math.floor((young < 0 ? leaves.length : young) / tileWidth) * tileWidth;
}

async function keepSigned({ connections, keys }: StoreContext, reader: TreeReader, { gone, upTo }: Going): Promise<void> {
  for (let tile = gone / tileWidth; tile < upTo / tileWidth; tile += 1)
    await connections.asAny(treeWriters, async (client) => {
      if ((await client.hget(keys.signedTiles, String(tile))) === null) return;
      const leaves = await reader.leaves(tile * tileWidth, tileWidth);
      const bytes = Buffer.alloc(tileWidth * leafLength);
      for (const [at, { hash, time }] of leaves.entries()) {
        bytes.write(hash, at * leafLength, 'hex');
        bytes.writeUInt32BE(time / 1000, at * leafLength + 32);
      }
      await client.hsetnx(keys.keptTiles, String(tile), bytes);
    });
}

/**
 * INVARIANT: how many have gone is watched and changes with the list, so of two that trim at once one does nothing. What stays instead is seen on the
 * connection that takes the leaves out.
 */
async function dropLeaves({ keys, trimmerTurn }: StoreContext, { gone, upTo }: Going): Promise<boolean> {
  return trimmerTurn(async (trimmer) => {
    await trimmer.watch(keys.tree);
    const isSame = Number((await trimmer.hget(keys.tree, 'gone')) ?? 0) === gone;
    let isReplaced = isSame;
    for (let tile = gone / tileWidth; isReplaced && tile < upTo / tileWidth; tile += 1) {
      const [hash, signed, kept] = [
        await trimmer.hstrlen(...placeOfHash(keys, tileHeight, tile)),
        await trimmer.hexists(keys.signedTiles, String(tile)),
        await trimmer.hstrlen(keys.keptTiles, String(tile)),
      ];
      isReplaced = hash > 0 && (signed === 0 || kept === tileWidth * leafLength);
    }
    if (!isReplaced) {
      await trimmer.unwatch();
      return false;
    }
    const transaction = trimmer
      .multi()
      .ltrim(keys.leaves, upTo - gone, -1)
      .hincrby(keys.tree, 'gone', upTo - gone);
    return (await execute(transaction)) !== undefined;
  });
}
