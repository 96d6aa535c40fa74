/** The trail's older records lie compressed in chunks: whoever reads notices nothing, and what somebody does to them is found. */
import { createHash, randomUUID } from 'node:crypto';
import { brotliCompressSync, brotliDecompressSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { verifyTrail } from '#audit/verify-trail';
import type { AuditDraft, AuditRecord } from '#kernel/audit-event';
import type { ValkeyStore } from '#stores/valkey/open-valkey-store';
import { startChild } from './child-process.ts';
import { openTestValkey } from './valkey-fixtures.ts';
import { sampleCredentials, samplePasswords, startValkey, type ValkeyServer } from './valkey-server.ts';

const inChunk = 512;
const [tail, index] = ['molis:log:events', 'molis:log:index'];
let server: ValkeyServer;
beforeAll(async () => {
  server = await startValkey({ config: ['appendfsync no'] });
}, 300_000);
afterAll(() => server.close());
beforeEach(async () => {
  await server.operator.flushall();
});

const openedAt = (ageMs: number): Promise<ValkeyStore> => openTestValkey(server, { clock: { now: () => Date.now() - ageMs } });
const old = 600_000;

function drafts(count: number, name = 'a'): readonly AuditDraft[] {
  return Array.from({ length: count }, (_, at) => ({
    name: at % 5 === 0 ? 'tool.started' : 'tool.finished',
    attributes: {
      n: `${name}-${at}`,
      'gen_ai.tool.call.id': randomUUID(),
      agent: { id: `mcp:${name}`, host: 'mcp' },
      cluster: 'läb',
      impact: at % 10 === 0 ? 'change' : 'none',
      request_id: `req-${String(at % 50).padStart(8, '0')}`,
    },
  }));
}

/** Several writers, so that chains lie between each other. */
async function write(count: number, writers: readonly string[] = ['a', 'b', 'c'], ageMs = old): Promise<void> {
  const stores = await Promise.all(writers.map((name) => openedAt(ageMs).then((store) => ({ store, left: [...drafts(count, name)] }))));
  while (stores.some(({ left }) => left.length > 0))
    await Promise.all(stores.map(({ store, left }) => store.audit.appendAll(left.splice(0, 97))));
  for (const { store } of stores) await store.close();
}

async function everything({ audit }: ValkeyStore): Promise<readonly AuditRecord[]> {
  const all: AuditRecord[] = [];
  for await (const record of (await audit.readChains()).records) all.push(record);
  return all;
}

const namesOf = (records: readonly AuditRecord[]): readonly string[] => records.map(({ chain, sequence }) => `${chain} ${sequence}`).sort();
const chunks = (): Promise<number> => server.operator.zcard(index);

describe('a packed trail', { timeout: 120_000 }, () => {
  it('is read as before: whole, by place, by request, since a moment, and verified', async () => {
    await write(1500);
    const store = await openTestValkey(server, { credentials: sampleCredentials('agent', 'log-writer') });
    const look = async () => ({
      head: await store.audit.head(),
      verdict: await verifyTrail(store.audit),
      all: await everything(store),
      borders: await Promise.all([0, 500, 511, 512, 1500, 4090, 4400, 4499, 4500].map((place) => store.audit.read(place, 1030))),
      request: await store.audit.ofRequest('req-00000007', Date.now() - old - 60_000),
      none: await store.audit.ofRequest('req-00000007', Date.now()),
      changes: new Map(await store.audit.changesSince(Date.now() - old - 60_000)),
      open: (await store.audit.attempts()).length,
    });
    const before = await look();
    expect(before.all).toHaveLength(4500);
    expect(before.verdict).toMatchObject({ ok: true, records: 4500 });
    expect(before.request).toHaveLength(90);
    await (await openTestValkey(server, { credentials: sampleCredentials('admin', 'log-trimmer') })).keepHouse();
    expect([await chunks(), await server.operator.zcard(tail)]).toEqual([8, 4500 - 8 * inChunk]);
    expect(await look()).toEqual(before);
    // Whoever looks for the first time reads the chunks, too.
    const fresh = await openTestValkey(server, { credentials: sampleCredentials('log-writer') });
    expect((await fresh.audit.attempts()).length).toBe(before.open);
    expect(new Map(await fresh.audit.changesSince(Date.now() - old - 60_000))).toEqual(before.changes);
  });

  it('loses and doubles nothing while two machines pack, others write and somebody reads', async () => {
    await write(4000, ['a', 'b']);
    const [one, other, reader, writer] = [
      await openTestValkey(server),
      await openTestValkey(server),
      await openTestValkey(server),
      await openedAt(old),
    ];
    const done = { packing: false };
    const packing = Promise.all([one.keepHouse(), other.keepHouse()]).then(() => {
      done.packing = true;
    });
    const fresh = [...drafts(2000, 'late')];
    const writing = (async () => {
      while (fresh.length > 0) await writer.audit.appendAll(fresh.splice(0, 50));
    })();
    do {
      const seen = namesOf(await everything(reader));
      expect(new Set(seen).size).toBe(seen.length);
      expect(seen.length).toBeGreaterThanOrEqual(8000);
      expect(await verifyTrail(reader.audit)).toMatchObject({ ok: true });
    } while (!done.packing);
    await Promise.all([packing, writing]);
    await one.keepHouse();
    expect(await chunks()).toBe(Math.floor(10_000 / inChunk));
    expect(new Set(namesOf(await everything(reader))).size).toBe(10_000);
    expect(await verifyTrail(reader.audit)).toMatchObject({ ok: true, records: 10_000 });
  });

  it('loses and doubles nothing where whoever packs is killed', async () => {
    await write(2500, ['a', 'b']);
    for (let kills = 0; kills < 4; kills += 1) {
      const child = startChild('keep-house', [server.url]);
      await child.line();
      const before = await chunks();
      child.send('now');
      // In the middle of whatever it does once there is a chunk more.
      while ((await chunks()) === before) await server.operator.ping();
      await child.kill();
    }
    const store = await openTestValkey(server);
    expect(await verifyTrail(store.audit)).toMatchObject({ ok: true, records: 5000 });
    await store.keepHouse();
    expect(await chunks()).toBe(Math.floor(5000 / inChunk));
    expect(await verifyTrail(store.audit)).toMatchObject({ ok: true, records: 5000 });
    expect(new Set(namesOf(await everything(store))).size).toBe(5000);
  });

  it('stays as it was where a chunk was added and never named, and what was added goes with its hour', async () => {
    await write(600, ['a']);
    const store = await openTestValkey(server);
    await server.operator.acl(
      'SETUSER',
      'log-trimmer',
      'clearselectors',
      `(~${tail} -@all +zcard +zrem +zremrangebyscore)`,
      `(~${index} +watch)`,
      '(~molis:log:packed:* +hstrlen)',
    );
    onTestFinished(async () => void (await server.operator.acl('LOAD')));
    await store.keepHouse();
    expect([await chunks(), await server.operator.zcard(tail)]).toEqual([0, 600]);
    const [left = ''] = await server.operator.keys('molis:log:packed:*');
    expect(await server.operator.hlen(left)).toBe(1);
    await server.operator.acl('LOAD');
    await store.close();
    const again = await openTestValkey(server);
    await again.keepHouse();
    expect([await chunks(), await server.operator.hlen(left)]).toEqual([1, 2]);
    expect(await verifyTrail(again.audit)).toMatchObject({ ok: true, records: 600 });
    const later = await openTestValkey(server, { clock: { now: () => Date.now() + 26 * 3_600_000 } });
    await later.keepHouse();
    expect(await server.operator.keys('molis:log:*')).toEqual([]);
  });

  it('is trimmed after a day, and what is younger stays whole', async () => {
    const day = 86_400_000;
    await write(1500, ['a'], day + 2 * 3_600_000);
    await (await openedAt(day)).keepHouse();
    expect(await chunks()).toBe(2);
    await write(1500, ['b'], day / 2);
    const store = await openTestValkey(server);
    await store.keepHouse();
    expect([await chunks(), await server.operator.zcard(tail)]).toEqual([2, 1500 - 2 * inChunk]);
    expect((await everything(store)).every(({ attributes }) => String(attributes['n']).startsWith('b-'))).toBe(true);
    expect(await verifyTrail(store.audit)).toMatchObject({ ok: true, records: 1500 });
    expect((await server.operator.keys('molis:log:packed:*')).length).toBe(1);
  });

  it('is left unpacked under the access rules of an earlier version, and read as before', async () => {
    await write(700, ['a']);
    for (const user of ['mcp-agent', 'mcp-admin', 'log-writer', 'log-trimmer']) await withoutChunks(user);
    onTestFinished(async () => void (await server.operator.acl('LOAD')));
    const store = await openTestValkey(server);
    await store.keepHouse();
    expect(await server.operator.keys('molis:log:*')).toEqual([tail]);
    expect(await verifyTrail(store.audit)).toMatchObject({ ok: true, records: 700 });
    expect(await store.audit.read(690, 100)).toHaveLength(10);
  });
});

/** Selectors that speak of chunks go. */
async function withoutChunks(user: string): Promise<void> {
  const lines = (await server.operator.acl('LIST')) as readonly string[];
  const rules = lines.find((line) => line.startsWith(`user ${user} `)) ?? '';
  const selectors = (rules.match(/\([^)]*\)/g) ?? []).filter((selector) => !/log:(index|packed)/.test(selector));
  await server.operator.acl('SETUSER', user, 'clearselectors', ...selectors);
}

