/** The tree beside a shared trail: what becomes of it when leaves leave, records are altered, or the server's rules are older than it. */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { trailLog } from '#app/store/trail-log';
import { writeHashes } from '#app/store/trail-tiles';
import { compareTrail } from '#audit/compare-trail';
import { consistencyPath, leafHash, rootOf, verifyConsistency } from '#audit/merkle';
import { verifyTrail } from '#audit/verify-trail';
import { readerOf } from '#audit/verify-tree';
import type { Checkpoint, TrailTree } from '#kernel/ports/audit-log';
import type { ValkeyStore } from '#stores/valkey/open-valkey-store';
import { onceBack } from './once-back.ts';
import { createFakeClock, decisionBy, draftBy, opened, temporaryFolder } from './store-fixtures.ts';
import { openTestValkey } from './valkey-fixtures.ts';
import { sampleCredentials, startValkey, type ValkeyServer } from './valkey-server.ts';

const dayMs = 86_400_000;
const [log, leaves] = ['molis:log:events', 'molis:tree:leaves'];
let server: ValkeyServer;
beforeAll(async () => {
  server = await startValkey({ config: ['appendfsync no'] });
}, 300_000);
afterAll(() => server.close());
beforeEach(async () => {
  await server.operator.flushall();
});

async function write({ audit }: ValkeyStore, count: number): Promise<void> {
  await audit.appendAll(Array.from({ length: count }, (_, index) => ({ name: 'tool.finished' as const, attributes: { index } })));
}

function treeOf({ audit: { tree } }: ValkeyStore): TrailTree {
  if (tree === undefined) throw new Error('no tree');
  return tree;
}

const logOf = (store: ValkeyStore) => trailLog(store.audit, { stateDir: temporaryFolder() });
const since = (checkpoint: Checkpoint) => ({ points: [], chains: [], checkpoints: [checkpoint] });

async function goesOn(store: ValkeyStore, old: Checkpoint): Promise<boolean> {
  const tree = treeOf(store);
  const { size } = await tree.state();
  const [path, root] = [await consistencyPath(readerOf(tree), old.size, size), await rootOf(readerOf(tree), size)];
  return verifyConsistency({ from: old.size, size, path, fromRoot: Buffer.from(old.root, 'base64'), root });
}

describe('leaves that have left', { timeout: 120_000 }, () => {
  it('are proven by the hashes above them; those of a tile in which a signed checkpoint ends stay', async () => {
    const clock = createFakeClock();
    const store = await openTestValkey(server, { clock, keptLeaves: 0 });
    const old: Checkpoint[] = [];
    for (const count of [300, 500, 700]) {
      await write(store, count);
      old.push((await logOf(store).checkpoint()).checkpoint);
    }
    await write(store, 600);
    clock.advance(4 * dayMs);
    await Promise.all([store.keepHouse(), (await openTestValkey(server, { clock, keptLeaves: 0 })).keepHouse()]);
    await write(store, 10);
    const { size, kept } = await treeOf(store).state();
    expect([size, kept]).toEqual([2113, 2048]);
    expect(await server.operator.llen(leaves)).toBe(2113 - 2048);
    expect((await server.operator.hkeys('molis:tree:kept')).sort()).toEqual(['1', '3', '5']);
    for (const one of old) {
      expect(await goesOn(store, one)).toBe(true);
      expect(await compareTrail(store.audit, since(one))).toMatchObject({ ok: true });
    }
    const prove = logOf(store).prove;
    expect(await prove(300)).toMatchObject({ index: 299, leaf: expect.stringMatching(/^[a-f0-9]{64}$/) });
    await expect(prove(3)).rejects.toMatchObject({ code: 'not_kept' });
    expect(await prove(2112)).toMatchObject({ record: expect.any(String) });
    expect(await verifyTrail(store.audit)).toMatchObject({ ok: true, records: 11 });
    expect(await writeHashes(treeOf(store), 2112, temporaryFolder())).toEqual({ written: 4 + 1, lacking: 5 });
    const rewritten = { ...old[1]!, root: old[0]!.root };
    expect(await compareTrail(store.audit, since(rewritten))).toMatchObject({ ok: false });
  });

  it('stay while there are not too many, and while their records may be there', async () => {
    const clock = createFakeClock();
    const [all, none] = [await openTestValkey(server, { clock }), await openTestValkey(server, { clock, keptLeaves: 0 })];
    await write(all, 600);
    clock.advance(2 * dayMs);
    await none.keepHouse();
    clock.advance(4 * dayMs);
    await all.keepHouse();
    expect(await treeOf(all).state()).toMatchObject({ size: 600, kept: 0 });
    await none.keepHouse();
    expect(await treeOf(all).state()).toMatchObject({ size: 600, kept: 512 });
  });

  it('are not taken away while the hash above them is another one', async () => {
    const clock = createFakeClock();
    const store = await openTestValkey(server, { clock, keptLeaves: 0 });
    await server.operator.hset('molis:tree:8:0', '0', Buffer.alloc(32, 1));
    await write(store, 600);
    expect(await verifyTrail(store.audit)).toMatchObject({ ok: false, message: expect.stringContaining('do not fit together') });
    clock.advance(6 * dayMs);
    await server.operator.hdel('molis:tree:8:0', '0');
    await store.keepHouse();
    expect(await treeOf(store).state()).toMatchObject({ kept: 512 });
  });
});

