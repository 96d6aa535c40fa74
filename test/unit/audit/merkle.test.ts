import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  consistencyPath,
  foldHashes,
  inclusionPath,
  leafHash,
  rootOf,
  type TreeHash,
  type TreeReader,
  verifyConsistency,
  verifyInclusion,
} from '#audit/merkle';

/** The leaves that the tests of the certificate-transparency reference log use, and its roots (certificate-transparency, merkletree/merkle_tree_test.cc). */
const leaves = ['', '00', '10', '2021', '3031', '40414243', '5051525354555657', '606162636465666768696a6b6c6d6e6f'].map((hex) =>
  Buffer.from(hex, 'hex'),
);
const roots = [
  '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
  'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125',
  'aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77',
  'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
  '4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4',
  '76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef',
  'ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c',
  '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328',
];

/** As a store keeps it: levels 0, 8, 16 … */
function treeOf(hashes: readonly TreeHash[]): TreeReader {
  const levels: (readonly TreeHash[])[] = [hashes];
  for (let below = hashes; below.length >= 256; levels.push(below)) {
    const tiles = Math.floor(below.length / 256);
    const all = below;
    below = Array.from({ length: tiles }, (_, at) => foldHashes(all.slice(at * 256, (at + 1) * 256)));
  }
  return async (level, from, count) => (levels[level / 8] ?? []).slice(from, from + count);
}

/** RFC 6962 §2.1, word for word. */
function rootByDefinition(hashes: readonly TreeHash[]): TreeHash {
  if (hashes.length === 1) return foldHashes(hashes);
  let split = 1;
  while (split * 2 < hashes.length) split *= 2;
  return foldHashes([rootByDefinition(hashes.slice(0, split)), rootByDefinition(hashes.slice(split))]);
}

const manyLeaves = Array.from({ length: 2000 }, (_, index) => leafHash(`record ${index}`));
const manyTree = treeOf(manyLeaves);

describe('the roots', () => {
  it('of the reference log come out, that of no record included', async () => {
    const tree = treeOf(leaves.map(leafHash));
    const found = await Promise.all(roots.map(async (_, index) => (await rootOf(tree, index + 1)).toString('hex')));
    expect(found).toEqual(roots);
    expect((await rootOf(tree, 0)).toString('hex')).toBe('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');
  });

  it('over stored tiles are those of the definition', async () => {
    for (const size of [1, 2, 3, 255, 256, 257, 511, 512, 513, 700, 1024, 1999, 2000])
      expect((await rootOf(manyTree, size)).equals(rootByDefinition(manyLeaves.slice(0, size)))).toBe(true);
  });

  it('above 65,536 records use the level above the tiles', async () => {
    const hashes = Array.from({ length: 66_000 }, (_, index) => leafHash(String(index)));
    expect((await rootOf(treeOf(hashes), 66_000)).equals(rootByDefinition(hashes))).toBe(true);
  });

  it('of a tree that lacks a hash do not come out', async () => {
    await expect(rootOf(treeOf(manyLeaves.slice(0, 700)), 800)).rejects.toThrow(RangeError);
  });
});

describe('the proofs of the reference log', () => {
  const tree = treeOf(leaves.map(leafHash));
  const hexes = (path: readonly TreeHash[]) => path.map((hash) => hash.toString('hex'));

  it.each([
    [
      0,
      8,
      [
        '96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7',
        '5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e',
        '6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4',
      ],
    ],
    [
      5,
      8,
      [
        'bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b',
        'ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0',
        'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
      ],
    ],
    [2, 3, ['fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125']],
  ])('of inclusion: record %i of %i', async (index, size, path) => {
    expect(hexes(await inclusionPath(tree, index, size))).toEqual(path);
  });

  it.each([
    [
      1,
      8,
      [
        '96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7',
        '5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e',
        '6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4',
      ],
    ],
    [
      6,
      8,
      [
        '0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a',
        'ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0',
        'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
      ],
    ],
  ])('of consistency: %i of %i', async (from, size, path) => {
    expect(hexes(await consistencyPath(tree, from, size))).toEqual(path);
  });
});

