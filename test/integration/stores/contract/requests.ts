import { describe, expect, it } from 'vitest';
import { approved, createApprover, decisionBy, draftBy, draftOf, opened, stopAction } from '../store-fixtures.ts';
import type { MakeHarness } from './harness.ts';

const alice = createApprover();

export function requestContract(makeHarness: MakeHarness): void {
  describe('opening a request', () => {
    it('stores the draft as it is, with an id and an hour to live', async () => {
      const harness = await makeHarness();
      const store = await harness.open();
      const now = harness.now();
      const record = await opened(store);
      expect(record).toEqual({
        ...draftOf(),
        id: expect.stringMatching(/^req-[a-f0-9]{8}$/),
        status: 'pending',
        createdAt: now,
        expiresAt: now + 3_600_000,
      });
      expect(await store.requests.get(record.id)).toEqual(record);
    });

    it('keeps any text, however odd', async () => {
      const store = await (await makeHarness()).open();
      const action = {
        ...stopAction(),
        arguments: { text: '\u0000\n"\'; DROP TABLE requests; --\u{1f600}', deep: { __proto__: null, a: [1, null, -0.5, 1e21] } },
      };
      const record = await opened(store, draftOf({ action, title: 'Stop VM 100 \u202e', claim: '' }));
      expect(await store.requests.get(record.id)).toEqual(record);
    });

    it('returns the open one of the same agent and digest, from any connection, pending or approved', async () => {
      const harness = await makeHarness();
      const [store, other] = [await harness.open(), await harness.open()];
      const first = await opened(store);
      expect((await opened(other)).id).toBe(first.id);
      await approved(store, alice, harness.now());
      expect(await opened(other)).toMatchObject({ id: first.id, status: 'approved' });
      expect(await store.requests.countPending()).toBe(0);
    });

    it('makes a new one for another agent, another digest, and once the former is over', async () => {
      const harness = await makeHarness();
      const store = await harness.open();
      const first = await opened(store);
      const others = [await opened(store, draftBy('mcp:other')), await opened(store, draftOf({ action: stopAction(101) }))];
      expect(new Set([first.id, ...others.map((record) => record.id)]).size).toBe(3);
      await store.requests.deny(first.id, decisionBy());
      const second = await opened(store);
      expect(second.id).not.toBe(first.id);
      await harness.advance(3_600_000);
      const third = await opened(store);
      expect(third.id).not.toBe(second.id);
      expect(await store.requests.get(second.id)).toMatchObject({ status: 'expired' });
    });

    it('refuses one agent too many pending requests, and nobody else', async () => {
      const harness = await makeHarness();
      const store = await harness.open({ maxPendingPerAgent: 2 });
      const first = await opened(store, draftBy('mcp:a', 100));
      await opened(store, draftBy('mcp:a', 101));
      expect(await store.requests.open(draftBy('mcp:a', 102))).toEqual({ ok: false, why: 'too_many' });
      expect((await opened(store, draftBy('mcp:a', 100))).id).toBe(first.id);
      await opened(store, draftBy('mcp:b', 102));
      await store.requests.deny(first.id, decisionBy());
      await opened(store, draftBy('mcp:a', 102));
      expect(await store.requests.open(draftBy('mcp:a', 103))).toMatchObject({ why: 'too_many' });
      await harness.advance(3_600_000);
      await opened(store, draftBy('mcp:a', 103));
    });

    it('allows five pending requests unless told otherwise', async () => {
      const store = await (await makeHarness()).open();
      for (let index = 0; index < 5; index += 1) await opened(store, draftBy('mcp:a', 100 + index));
      expect(await store.requests.open(draftBy('mcp:a', 200))).toMatchObject({ why: 'too_many' });
    });

    it('takes another id where one is in use', async () => {
      const ids = ['req-00000001', 'req-00000001', 'req-00000001', 'req-00000002'];
      const store = await (await makeHarness()).open({ ids: () => ids.shift() ?? 'req-00000009' });
      const first = await opened(store, draftBy('mcp:a'));
      expect(first.id).toBe('req-00000001');
      expect((await opened(store, draftBy('mcp:b'))).id).toBe('req-00000002');
      expect((await store.requests.get('req-00000001'))?.agent.id).toBe('mcp:a');
    });

    it('gives up where no id is free, instead of taking somebody else\u2019s', async () => {
      const store = await (await makeHarness()).open({ ids: () => 'req-00000001' });
      await opened(store, draftBy('mcp:a'));
      await expect(store.requests.open(draftBy('mcp:b'))).rejects.toMatchObject({ name: 'Fault' });
      expect((await store.requests.get('req-00000001'))?.agent.id).toBe('mcp:a');
    });

    it.each<[string, object]>([
      ['an unknown key', { extra: 1 }],
      ['a missing title', { title: undefined }],
      ['a digest that is none', { digest: 'abc' }],
      ['an unknown tier', { tier: 'purple' }],
      ['an agent that its action does not name', { agent: { id: 'mcp:other', host: 'mcp' } }],
    ])('refuses a draft with %s', async (_, change) => {
      const store = await (await makeHarness()).open();
      await expect(store.requests.open({ ...draftOf(), ...change })).rejects.toMatchObject({ code: 'bad_request_draft' });
      expect(await store.requests.list({ limit: 10 })).toEqual({ records: [] });
    });
  });

  describe('looking requests up', () => {
    it.each(['', 'req-', 'req-zzzzzzzz', 'req-00000000', 'REQ-00000000', 'req-000000001', "req-' OR 1", '*', 'req-0000000\n'])(
      'finds nothing for %j',
      async (id) => {
        const store = await (await makeHarness()).open();
        await opened(store);
        expect(await store.requests.get(id)).toBeUndefined();
      },
    );

    it('lists newest first, in pages that neither repeat nor miss one while others arrive', async () => {
      const harness = await makeHarness();
      const store = await harness.open({ maxPendingPerAgent: 100 });
      const ids: string[] = [];
      for (let index = 0; index < 7; index += 1) ids.unshift((await opened(store, draftBy('mcp:a', 100 + index))).id);
      const seen: string[] = [];
      let cursor: string | undefined;
      do {
        const page = await store.requests.list({ limit: 3, ...(cursor === undefined ? {} : { cursor }) });
        seen.push(...page.records.map((record) => record.id));
        cursor = page.cursor;
        await opened(store, draftBy('mcp:late', 200 + seen.length));
      } while (cursor !== undefined);
      expect(seen).toEqual(ids);
    });

    it('has no cursor after the last page, also when it is full', async () => {
      const store = await (await makeHarness()).open();
      for (let index = 0; index < 4; index += 1) await opened(store, draftBy('mcp:a', 100 + index));
      const first = await store.requests.list({ limit: 2 });
      const second = await store.requests.list({ limit: 2, cursor: first.cursor ?? '' });
      expect([first.records.length, second.records.length, second.cursor]).toEqual([2, 2, undefined]);
    });

    it.each(['x', '-1', '1.5', '1 OR 1=1', ''])('refuses the cursor %j, which no list gave', async (cursor) => {
      const store = await (await makeHarness()).open();
      await expect(store.requests.list({ limit: 2, cursor })).rejects.toMatchObject({ code: 'bad_cursor', audience: 'user' });
    });

    it('filters by status as it is now, lapsed ones included', async () => {
      const harness = await makeHarness();
      const store = await harness.open();
      const denied = await opened(store, draftBy('mcp:a'));
      await store.requests.deny(denied.id, decisionBy());
      const lapsed = await opened(store, draftBy('mcp:b'));
      await harness.advance(3_600_000 - 1000);
      const granted = await approved(store, alice, harness.now(), draftBy('mcp:c'));
      const pending = await opened(store, draftBy('mcp:d'));
      await harness.advance(1000);
      const idsOf = async (...statuses: ('pending' | 'approved' | 'denied' | 'expired')[]) =>
        (await store.requests.list({ statuses, limit: 10 })).records.map((record) => record.id);
      expect(await idsOf('pending')).toEqual([pending.id]);
      expect(await idsOf('approved', 'denied')).toEqual([granted.id, denied.id]);
      expect(await idsOf('expired')).toEqual([lapsed.id]);
      expect(await idsOf('pending', 'pending', 'expired')).toEqual([pending.id, lapsed.id]);
      expect(await idsOf()).toEqual([]);
      await harness.advance(299_000);
      expect(await idsOf('expired')).toEqual([granted.id, lapsed.id]);
      expect(await store.requests.get(granted.id)).toMatchObject({ status: 'expired' });
    });

    it('counts what is pending now', async () => {
      const harness = await makeHarness();
      const store = await harness.open();
      expect(await store.requests.countPending()).toBe(0);
      await opened(store, draftBy('mcp:a'));
      await harness.advance(1000);
      await opened(store, draftBy('mcp:b'));
      expect(await store.requests.countPending()).toBe(2);
      await harness.advance(3_599_000);
      expect(await store.requests.countPending()).toBe(1);
    });

    it('keeps pages within bounds whatever is asked for', async () => {
      const store = await (await makeHarness()).open();
      await opened(store, draftBy('mcp:a'));
      await opened(store, draftBy('mcp:b'));
      expect((await store.requests.list({ limit: 0 })).records).toHaveLength(1);
      expect((await store.requests.list({ limit: 1e9 })).records).toHaveLength(2);
    });
  });
}