describe('somebody who writes to the server', { timeout: 120_000 }, () => {
  const begun = async () => {
    const clock = createFakeClock();
    const store = await openTestValkey(server, { clock });
    await write(store, 1);
    clock.advance(600_000);
    await write(store, 40);
    const old = (await logOf(store).checkpoint()).checkpoint;
    clock.advance(600_000);
    await write(store, 3);
    expect(await compareTrail(store.audit, since(old))).toMatchObject({ ok: true });
    return { clock, store, old, members: await server.operator.zrange(log, 0, -1) };
  };
  const byHand = (hash: Buffer): Buffer => Buffer.concat([hash, Buffer.of(0x6b, 0x49, 0xd2, 0)]);

  it('and puts a record in beside the tree is found', async () => {
    const { store, clock, members } = await begun();
    await write(store, 1);
    const forged = await openTestValkey(server, { clock });
    await server.operator.del(leaves);
    await server.operator.rpush(leaves, ...members.map((member) => byHand(leafHash(member))));
    await forged.close();
    expect(await verifyTrail(store.audit)).toMatchObject({ ok: false, message: expect.stringContaining('is not in the tree') });
  });

  it('and rewrites a leaf, cuts leaves off or moves them is found by who kept a checkpoint', async () => {
    const { store, old } = await begun();
    const all = await server.operator.lrangeBuffer(leaves, 0, -1);
    const tricks: Readonly<Record<string, readonly Buffer[]>> = {
      rewritten: all.map((leaf, at) => (at === 7 ? byHand(leafHash('{}')) : leaf)),
      moved: [all[1]!, all[0]!, ...all.slice(2)],
      'cut off': all.slice(0, old.size - 2),
      'no leaf': all.map((leaf, at) => (at === 7 ? Buffer.from('forged') : leaf)),
    };
    for (const [name, list] of Object.entries(tricks)) {
      await server.operator.del(leaves);
      await server.operator.rpush(leaves, ...list);
      expect(await compareTrail(store.audit, since(old)), name).toMatchObject({ ok: false });
      await expect(logOf(store).proveSince(old), name).rejects.toMatchObject({ code: 'not_continued' });
    }
  });

  it.each([
    ['damages its name', 'no name at all'],
    ['takes its name away', undefined],
  ])('and %s does not make it be passed over', async (_, origin) => {
    const store = await openTestValkey(server);
    if (origin !== undefined) await server.operator.hset('molis:tree:log', 'origin', origin);
    await write(store, 3);
    if (origin === undefined) await server.operator.hdel('molis:tree:log', 'origin');
    await expect(verifyTrail(store.audit)).rejects.toMatchObject({ code: 'store_corrupt' });
  });

  it('and names a later beginning before the first record: what is put in beside the tree is found', async () => {
    const clock = createFakeClock();
    const store = await openTestValkey(server, { clock });
    await server.operator.hset('molis:tree:log', 'origin', `banksman/trail/forged ${clock.now() + dayMs}`);
    await write(store, 3);
    clock.advance(600_000);
    await write(store, 3);
    await server.operator.rpop(leaves);
    expect(await verifyTrail(store.audit)).toMatchObject({ ok: false });
  });

  it('and writes the first record with a clock that is ahead: what is put in beside the tree is found', async () => {
    const [clock, ahead] = [createFakeClock(), createFakeClock()];
    ahead.advance(dayMs);
    const early = await openTestValkey(server, { clock: ahead });
    await write(early, 1);
    const store = await openTestValkey(server, { clock });
    await write(store, 3);
    clock.advance(600_000);
    await write(store, 3);
    await server.operator.rpop(leaves);
    expect(await verifyTrail(store.audit)).toMatchObject({ ok: false, message: expect.stringContaining('is not in the tree') });
  });

  it('and deletes everything makes another trail of it', async () => {
    const { store, old } = await begun();
    await server.operator.flushall();
    expect(await compareTrail(store.audit, since(old))).toMatchObject({ ok: false });
    await write(store, 100);
    const fresh = await openTestValkey(server);
    await expect(logOf(fresh).proveSince(old)).rejects.toMatchObject({ message: expect.stringContaining('another trail') });
  });

  it('and adds the leaf of a record a second time changes nothing that anybody proves', async () => {
    const { store, old } = await begun();
    const [first] = await server.operator.lrangeBuffer(leaves, 5, 5);
    await server.operator.rpush(leaves, first ?? '');
    expect(await compareTrail(store.audit, since(old))).toMatchObject({ ok: true });
    expect(await logOf(store).prove(6)).toMatchObject({ index: 5, record: expect.any(String) });
  });
});