const sizes = fc.integer({ min: 1, max: manyLeaves.length });
const changed = (hash: TreeHash, bit: number): TreeHash => {
  const copy = Buffer.from(hash);
  copy.writeUInt8(copy.readUInt8(Math.floor(bit / 8) % 32) ^ (1 << (bit % 8)), Math.floor(bit / 8) % 32);
  return copy;
};

describe('a proof of inclusion', () => {
  it('holds for every record of every size, and for nothing else', async () => {
    await fc.assert(
      fc.asyncProperty(sizes, fc.nat(), fc.nat(255), fc.nat(), async (size, at, bit, which) => {
        const index = at % size;
        const proof = {
          leaf: manyLeaves[index] as TreeHash,
          ...{ index, size },
          path: await inclusionPath(manyTree, index, size),
          root: await rootOf(manyTree, size),
        };
        expect(verifyInclusion(proof)).toBe(true);
        expect(verifyInclusion({ ...proof, leaf: changed(proof.leaf, bit) })).toBe(false);
        expect(verifyInclusion({ ...proof, root: changed(proof.root, bit) })).toBe(false);
        expect(verifyInclusion({ ...proof, path: [...proof.path, proof.leaf] })).toBe(false);
        if (proof.path.length === 0) return;
        expect(verifyInclusion({ ...proof, path: proof.path.slice(1) })).toBe(false);
        const swapped = proof.path.map((hash, step) => (step === which % proof.path.length ? changed(hash, bit) : hash));
        expect(verifyInclusion({ ...proof, path: swapped })).toBe(false);
        expect(verifyInclusion({ ...proof, index: (index + 1) % size })).toBe(false);
      }),
      { numRuns: 150 },
    );
  });

  it('of a record behind the end, or of no whole number, is none', async () => {
    await expect(inclusionPath(manyTree, 5, 5)).rejects.toThrow(RangeError);
    const [leaf] = manyLeaves as [TreeHash];
    expect(verifyInclusion({ leaf, index: 1, size: 1, path: [], root: leaf })).toBe(false);
    expect(verifyInclusion({ leaf, index: 0.5, size: 2, path: [leaf], root: leaf })).toBe(false);
  });
});

describe('a proof of consistency', () => {
  it('holds between any two sizes of one trail, and between no others', async () => {
    await fc.assert(
      fc.asyncProperty(sizes, fc.nat(), fc.nat(255), fc.nat(), async (size, at, bit, which) => {
        const from = 1 + (at % size);
        const path = await consistencyPath(manyTree, from, size);
        const proof = { from, size, path, fromRoot: await rootOf(manyTree, from), root: await rootOf(manyTree, size) };
        expect(verifyConsistency(proof)).toBe(true);
        expect(verifyConsistency({ ...proof, fromRoot: changed(proof.fromRoot, bit) })).toBe(false);
        expect(verifyConsistency({ ...proof, root: changed(proof.root, bit) })).toBe(false);
        expect(verifyConsistency({ ...proof, path: [...path, proof.root] })).toBe(false);
        if (path.length === 0) return;
        expect(verifyConsistency({ ...proof, path: path.slice(1) })).toBe(false);
        const swapped = path.map((hash, step) => (step === which % path.length ? changed(hash, bit) : hash));
        expect(verifyConsistency({ ...proof, path: swapped })).toBe(false);
      }),
      { numRuns: 150 },
    );
  });

  it('cannot be made for a trail in which an early record was rewritten', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 2, max: 1500 }), fc.nat(), async (from, at) => {
        const rewritten = manyLeaves.map((hash, index) => (index === at % from ? leafHash('another') : hash));
        const other = treeOf(rewritten);
        const path = await consistencyPath(other, from, 2000);
        const [fromRoot, root] = [await rootOf(manyTree, from), await rootOf(other, 2000)];
        expect(verifyConsistency({ from, size: 2000, path, fromRoot, root })).toBe(false);
      }),
      { numRuns: 30 },
    );
  });

  it('from nothing is empty, and from more than there is there is none', async () => {
    expect(await consistencyPath(manyTree, 0, 5)).toEqual([]);
    await expect(consistencyPath(manyTree, 6, 5)).rejects.toThrow(RangeError);
  });
});
