import { describe, expect, it } from 'vitest';
import { leafHash } from '#audit/merkle';
import { verifyShared } from '#audit/verify-trail';
import type { AuditRecord } from '#kernel/audit-event';
import { createAuditChain, type LogEntry } from '#stores/valkey/audit-chain';
import type { Connections } from '#stores/valkey/connections';
import { keysOf } from '#stores/valkey/keys';
import { storedLeaf } from '#stores/valkey/tree-leaves';
import { createValkeyTree, type TreeDeps } from '#stores/valkey/valkey-tree';

const now = Date.parse('2027-01-15T08:00:00.000Z');

/** As much of a server as reading a tree needs. */
function createServer() {
  const leaves: Buffer[] = [];
  const log: AuditRecord[] = [];
  let gone = 0;
  const fields: Record<string, () => string | null> = {
    origin: () => `banksman/trail/x ${now - 86_400_000}`,
    gone: () => (gone === 0 ? null : String(gone)),
  };
  const client = {
    hget: async (_key: string, field: string) => fields[field]?.() ?? null,
    hmgetBuffer: async (_key: string, ...wanted: string[]) => wanted.map(() => null),
    hgetBuffer: async () => null,
    llen: async () => leaves.length,
    lrangeBuffer: async (_key: string, from: number, to: number) => leaves.slice(from, to + 1),
  };
  const chain = createAuditChain({ now: () => now, write: async (entries) => entries.forEach(add) });
  function add({ record, member }: LogEntry): void {
    const time = Buffer.alloc(4);
    time.writeUInt32BE(now / 1000);
    leaves.push(Buffer.concat([leafHash(member), time]));
    log.push(record);
  }
  const connections = { asAny: async (_roles: unknown, work: (to: unknown) => Promise<unknown>) => work(client) } as unknown as Connections;
  const deps = { connections, keys: keysOf('p'), chain } as unknown as TreeDeps;
  const append = (count: number) =>
    chain.appendGroup(Array.from({ length: count }, (_, at) => ({ name: 'tool.started', attributes: { at } })));
  const trim = (count: number) => {
    leaves.splice(0, count);
    gone += count;
  };
  return { tree: createValkeyTree(deps), leaves, log, append, trim };
}

describe('a shared trail beside its tree', () => {
  it('is whole, too, where records are written while it is read', async () => {
    const { tree, log, append } = createServer();
    await append(3);
    async function* everyRecord(): AsyncGenerator<AuditRecord> {
      yield* [...log];
      await append(1);
      const last = log.at(-1);
      if (last !== undefined) yield last;
    }
    const readChains = async () => {
      const reading = await tree.reading();
      return { anchors: [], keptSince: now - 86_400_000, records: everyRecord(), ...(reading === undefined ? {} : { tree: reading }) };
    };
    const { reading: _, ...trailTree } = tree;
    expect(await verifyShared({ readChains, tree: trailTree })).toMatchObject({ ok: true });
  });

  it('has its leaves to the end, where the first ones are trimmed meanwhile', async () => {
    const { tree, leaves, append, trim } = createServer();
    await append(600);
    const expected = leaves.slice(256).map((bytes) => storedLeaf(bytes)?.hash);
    const reading = await tree.reading();
    trim(256);
    const seen: string[] = [];
    for await (const page of reading?.leaves ?? []) {
      if (page.length === 0) break;
      seen.push(...page.map(({ hash }) => hash));
    }
    expect(seen).toEqual(expected);
  });
});