describe('a server', { timeout: 120_000 }, () => {
  it('with the access rules of a version before the tree takes records, and the tree begins with the new ones', async () => {
    const documented = readFileSync(new URL('../../fixtures/valkey/users.acl', import.meta.url), 'utf8');
    const lines = documented.split('\n').filter((line) => line.startsWith('user mcp-') || line.startsWith('user log-'));
    const rules = (line: string): readonly string[] => line.match(/\([^)]*\)|\S+/g)?.slice(1) ?? [];
    const load = async (change: (line: string) => string): Promise<void> => {
      for (const line of lines) {
        const [name = '', ...words] = rules(change(line));
        await server.operator.call('ACL', 'SETUSER', name, 'reset', ...words);
      }
    };
    try {
      await load((line) =>
        line
          .replaceAll(/ \([^)]*molis:tree:[^)]*\)/g, '')
          .replace(
            '+client|setname +multi +exec +discard (~molis:log:events -@all +zadd +zr',
            '+client|setname (~molis:log:events -@all +zadd +zr',
          ),
      );
      const before = await openTestValkey(server);
      await write(before, 5);
      const { id } = await opened(before, draftBy('mcp:a'));
      expect(await before.requests.deny(id, decisionBy())).toMatchObject({ ok: true });
      await before.keepHouse();
      const change = { name: 'tool.started', attributes: { agent: { id: 'mcp:a' }, cluster: 'lab', impact: 'reversible' } } as const;
      const first = await before.audit.append(change);
      await before.audit.append(change);
      // Which came later nothing tells but the tree: all count then, so that a budget is never exceeded.
      expect(await before.audit.changesSince(Date.now() - 60_000, first)).toEqual([['mcp:a', 2]]);
      expect(await verifyTrail(before.audit)).toMatchObject({ ok: true, records: 9 });
      await expect(logOf(before).checkpoint()).rejects.toMatchObject({ code: 'no_tree' });
      await expect(logOf(before).prove(1)).rejects.toMatchObject({ code: 'no_tree' });
    } finally {
      await load((line) => line);
    }
    const store = await openTestValkey(server);
    await write(store, 5);
    expect((await logOf(store).checkpoint()).checkpoint.size).toBe(6);
    expect(await verifyTrail(store.audit)).toMatchObject({ ok: true, records: 15 });
  });

  it('takes a leaf of 40 bytes with each record', async () => {
    const store = await openTestValkey(server);
    await write(store, 1);
    for (let done = 0; done < 20_000; done += 1000) await write(store, 1000);
    const size = Number(await server.operator.memory('USAGE', leaves, 'SAMPLES', 0));
    console.info(`${(size / 20_001).toFixed(1)} bytes a leaf`);
    expect(size / 20_001).toBeLessThan(45);
  });

  it('is written to, packed, trimmed and verified at once', async () => {
    const stores = await Promise.all([1, 2, 3].map(() => openTestValkey(server, { keptLeaves: 0 })));
    const reader = await openTestValkey(server, { credentials: sampleCredentials('agent', 'log-writer') });
    await write(reader, 1);
    const writing = Promise.all(
      stores.map(async (store) => {
        for (let round = 0; round < 30; round += 1) {
          await write(store, 17);
          if (round % 10 === 0) await store.keepHouse();
        }
      }),
    );
    const state = { done: false };
    void writing.then(() => {
      state.done = true;
    });
    const old: Checkpoint[] = [];
    do {
      old.push((await logOf(reader).checkpoint()).checkpoint);
      expect(await verifyTrail(reader.audit)).toMatchObject({ ok: true });
    } while (!state.done);
    await writing;
    for (const one of old) expect(await compareTrail(reader.audit, since(one))).toMatchObject({ ok: true });
    expect(await treeOf(reader).state()).toMatchObject({ size: 1 + 3 * 30 * 17 + old.length });
  });
});

