import { expect, it } from 'vitest';
import { foldHashes, leafHash } from '#audit/merkle';
import { hashFlaw } from '#audit/verify-tree';
import type { TrailTree } from '#kernel/ports/audit-log';

const leaves = Array.from({ length: 600 }, (_, at) => leafHash(String(at)));
const above = [0, 256].map((at) => foldHashes(leaves.slice(at, at + 256)));

/** A tree whose first tile leaves once it has been asked about. */
function trimmedTree(says: boolean) {
  let gone = 0;
  const state = async () => ({ origin: 'o', first: 1, size: leaves.length, end: leaves.length, head: undefined, kept: says ? gone : 0 });
  const hashes: TrailTree['hashes'] = async (level, from, count) => {
    gone = 256;
    const row = level === 0 ? leaves : above;
    return row.slice(from, from + count).flatMap((hash, at) => (level === 0 && from + at < gone ? [] : [hash.toString('hex')]));
  };
  return { state, hashes } as TrailTree;
}

it('tells leaves that leave while they are read from those that were taken away', async () => {
  const trimmed = trimmedTree(true);
  expect(await hashFlaw(trimmed, await trimmed.state())).toBeUndefined();
  const robbed = trimmedTree(false);
  expect(await hashFlaw(robbed, await robbed.state())).toMatchObject({ broken: 1 });
});
