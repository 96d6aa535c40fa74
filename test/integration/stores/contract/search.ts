import { describe, expect, it } from 'vitest';
import type { RequestRecord } from '#kernel/approval/request';
import type { RequestQuery } from '#kernel/ports/request-store';
import type { Store } from '#kernel/ports/store';
import { approved, createApprover, decisionBy, draftBy, draftOf, opened, reportBy, stopAction } from '../store-fixtures.ts';
import type { MakeHarness } from './harness.ts';

const alice = createApprover();

async function allRecords(store: Store, query: RequestQuery): Promise<readonly RequestRecord[]> {
  const records: RequestRecord[] = [];
  let cursor: string | undefined;
  do {
    const page = await store.requests.list({ ...query, ...(cursor === undefined ? {} : { cursor }) });
    records.push(...page.records);
    cursor = page.cursor;
  } while (cursor !== undefined);
  return records;
}

async function allPages(store: Store, query: RequestQuery): Promise<readonly string[]> {
  return (await allRecords(store, query)).map((record) => record.id);
}

export function searchContract(makeHarness: MakeHarness): void {
  describe('searching', () => {
    it.each<[string, string]>([
      ['its id', 'REQ-00AB'],
      ['its title', 'stop vm 142'],
      ['its tool', 'Stop_VM'],
      ['its agent', 'MCP:ÄGENT'],
      ['its label', 'straße'],
      ['its model', 'gpt-oss'],
      ['its target\u2019s name', 'WEB142'],
      ['its target\u2019s number', '142'],
    ])('finds a request by %s, whatever the case', async (_, search) => {
      const ids = ['req-00ab0001', 'req-00000002'];
      const store = await (await makeHarness()).open({ ids: () => ids.shift() ?? '' });
      const agent = { id: 'mcp:ägent', host: 'mcp', model: 'GPT-OSS:20b', label: 'STRASSE' } as const;
      const wanted = await opened(store, draftOf({ agent, action: stopAction(142, agent.id) }));
      const other = { ...draftBy('x', 7), title: 'other', action: { ...stopAction(7, 'x'), tool: 'wake_node' } };
      await opened(store, other);
      expect((await store.requests.list({ limit: 10, search })).records.map((record) => record.id)).toEqual([wanted.id]);
    });

    it('finds a report by its destination, and never by its pattern', async () => {
      const store = await (await makeHarness()).open();
      const { id } = await opened(store, reportBy('mcp:a', 'req-00000001'));
      const found = async (search: string) => (await store.requests.list({ limit: 10, search })).records.map((record) => record.id);
      expect(await found('blocked.example')).toEqual([id]);
      expect(await found('AKIA')).toEqual([]);
    });

    it.each(['%', 'stop%', 'stop_v_', '*', '.', '\\', "'", '"', 'req-0000000?', '\u0000'])('takes %j as it is', async (search) => {
      const store = await (await makeHarness()).open({ ids: () => 'req-00000001' });
      await opened(store, { ...draftBy('a', 100), title: 'Stop' });
      expect(await store.requests.list({ limit: 10, search })).toEqual({ records: [] });
    });

    it.each(['', '  ', '\n'])('for %j is no search', async (search) => {
      const store = await (await makeHarness()).open();
      await opened(store);
      expect((await store.requests.list({ limit: 10, search })).records).toHaveLength(1);
    });

    it('pages through thousands, newest first, with statuses, missing none', { timeout: 120_000 }, async () => {
      const harness = await makeHarness();
      const store = await harness.open();
      const total = 2000;
      for (let start = 0; start < total; start += 50) {
        const numbers = Array.from({ length: 50 }, (_, index) => start + index);
        const drafts = numbers.map((n) => ({ ...draftBy(`mcp:${n}`, n), title: n % 97 === 0 ? `Needle ${n}` : `Hay ${n}` }));
        await Promise.all(drafts.map((draft) => opened(store, draft)));
      }
      const all = await allRecords(store, { limit: 500 });
      expect([all.length, new Set(all.map((record) => record.id)).size]).toEqual([total, total]);
      const wanted = all.filter((record) => record.title.startsWith('Needle')).map((record) => record.id);
      expect(wanted).toHaveLength(21);
      await store.requests.deny(wanted[3]!, decisionBy());
      const denied = wanted.splice(3, 1);
      expect(await allPages(store, { statuses: ['pending'], limit: 5, search: 'needle' })).toEqual(wanted);
      expect(await allPages(store, { statuses: ['denied'], limit: 5, search: 'needle' })).toEqual(denied);
      expect(await allPages(store, { statuses: ['pending'], limit: 5, search: 'no such thing' })).toEqual([]);
    });
  });

  describe('counting what is approved', () => {
    it('counts neither what is consumed, taken back or over, nor what waits', async () => {
      const harness = await makeHarness();
      const store = await harness.open({ maxPendingPerAgent: 10 });
      expect(await store.requests.countApproved()).toBe(0);
      await opened(store, draftBy('mcp:a', 1));
      const [consumed, revoked, cancelled] = [2, 3, 4].map((vmid) => draftBy('mcp:a', vmid));
      const first = await approved(store, alice, harness.now(), consumed);
      const second = await approved(store, alice, harness.now(), revoked);
      const third = await approved(store, alice, harness.now(), cancelled);
      await approved(store, alice, harness.now(), draftBy('mcp:a', 5));
      expect(await (await harness.open()).requests.countApproved()).toBe(4);
      await store.requests.consume(first.id, first.digest, 'x');
      await store.requests.revoke(second.id, decisionBy('user:bob'));
      await store.requests.cancel(third.id, 'mcp:a');
      expect(await store.requests.countApproved()).toBe(1);
      await harness.advance(300_000);
      expect(await store.requests.countApproved()).toBe(0);
    });
  });
}
