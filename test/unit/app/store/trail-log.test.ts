import { expect, it } from 'vitest';
import { trailLog } from '#app/store/trail-log';
import { leafHash } from '#audit/merkle';
import { parseVerifierKey } from '#audit/signed-note';
import type { AuditLog, TrailTree } from '#kernel/ports/audit-log';

it('gives a tree its name before a key is announced for it', async () => {
  const keys: string[] = [];
  let origin = '';
  const tree: TrailTree = {
    state: async () => {
      const size = keys.length;
      return { origin, first: 1, size, end: size, head: undefined, kept: 0 };
    },
    hashes: async (_level, from, count) => keys.slice(from, from + count).map((key) => leafHash(key).toString('hex')),
    records: async () => [],
    find: async () => undefined,
    begin: async () => {
      origin = 'banksman/trail/x';
    },
    announceKey: async (key) => void (keys.includes(key) || keys.push(key)),
  };
  const kept: string[] = [];
  const logKey = { read: async () => kept[0], keep: async (pem: string) => void kept.push(pem) };
  const { checkpoint, key } = await trailLog({ tree } as unknown as AuditLog, { stateDir: '/nowhere', logKey }).checkpoint();
  expect(checkpoint).toMatchObject({ origin: 'banksman/trail/x', size: 1 });
  expect(parseVerifierKey(key)?.name).toBe('banksman/trail/x');
});
