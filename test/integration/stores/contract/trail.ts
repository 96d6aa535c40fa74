import { hash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { verifyTrail } from '#audit/verify-trail';
import { type AuditDraft, mostRecordBytes } from '#kernel/audit-event';
import { canonicalJson } from '#kernel/json';
import { approved, createApprover, decisionBy, draftBy, draftOf, opened } from '../store-fixtures.ts';
import type { MakeHarness } from './harness.ts';

const alice = createApprover();

export function trailContract(makeHarness: MakeHarness): void {
  describe('the trail', () => {
    it('is empty at first, and says so', async () => {
      const store = await (await makeHarness()).open();
      expect(await store.audit.head()).toBeUndefined();
      expect(await store.audit.read(0, 10)).toEqual([]);
      expect(await verifyTrail(store.audit)).toMatchObject({ ok: false, records: 0 });
    });

    it('gives back what was appended, in order and in pages', async () => {
      const harness = await makeHarness();
      const store = await harness.open();
      const appended = [];
      for (let index = 0; index < 5; index += 1)
        appended.push(await store.audit.append({ name: 'tool.started', attributes: { index, text: '\u{1f600}"\\' } }));
      expect(await store.audit.read(0, 10)).toEqual(appended);
      expect(await store.audit.read(2, 2)).toEqual(appended.slice(2, 4));
      expect(await store.audit.read(5, 10)).toEqual([]);
      expect(await store.audit.head()).toEqual({ sequence: 5, hash: appended[4]?.hash });
      expect(appended[0]?.time).toBe(new Date(harness.now()).toISOString());
      expect(await verifyTrail(store.audit)).toMatchObject({ ok: true, records: 5 });
    });

    it('takes several at once, in their order', async () => {
      const store = await (await makeHarness()).open();
      await store.audit.append({ name: 'tool.started', attributes: { index: 0 } });
      await store.audit.appendAll([1, 2, 3].map((index) => ({ name: 'tool.finished', attributes: { index } })));
      await store.audit.appendAll([]);
      expect((await store.audit.read(0, 10)).map((record) => record.attributes.index)).toEqual([0, 1, 2, 3]);
      expect(await verifyTrail(store.audit)).toMatchObject({ ok: true, records: 4 });
    });

    it('cuts what is too large, says what was there, and is one trail with it', async () => {
      const store = await (await makeHarness()).open();
      const id = { 'gen_ai.tool.call.id': 'one' };
      const text = '\u{1f600}"'.repeat(400_000);
      const large = (name: AuditDraft['name']): AuditDraft => ({
        name,
        attributes: { ...id, request_id: 'req-1', target: [{ text }], status: 'ok' },
      });
      await store.audit.append(large('tool.started'));
      await store.audit.appendAll([large('plan.step'), large('plan.step')]);
      expect(await store.audit.endAttempt(large('tool.finished'))).toBe(true);
      expect(await store.audit.attempts()).toEqual([]);
      const records = await store.audit.ofRequest('req-1', 0);
      expect(records.map(({ name }) => name)).toEqual(['tool.started', 'plan.step', 'plan.step', 'tool.finished']);
      const was = canonicalJson([{ text }]);
      for (const { attributes } of records) {
        expect(Buffer.byteLength(JSON.stringify(attributes))).toBeLessThanOrEqual(mostRecordBytes);
        const mark = { bytes: Buffer.byteLength(was), sha256: hash('sha256', was, 'hex') };
        expect(attributes).toMatchObject({
          ...id,
          status: 'ok',
          target: [{ text: expect.stringMatching(/^[\u{1f600}"]+…$/u) }],
          cut: { target: mark },
        });
      }
      expect(await verifyTrail(store.audit)).toMatchObject({ ok: true, records: 4 });
    });

    it('knows what began and has no end, whoever asks, and takes one end only', async () => {
      const harness = await makeHarness();
      const [store, other] = [await harness.open(), await harness.open()];
      const of = (name: AuditDraft['name'], call: string, more: AuditDraft['attributes'] = {}): AuditDraft => ({
        name,
        attributes: { 'gen_ai.tool.call.id': call, ...more },
      });
      await store.audit.append(of('tool.started', 'one'));
      await store.audit.appendAll([of('tool.started', 'two'), of('tool.started', 'three'), of('tool.started', 'four')]);
      await store.audit.append(of('tool.finished', 'never begun'));
      await other.audit.append(of('tool.finished', 'two'));
      const open = async () => (await other.audit.attempts()).map(({ call, unknown }) => [call, unknown?.attributes['end']]);
      expect(await open()).toEqual([
        ['one', undefined],
        ['three', undefined],
        ['four', undefined],
      ]);
      expect(await store.audit.endAttempt(of('attempt.seen', 'one', { by: 'user:alice' }))).toBe(false);
      const unknown = of('attempt.resolved', 'one', { end: 'unknown' });
      const written = await Promise.all([store, other, store, other].map((one) => one.audit.endAttempt(unknown)));
      expect(written.filter(Boolean)).toHaveLength(1);
      expect(await store.audit.endAttempt(of('attempt.resolved', 'three', { end: 'done' }))).toBe(true);
      expect(await store.audit.endAttempt(of('attempt.resolved', 'two', { end: 'unknown' }))).toBe(false);
      expect(await open()).toEqual([
        ['one', 'unknown'],
        ['four', undefined],
      ]);
      await harness.advance(40_000);
      expect(await other.audit.endAttempt(of('attempt.seen', 'one', { by: 'user:alice' }))).toBe(true);
      expect(await other.audit.endAttempt(of('tool.finished', 'four'))).toBe(true);
      expect(await other.audit.endAttempt(of('tool.finished', 'four'))).toBe(false);
      expect(await open()).toEqual([]);
      expect(await verifyTrail(store.audit)).toMatchObject({ ok: true });
    });

    it('lets what a user’s own process reports end no attempt of anybody else', async () => {
      const store = await (await makeHarness()).open();
      const id = { 'gen_ai.tool.call.id': 'one' };
      await store.audit.append({ name: 'tool.started', attributes: id });
      await store.audit.append({ name: 'tool.finished', attributes: { ...id, reported_by: 'mallory' } });
      expect(await store.audit.endAttempt({ name: 'tool.finished', attributes: { ...id, reported_by: 'mallory' } })).toBe(false);
      expect(await store.audit.attempts()).toHaveLength(1);
      await store.audit.append({ name: 'tool.finished', attributes: id });
      expect(await store.audit.attempts()).toEqual([]);
    });

    it('counts the changes of clusters since a moment, by agent, for every process', async () => {
      const harness = await makeHarness();
      const [store, other] = [await harness.open(), await harness.open()];
      const change = (id: string, more: object = {}) =>
        ({ name: 'tool.started', attributes: { agent: { id }, cluster: 'lab', impact: 'reversible', ...more } }) as const;
      await store.audit.append(change('mcp:old'));
      await harness.advance(200_000);
      const since = harness.now() - 1_000;
      await store.audit.appendAll([change('mcp:a'), change('mcp:b'), change('mcp:a', { impact: 'none' })]);
      await other.audit.append(change('mcp:a'));
      await store.audit.append({ name: 'tool.started', attributes: { agent: { id: 'mcp:a' }, impact: 'reversible' } });
      await store.audit.append({ ...change('mcp:a'), name: 'tool.finished' });
      const counted = new Map(await other.audit.changesSince(since));
      expect(counted).toEqual(
        new Map([
          ['mcp:a', 2],
          ['mcp:b', 1],
        ]),
      );
    });

    it('counts, up to a record, the changes that came before it, whoever wrote them', async () => {
      const harness = await makeHarness();
      const [store, other] = [await harness.open(), await harness.open()];
      const change = { name: 'tool.started', attributes: { agent: { id: 'mcp:a' }, cluster: 'lab', impact: 'reversible' } } as const;
      const written = [];
      for (const one of [store, other, other, store, other]) written.push(await one.audit.append(change));
      for (const { audit } of [store, other])
        for (const [index, record] of written.entries())
          expect(await audit.changesSince(harness.now() - 1_000, record)).toEqual([['mcp:a', index + 1]]);
    });

    it('counts a change for 24 hours and no longer, over midnights and the day on which clocks change', async () => {
      const harness = await makeHarness();
      const store = await harness.open();
      const day = 86_400_000;
      const counted = async () => new Map(await store.audit.changesSince(harness.now() - day)).get('mcp:a') ?? 0;
      const change = { name: 'tool.started', attributes: { agent: { id: 'mcp:a' }, cluster: 'lab', impact: 'reversible' } } as const;
      // A store may count a minute longer: its writers share no clock.
      const hours: number[] = [];
      for (let hour = 0; hour < 72; hour += 1) {
        await store.audit.append(change);
        hours.push(await counted());
        await harness.advance(3_600_000);
      }
      expect(hours.slice(0, 24)).toEqual(Array.from({ length: 24 }, (_, hour) => hour + 1));
      expect(hours.slice(25).every((count) => count === 24 || count === 25)).toBe(true);
      await harness.advance(day - 3_600_000 - 1);
      expect(await counted()).toBeGreaterThanOrEqual(1);
      await harness.advance(120_000);
      expect(await counted()).toBe(0);
    });

    it.each([
      ['two hours', 7_200_000],
      ['two days', 2 * 86_400_000],
    ])('counts on, and finds attempts, when the clock jumped %s ahead and back', async (_what, jump) => {
      const harness = await makeHarness();
      const [store, other] = [await harness.open(), await harness.open()];
      const change = (id: string) =>
        ({
          name: 'tool.started',
          attributes: { agent: { id: 'mcp:a' }, cluster: 'lab', impact: 'reversible', 'gen_ai.tool.call.id': id },
        }) as const;
      const counted = async (by: typeof store) => new Map(await by.audit.changesSince(harness.now() - 86_400_000)).get('mcp:a') ?? 0;
      await other.audit.append(change('before'));
      await harness.advance(600_000);
      await other.audit.append(change('just before'));
      await harness.advance(jump);
      await other.audit.append(change('ahead'));
      // What is older than a day by this clock is forgotten, for as long as it says so.
      expect(await counted(store)).toBe(jump > 86_400_000 ? 1 : 3);
      await harness.advance(-jump + 300_000);
      await other.audit.append(change('after'));
      expect([await counted(store), await counted(other)]).toEqual([4, 4]);
      expect(await store.audit.attempts()).toHaveLength(4);
    });

    it('refuses a record that has no canonical form, and goes on', async () => {
      const store = await (await makeHarness()).open();
      await expect(store.audit.append({ name: 'tool.started', attributes: { a: '\ud800' } })).rejects.toMatchObject({
        code: 'audit_unavailable',
      });
      await store.audit.append({ name: 'tool.started', attributes: {} });
      expect(await verifyTrail(store.audit)).toMatchObject({ ok: true, records: 1 });
    });

    it('holds every transition once, with who and what, and stays one chain', async () => {
      const harness = await makeHarness();
      const store = await harness.open();
      const consumed = await approved(store, alice, harness.now(), draftBy('mcp:a'));
      await store.requests.consume(consumed.id, consumed.digest, 'pid 1');
      const revoked = await approved(store, alice, harness.now(), draftBy('mcp:b'));
      await store.requests.revoke(revoked.id, decisionBy('user:bob'));
      const denied = await opened(store, draftBy('mcp:c'));
      await store.requests.deny(denied.id, { ...decisionBy(), message: 'no\ud800' });
      const cancelled = await opened(store, draftBy('mcp:d'));
      await store.requests.cancel(cancelled.id, 'mcp:d');
      const lapsed = await opened(store, draftBy('mcp:e'));
      await harness.advance(3_600_000);
      await opened(store, draftBy('mcp:f'));
      const records = await store.audit.read(0, 100);
      const of = (id: string) => records.filter((record) => record.attributes.request_id === id).map((record) => record.name);
      expect(of(consumed.id)).toEqual(['approval.requested', 'approval.approved', 'approval.consumed']);
      expect(of(revoked.id)).toEqual(['approval.requested', 'approval.approved', 'approval.revoked']);
      expect(of(denied.id)).toEqual(['approval.requested', 'approval.denied']);
      expect(of(cancelled.id)).toEqual(['approval.requested', 'approval.cancelled']);
      expect(of(lapsed.id)).toEqual(['approval.requested', 'approval.expired']);
      expect(records.find((record) => record.name === 'approval.approved')?.attributes).toMatchObject({
        'gen_ai.tool.name': 'stop_vm',
        'gen_ai.agent.id': 'mcp:a',
        by: 'user:alice',
        via: 'editor',
        digest: consumed.digest,
        nonce: consumed.grants?.[0]?.payload.nonce,
      });
      expect(records.find((record) => record.name === 'approval.denied')?.attributes.message).toBe('no\ufffd');
      expect(await verifyTrail(store.audit)).toMatchObject({ ok: true });
    });

    it('says nothing of refused transitions, and nothing that might be secret', async () => {
      const harness = await makeHarness();
      const store = await harness.open();
      const record = await approved(store, alice, harness.now(), draftOf({ claim: 'my-secret', title: 'Stop VM 100 my-secret' }));
      const before = await store.audit.head();
      await store.requests.deny(record.id, decisionBy());
      await store.requests.consume(record.id, 'f'.repeat(64), 'x');
      await opened(store, draftOf());
      expect(await store.audit.head()).toEqual(before);
      expect(JSON.stringify(await store.audit.read(0, 100))).not.toMatch(/my-secret|web100|vmid/);
    });
  });
}