describe('what somebody does to a chunk', { timeout: 120_000 }, () => {
  beforeEach(async () => {
    await write(600);
    await (await openTestValkey(server)).keepHouse();
  });
  const entries = async (): Promise<readonly { readonly name: string; readonly key: string; readonly field: string }[]> =>
    (await server.operator.zrange(index, 0, -1)).map((name) => {
      const [, hour = '', field = ''] = name.split(' ');
      return { name, key: `molis:log:packed:${hour}`, field };
    });
  const second = async () => {
    expect(await verdict()).toMatchObject({ ok: true, records: 1800 });
    const [, found] = await entries();
    if (!found) throw new Error('no second chunk');
    return found;
  };
  const verdict = async () => verifyTrail((await openTestValkey(server)).audit);

  it('is found where a bit is flipped, and the rest is still read', async () => {
    const { key, field } = await second();
    const bytes = (await server.operator.hgetBuffer(key, field)) ?? Buffer.alloc(0);
    bytes[1000] = (bytes[1000] ?? 0) ^ 4;
    await server.operator.hset(key, field, bytes);
    expect(await verdict()).toMatchObject({ ok: false, message: expect.stringContaining('one that is none') });
    const store = await openTestValkey(server);
    expect(await everything(store)).toHaveLength(1800);
    expect((await store.audit.read(1024, 5000)).every(({ hash }) => hash !== '')).toBe(true);
    expect((await store.audit.read(512, 512)).every(({ hash }) => hash === '')).toBe(true);
  });

  it('is found where a chunk, its name or both are taken away', async () => {
    const { key, field, name } = await second();
    await server.operator.hdel(key, field);
    expect(await verdict()).toMatchObject({ ok: false });
    await server.operator.zrem(index, name);
    expect(await verdict()).toMatchObject({ ok: false, message: expect.stringContaining('removed') });
  });

  it('is found where one record in it is changed, left out, or put in twice, though the chunk is whole in itself', async () => {
    const { key, field, name } = await second();
    const whole = brotliDecompressSync((await server.operator.hgetBuffer(key, field)) ?? Buffer.alloc(0));
    const end = whole.indexOf('\n');
    const sizes = JSON.parse(whole.toString('utf8', 0, end)) as [number, number][];
    let at = end + 1;
    const members = sizes.map(([score, size]) => {
      at += size;
      return { score, text: whole.toString('utf8', at - size, at) };
    });
    const changes: readonly ((list: { score: number; text: string }[]) => unknown)[] = [
      (list) =>
        list.splice(100, 1, { score: list[100]?.score ?? 0, text: (list[100]?.text ?? '').replace('"cluster":"läb"', '"cluster":"lib"') }),
      (list) => list.splice(100, 1),
      (list) => list.splice(100, 0, list[100] ?? { score: 0, text: '' }),
    ];
    for (const change of changes) {
      const list = [...members];
      change(list);
      const first = JSON.stringify(list.map(({ score, text }) => [score, Buffer.byteLength(text)]));
      const bytes = brotliCompressSync(Buffer.from(`${first}\n${list.map(({ text }) => text).join('')}`));
      const forged = `${createHash('sha256').update(bytes).digest('hex').slice(0, 32)}.00000000`;
      const score = Number(await server.operator.zscore(index, name));
      await server.operator.hset(key, forged, bytes);
      await server.operator.zrem(index, name);
      await server.operator.zadd(index, score, name.replace(field, forged));
      expect(await verdict()).toMatchObject({ ok: false });
      await server.operator.zrem(index, name.replace(field, forged));
      await server.operator.zadd(index, score, name);
      expect(await verdict()).toMatchObject({ ok: true });
    }
  });

  it('is found where a record was changed before it was packed, and what is no text comes back', async () => {
    await server.operator.flushall();
    await write(600, ['a']);
    const [member = ''] = await server.operator.zrange(tail, 300, 300);
    const score = Number(await server.operator.zscore(tail, member));
    await server.operator.zrem(tail, member);
    await server.operator.zadd(tail, score, member.replace('läb', 'lib'));
    const junk = Buffer.from([0xff, 0x0a, 0x00, 0xfe]);
    await server.as(samplePasswords['log-writer']).zadd(tail, score - 1000, junk);
    const before = await verdict();
    await (await openTestValkey(server)).keepHouse();
    expect([await chunks(), await server.operator.zcard(tail)]).toEqual([1, 601 - inChunk]);
    expect(before).toMatchObject({ ok: false });
    expect(await verdict()).toEqual(before);
  });
});