describe('a change that is later than another one', { timeout: 120_000 }, () => {
  const change = { name: 'tool.started', attributes: { agent: { id: 'mcp:a' }, cluster: 'lab', impact: 'reversible' } } as const;

  it('is one whose only leaf comes after it; where that cannot be told, it counts', async () => {
    const [store, other] = [await openTestValkey(server), await openTestValkey(server)];
    const [own, next] = [await store.audit.append(change), await other.audit.append(change)];
    await other.audit.append(change);
    const counted = async (upTo: typeof own) => (await store.audit.changesSince(Date.now() - 60_000, upTo))[0]?.[1];
    expect([await counted(own), await counted(next)]).toEqual([1, 2]);
    const { operator } = server;
    const [first, , third] = await operator.lrangeBuffer(leaves, 0, -1);
    await operator.lpush(leaves, third ?? '');
    expect([await counted(own), await counted(next)]).toEqual([2, 3]);
    await operator.lpop(leaves);
    await operator.rpush(leaves, first ?? '');
    expect([await counted(own), await counted(next)]).toEqual([3, 2]);
    await operator.ltrim(leaves, 1, 2);
    expect([await counted(own), await counted(next)]).toEqual([3, 2]);
    await operator.del(leaves);
    expect([await counted(own), await counted(next)]).toEqual([3, 3]);
  });
});

describe('the key that signs', { timeout: 120_000 }, () => {
  it('stands in the tree together with its record, or not at all', async () => {
    const store = await openTestValkey(server, { credentials: sampleCredentials('agent', 'exec', 'log-writer') });
    await write(store, 1);
    // The log takes nothing for a while; the tree does.
    const rights = '(~molis:tree:* -@all +hsetnx +hget +hmget +rpush +lrange +llen) (%R~molis:log:* -@all +zrangebyscore +zcard)';
    await server.operator.call('ACL', 'SETUSER', 'log-writer', 'clearselectors', ...rights.split(/ (?=\()/));
    await expect(treeOf(store).announceKey('key-1')).rejects.toMatchObject({ code: 'store_denied' });
    await server.operator.call('ACL', 'LOAD');
    await onceBack(() => treeOf(store).announceKey('key-1'));
    await onceBack(() => treeOf(store).announceKey('key-1'));
    const events = await store.audit.read(0, 100);
    expect(events.filter(({ name }) => name === 'audit.key').map(({ attributes }) => attributes)).toEqual([{ key: 'key-1', earlier: [] }]);
  });
});
