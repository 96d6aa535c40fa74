import { describe, expect, it } from 'vitest';
import type { RequestDraft } from '#kernel/approval/request';
import { approved, createApprover, decisionBy, draftBy, grantFor, opened, reportBy, storeApproval } from '../store-fixtures.ts';
import type { MakeHarness } from './harness.ts';

const alice = createApprover();
const id = 'req-0badcafe';

export function reportContract(makeHarness: MakeHarness): void {
  describe('a reported block', () => {
    it('has the id that its agent named, and all that was reported', async () => {
      const harness = await makeHarness();
      const store = await harness.open();
      const record = await opened(store, reportBy('mcp:a', id));
      const now = harness.now();
      expect(record).toEqual({ ...reportBy('mcp:a', id), id, status: 'pending', createdAt: now, expiresAt: now + 3_600_000 });
      expect(record.reported?.pattern).toBe('AKIA[0-9A-Z]{16}');
      expect(await (await harness.open()).requests.get(id)).toEqual(record);
      expect((await store.requests.list({ statuses: ['pending'], limit: 10 })).records).toEqual([record]);
      expect(await store.requests.countPending()).toBe(1);
    });

    it('gets an id like any other where its agent named none', async () => {
      const store = await (await makeHarness()).open();
      const { reportId: _, ...draft } = reportBy('mcp:a', id);
      const record = await opened(store, draft);
      expect(record.id).toMatch(/^req-[a-f0-9]{8}$/);
      expect(record.id).not.toBe(id);
    });

    it('said again is the same one, whatever has become of it', async () => {
      const harness = await makeHarness();
      const [store, other] = [await harness.open(), await harness.open()];
      await opened(store, reportBy('mcp:a', id));
      expect(await opened(other, reportBy('mcp:a', id))).toEqual(await store.requests.get(id));
      await store.requests.deny(id, { ...decisionBy(), message: 'leave it' });
      expect(await other.requests.open(reportBy('mcp:a', id))).toMatchObject({ ok: true, record: { id, status: 'denied' } });
      expect(await store.requests.countPending()).toBe(0);
      const trail = (await store.audit.read(0, 100)).map((record) => record.name);
      expect(trail).toEqual(['approval.requested', 'approval.denied']);
    });

    it.each<[string, RequestDraft]>([
      ['another agent', reportBy('mcp:b', id)],
      ['another destination', reportBy('mcp:a', id, { destination: 'evil.example' })],
      ['another pattern', reportBy('mcp:a', id, { pattern: 'ghp_.*' })],
    ])('keeps its id from %s, who is not told whose it is', async (_, draft) => {
      const harness = await makeHarness();
      const store = await harness.open();
      const first = await opened(store, reportBy('mcp:a', id));
      expect(await store.requests.open(draft)).toEqual({ ok: false, why: 'id_taken' });
      await harness.advance(3_600_000);
      expect(await (await harness.open()).requests.open(draft)).toEqual({ ok: false, why: 'id_taken' });
      expect(await store.requests.get(id)).toEqual({ ...first, status: 'expired' });
    });

    it('cannot take the id of a request that waits, was granted or is over', async () => {
      const harness = await makeHarness();
      const ids = ['req-00000001', 'req-00000002', 'req-00000003'];
      const store = await harness.open({ ids: () => ids.shift() ?? 'req-00000009' });
      const waiting = await opened(store, draftBy('mcp:a', 100));
      const granted = await approved(store, alice, harness.now(), draftBy('mcp:a', 101));
      const denied = await opened(store, draftBy('mcp:a', 102));
      await store.requests.deny(denied.id, decisionBy());
      for (const before of [waiting, granted, denied]) {
        expect(await store.requests.open(reportBy('mcp:b', before.id))).toEqual({ ok: false, why: 'id_taken' });
        expect(await store.requests.open(reportBy('mcp:a', before.id))).toEqual({ ok: false, why: 'id_taken' });
        expect((await store.requests.get(before.id))?.reported).toBeUndefined();
      }
      expect(await store.requests.consume(granted.id, granted.digest, 'x')).toMatchObject({ ok: true });
    });

    it('of one id by eight agents at once is one agent\u2019s', async () => {
      const harness = await makeHarness();
      const stores = await Promise.all(Array.from({ length: 4 }, () => harness.open()));
      const results = await Promise.all(
        Array.from({ length: 8 }, (_, index) => stores[index % 4]!.requests.open(reportBy(`mcp:${index}`, id))),
      );
      const winners = results.filter((result) => result.ok);
      expect(winners).toHaveLength(1);
      expect(new Set(results.filter((result) => !result.ok).map((result) => result.why))).toEqual(new Set(['id_taken']));
      expect(await stores[0]!.requests.get(id)).toEqual(winners[0]?.record);
      expect((await stores[1]!.requests.list({ statuses: ['pending'], limit: 10 })).records.map((record) => record.id)).toEqual([id]);
    });

    it('has a cap of its own: waiting calls keep nobody from reporting, and reports nobody from asking', async () => {
      const store = await (await makeHarness()).open({ maxPendingPerAgent: 1 });
      await opened(store, draftBy('mcp:a', 100));
      expect(await store.requests.open(draftBy('mcp:a', 101))).toEqual({ ok: false, why: 'too_many' });
      await opened(store, reportBy('mcp:a', 'req-00000001'));
      expect(await store.requests.open(reportBy('mcp:a', 'req-00000002'))).toEqual({ ok: false, why: 'too_many' });
      expect((await opened(store, reportBy('mcp:a', 'req-00000001'))).id).toBe('req-00000001');
    });

    it('that a person approves is settled, and nothing can be consumed on it', async () => {
      const harness = await makeHarness();
      const store = await harness.open();
      const record = await opened(store, reportBy('mcp:a', id));
      const grant = await grantFor(record, alice, harness.now());
      expect(await storeApproval(store.requests, id, grant, decisionBy('user:alice', harness.now()))).toMatchObject({ ok: true });
      expect(await store.requests.consume(id, record.digest, 'x')).toMatchObject({ ok: false, why: 'mismatch' });
      expect(await store.requests.get(id)).toMatchObject({ status: 'approved' });
      expect(await store.requests.countApproved()).toBe(1);
    });

    it('leaves neither its pattern nor its destination in the trail', async () => {
      const harness = await makeHarness();
      const store = await harness.open();
      const record = await opened(store, reportBy('mcp:a', id));
      await storeApproval(store.requests, id, grantFor(record, alice, harness.now()), decisionBy('user:alice', harness.now()));
      await store.requests.revoke(id, decisionBy('user:bob'));
      const trail = await store.audit.read(0, 100);
      expect(trail).toHaveLength(3);
      expect(trail.map((entry) => entry.attributes.reported)).toEqual(Array(3).fill('credential_detected'));
      expect(JSON.stringify(trail)).not.toMatch(/AKIA|blocked\.example/);
    });

    it.each([
      '',
      'req-',
      'req-zzzzzzzz',
      'req-0000000',
      'req-000000001',
      'REQ-00000000',
      'req-0000000\n',
      '../..',
      'req-*',
      'x:approved:req-00000000',
    ])('with the id %j is refused before anything is touched', async (reportId) => {
      const store = await (await makeHarness()).open();
      await expect(store.requests.open({ ...reportBy('mcp:a', id), reportId })).rejects.toMatchObject({ code: 'bad_request_draft' });
      expect(await store.audit.head()).toBeUndefined();
    });

    it.each<[string, (draft: RequestDraft) => RequestDraft]>([
      ['an id for what is no report', (draft) => ({ ...draftBy('mcp:a'), reportId: draft.reportId! })],
      ['a report about another tool', (draft) => ({ ...draftBy('mcp:a'), reported: draft.reported! })],
      ['a reason nobody knows', (draft) => ({ ...draft, reported: { ...draft.reported!, reason: 'because' as 'url_blocked' } })],
    ])('never is %s', async (_, change) => {
      const store = await (await makeHarness()).open();
      await expect(store.requests.open(change(reportBy('mcp:a', id)))).rejects.toMatchObject({ code: 'bad_request_draft' });
      expect(await store.requests.list({ limit: 10 })).toEqual({ records: [] });
    });
  });
}
