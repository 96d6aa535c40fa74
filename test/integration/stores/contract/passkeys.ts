/** Answers by passkey and by several people, from the challenge to the consuming, on a real store. */
import { describe, expect, it } from 'vitest';
import { createApprovals } from '#approval/approvals';
import { createAnswerDesk } from '#approval/passkey-desk';
import { type ApprovalRules, noRules } from '#approval/rules';
import type { AnswerResult, ApproverKey } from '#kernel/approval/answer';
import type { PasskeyAsk } from '#kernel/approval/passkey';
import type { RequestRecord } from '#kernel/approval/request';
import { pageOrigin, type SoftwareKey, softwareKey, type Twist } from '../../approval/software-key.ts';
import { createApprover, draftBy, draftOf, opened, stopAction } from '../store-fixtures.ts';
import type { MakeHarness } from './harness.ts';

const alice = softwareKey();
const laptop = softwareKey({ name: 'alice-laptop', display: 'same-account', algorithm: 'eddsa' });
const bob = softwareKey({ name: 'bob-phone', person: 'bob', algorithm: 'eddsa' });
const grave = { impact: 'irreversible', title: 'Stop VM 100 (web100) on pve' } as const;

export function passkeyContract(makeHarness: MakeHarness): void {
  async function bench(changes: Partial<ApprovalRules> = {}) {
    const harness = await makeHarness();
    const store = await harness.open();
    const pins: ApproverKey[] = [alice.pin, laptop.pin, bob.pin];
    const rules = { ...noRules, ...changes };
    const clock = { now: () => harness.now(), sleep: () => Promise.reject(new Error('nobody sleeps here')) };
    const deps = { requests: store.requests, clock, trustedKeys: async () => pins, rules: () => rules };
    const approvals = createApprovals({ ...deps, audit: store.audit, via: 'cli' });
    const desk = createAnswerDesk(pageOrigin, { ...deps, via: 'page' });
    const begin = async (record: RequestRecord, key: SoftwareKey, ask: Partial<PasskeyAsk> = {}) =>
      desk.beginAnswer({ requestId: record.id, digest: record.digest, decision: 'approve', approver: key.pin.name, ...ask });
    const answer = async (
      record: RequestRecord,
      key: SoftwareKey,
      twist: Twist = {},
      ask: Partial<PasskeyAsk> = {},
    ): Promise<AnswerResult> => {
      const begun = await begin(record, key, ask);
      return 'options' in begun ? desk.finishAnswer(key.get(begun.options.challenge, twist)) : begun;
    };
    const consume = ({ id, digest }: RequestRecord) => approvals.consume(id, digest, 'somebody');
    const trail = async () => (await store.audit.read(0, 100)).map(({ name }) => name);
    return { harness, store, pins, rules, approvals, desk, begin, answer, consume, trail };
  }

  describe('a passkey', () => {
    it('approves one call: the stored assertion is the grant, and is verified again when it is consumed', async () => {
      const { store, answer, consume, trail } = await bench();
      const record = await opened(store);
      expect(await answer(record, alice)).toMatchObject({ ok: true, code: 'approved' });
      const stored = await store.requests.get(record.id);
      expect(stored).toMatchObject({
        status: 'approved',
        decision: { by: 'user:alice-phone', via: 'page', display: 'outside' },
        grants: [{ payload: { person: 'alice', display: 'outside' }, proof: { kind: 'passkey', credentialId: alice.pin.passkey?.id } }],
      });
      expect(await consume(record)).toMatchObject({ ok: true });
      expect(await consume(record)).toMatchObject({ ok: false, why: 'grant_used' });
      expect(await trail()).toEqual(['approval.requested', 'approval.approved', 'approval.consumed']);
    });

    it('denies, with words for the model, and ends it for everybody', async () => {
      const { store, answer, trail } = await bench({ needed: { disruptive: 2 } });
      const record = await opened(store);
      expect(await answer(record, alice)).toMatchObject({ code: 'approved_partly' });
      expect(await answer(record, bob, {}, { decision: 'deny', message: 'not at noon' })).toMatchObject({ ok: true, code: 'denied' });
      expect(await answer(record, laptop)).toMatchObject({ ok: false, code: 'already_decided' });
      expect(await store.requests.get(record.id)).toMatchObject({
        status: 'denied',
        decision: { by: 'user:bob-phone', message: 'not at noon' },
      });
      expect(await trail()).toEqual(['approval.requested', 'approval.partial', 'approval.denied']);
    });

    it.each<[string, Twist]>([
      ['another page of the same host', { origin: `${pageOrigin}:8443` }],
      ['another host', { rpId: 'lan' }],
      ['nobody verified', { flags: 0x01 }],
      ['nobody there', { flags: 0x04 }],
      ['a frame', { client: { crossOrigin: true } }],
      ['a registration', { type: 'webauthn.create' }],
    ])('is refused with an answer of %s, and the challenge is over', async (_, twist) => {
      const { store, begin, desk, consume } = await bench();
      const record = await opened(store);
      const begun = await begin(record, alice);
      if (!('options' in begun)) throw new Error(begun.message);
      expect(await desk.finishAnswer(alice.get(begun.options.challenge, twist))).toMatchObject({ ok: false, code: 'bad_assertion' });
      expect(await desk.finishAnswer(alice.get(begun.options.challenge))).toMatchObject({ ok: false, code: 'challenge_over' });
      expect((await store.requests.get(record.id))?.status).toBe('pending');
      expect(await consume(record)).toMatchObject({ ok: false, why: 'not_approved' });
    });

    it('is refused with another passkey’s answer, a replay, what is no answer, and one that comes too late', async () => {
      const { store, begin, desk, harness } = await bench();
      const record = await opened(store);
      const challenge = async (key: SoftwareKey) => {
        const begun = await begin(record, key);
        if (!('options' in begun)) throw new Error(begun.message);
        return begun.options.challenge;
      };
      expect(await desk.finishAnswer(bob.get(await challenge(alice)))).toMatchObject({ ok: false });
      expect(await desk.finishAnswer({ ...bob.get(await challenge(alice)), id: alice.pin.passkey?.id })).toMatchObject({
        code: 'bad_assertion',
      });
      for (const value of [
        undefined,
        null,
        7,
        'x',
        {},
        { id: 'AAAA', response: {} },
        { id: 'A', response: { clientDataJSON: 'e30', authenticatorData: 'A', signature: 'A' } },
      ])
        expect(await desk.finishAnswer(value)).toMatchObject({ ok: false });
      const late = alice.get(await challenge(alice));
      await harness.advance(120_000);
      expect(await desk.finishAnswer(late)).toMatchObject({ code: 'challenge_over' });
      const good = alice.get(await challenge(alice));
      expect(await desk.finishAnswer(good)).toMatchObject({ ok: true });
      expect(await desk.finishAnswer(good)).toMatchObject({ code: 'challenge_over' });
    });

    it('whose answer was moved to another request, digest, decision or approver in the store is worth nothing', async () => {
      const { store, approvals, answer } = await bench();
      const record = await opened(store);
      await answer(record, alice);
      const [grant] = (await store.requests.get(record.id))?.grants ?? [];
      if (grant === undefined) throw new Error('no grant');
      const other = await opened(store, draftBy('mcp:other', 103));
      for (const change of [
        { requestId: other.id, digest: other.digest },
        { requestId: other.id, digest: other.digest, approver: 'user:bob-phone', person: 'bob' },
      ]) {
        const moved = { ...grant, payload: { ...grant.payload, ...change } };
        const decision = { by: moved.payload.approver, via: 'page', at: 0 } as const;
        const again = await opened(store, draftBy(`mcp:${moved.payload.approver}`, 103));
        const placed = { ...moved, payload: { ...moved.payload, requestId: again.id, digest: again.digest } };
        expect(await store.requests.approve(again.id, placed, { decision, seen: 0, until: placed.payload.expiresAt })).toMatchObject({
          ok: true,
        });
        expect(await approvals.consume(again.id, again.digest, 'x')).toMatchObject({ ok: false, why: 'bad_signature' });
      }
    });

    it('that was revoked between approval and consuming has approved nothing, and answers nothing', async () => {
      const { store, answer, consume, begin, desk, pins } = await bench();
      const record = await opened(store);
      await answer(record, alice);
      pins.splice(0, 1);
      expect(await consume(record)).toMatchObject({ ok: false, why: 'untrusted_key' });
      pins.unshift(alice.pin);
      expect(await consume(record)).toMatchObject({ ok: true });
      const next = await opened(store, draftBy('mcp:other', 103));
      const begun = await begin(next, alice);
      pins.splice(0, 1);
      if (!('options' in begun)) throw new Error(begun.message);
      expect(await desk.finishAnswer(alice.get(begun.options.challenge))).toMatchObject({ ok: false, code: 'key_not_trusted' });
      expect(await begin(next, alice)).toMatchObject({ ok: false, code: 'key_not_trusted' });
    });

    it('that keeps a counter is refused when it goes back or stands, and says that there may be a copy', async () => {
      const { store, answer } = await bench();
      const turns = [
        [0, true],
        [5, true],
        [5, false],
        [4, false],
        [0, false],
        [6, true],
      ] as const;
      for (const [index, [counter, ok]] of turns.entries()) {
        const record = await opened(store, draftBy(`mcp:${index}`, 100 + index));
        const result = await answer(record, alice, { counter });
        expect(result.ok, `turn ${index}`).toBe(ok);
        expect(result.message.includes('copy')).toBe(!ok);
      }
    });

    it('is asked in vain about a card that is not the stored one, a request that is over, or by a name that is not pinned', async () => {
      const { store, begin, harness } = await bench();
      const record = await opened(store);
      expect(await begin(record, alice, { digest: 'f'.repeat(64) })).toMatchObject({ ok: false, code: 'tampered' });
      expect(await begin(record, alice, { approver: 'mallory' })).toMatchObject({ ok: false, code: 'key_not_trusted' });
      expect(await begin(record, alice, { requestId: 'req-00000000' })).toMatchObject({ ok: false, code: 'not_found' });
      await harness.advance(3_600_000);
      expect(await begin(record, alice)).toMatchObject({ ok: false, code: 'expired' });
    });

    it('of another page is not offered and not taken', async () => {
      const { store, desk, pins, begin } = await bench();
      const strange = softwareKey({ name: 'elsewhere', origin: 'http://localhost:779' });
      pins.push(strange.pin);
      expect((await desk.approvers()).map(({ name }) => name)).toEqual(['alice-phone', 'alice-laptop', 'bob-phone']);
      expect(await begin(await opened(store), strange)).toMatchObject({ ok: false, code: 'key_not_trusted' });
    });
  });

  describe('several people', () => {
    it('are counted as people: one person with two keys is one', async () => {
      const { store, answer, consume, approvals, trail } = await bench({ needed: { disruptive: 2 } });
      const record = await opened(store);
      expect(await answer(record, alice)).toMatchObject({
        ok: true,
        code: 'approved_partly',
        message: expect.stringContaining('1 of 2 people (alice)'),
      });
      expect(await answer(record, laptop)).toMatchObject({ ok: false, code: 'counted_already' });
      expect(await consume(record)).toMatchObject({ ok: false, why: 'not_approved' });
      const card = await approvals.card(record.id);
      expect(card?.progress).toEqual({ needed: 2, people: ['alice'], outside: false });
      expect(card?.detail).toContain('so far 1 of 2: alice.');
      expect(await answer(record, bob)).toMatchObject({ ok: true, code: 'approved' });
      expect(await consume(record)).toMatchObject({ ok: true });
      expect(await trail()).toEqual(['approval.requested', 'approval.partial', 'approval.approved', 'approval.consumed']);
    });

    it('who answer at once are all counted, once', async () => {
      const { store, answer, consume } = await bench({ needed: { disruptive: 2 } });
      const record = await opened(store);
      const results = await Promise.all([answer(record, alice), answer(record, bob), answer(record, laptop)]);
      expect(results.filter(({ code }) => code === 'approved')).toHaveLength(1);
      expect(results.filter(({ code }) => code === 'approved_partly')).toHaveLength(1);
      expect(await consume(record)).toMatchObject({ ok: true });
    });

    it('may be half an hour apart; the approval then lives five minutes from the last', async () => {
      const { store, answer, consume, harness } = await bench({ needed: { disruptive: 2 } });
      const record = await opened(store);
      await answer(record, alice);
      await harness.advance(1_800_000);
      await answer(record, bob);
      await harness.advance(299_000);
      const other = await opened(store, draftBy('mcp:other', 103));
      await answer(other, alice);
      await answer(other, bob);
      expect(await consume(record)).toMatchObject({ ok: true });
      await harness.advance(300_000);
      expect(await consume(other)).toMatchObject({ ok: false, why: 'expired' });
    });

    it('are one fewer when one of them is revoked before the call runs, and the store alone cannot say that they are enough', async () => {
      const { store, answer, consume, pins } = await bench({ needed: { disruptive: 2 } });
      const record = await opened(store);
      await answer(record, alice);
      await answer(record, bob);
      pins.splice(2, 1);
      expect(await consume(record)).toMatchObject({ ok: false, why: 'untrusted_key' });
      // Whoever writes the store says that one is enough.
      const alone = await opened(store, draftBy('mcp:other', 103));
      const partly = await answer(alone, alice);
      const [grant] = partly.record?.grants ?? [];
      if (grant === undefined) throw new Error('no grant');
      const decision = { by: grant.payload.approver, via: 'page', at: 0 } as const;
      expect(
        await store.requests.approve(alone.id, grant, {
          decision,
          seen: 1,
          until: store === undefined ? 0 : grant.payload.issuedAt + 1000,
        }),
      ).toMatchObject({ ok: true });
      expect(await consume(alone)).toMatchObject({ ok: false, why: 'not_enough' });
    });

    it('may be named: others’ approvals do not count, also for what the store calls harmless', async () => {
      const { store, answer, rules, consume } = await bench({ who: { disruptive: ['Bob'] } });
      const record = await opened(store);
      expect(await answer(record, alice)).toMatchObject({ ok: false, code: 'not_allowed' });
      expect(await answer(record, bob)).toMatchObject({ ok: true });
      Object.assign(rules.who, { disruptive: ['carol'] });
      expect(await consume(record)).toMatchObject({ ok: false, why: 'not_allowed' });
    });

    it('none of whom is the OS user whose agent asked, where that is wanted', async () => {
      const { store, answer } = await bench({ ownUser: false });
      const known = await opened(store, draftBy('alice/mcp:laptop', 102));
      expect(await answer(known, alice)).toMatchObject({ ok: false, code: 'not_allowed' });
      expect(await answer(known, bob)).toMatchObject({ ok: true });
      // Whose agent it is, is not known: what is used inside the account counts as that user's.
      const unknown = await opened(store, draftBy('mcp:somebody', 103));
      expect(await answer(unknown, laptop)).toMatchObject({ ok: false, code: 'not_allowed' });
      expect(await answer(unknown, alice)).toMatchObject({ ok: true });
    });
  });

  describe('an irreversible call', () => {
    it('is approved outside the agents’ account once a passkey is pinned, and the card says so', async () => {
      const { store, answer, approvals, consume } = await bench();
      const record = await opened(store, draftOf(grave));
      expect((await approvals.card(record.id))?.detail).toContain('display outside the agents’ account');
      expect(await answer(record, laptop)).toMatchObject({
        ok: false,
        code: 'needs_outside',
        message: expect.stringContaining('another card'),
      });
      expect(await answer(record, alice)).toMatchObject({ ok: true, record: { decision: { display: 'outside' } } });
      expect(await consume(record)).toMatchObject({ ok: true });
    });

    it('is not approved by a key at a terminal, nor once its approver’s display is another', async () => {
      const { store, approvals, answer, pins, consume } = await bench();
      const terminal = createApprover('user:carol');
      pins.push({ ...terminal.pinned, kind: 'terminal' });
      const record = await opened(store, draftOf(grave));
      expect(await approvals.approve(record.id, terminal.signer)).toMatchObject({ ok: false, code: 'needs_outside' });
      await answer(record, alice);
      pins[0] = { ...alice.pin, passkey: { ...alice.pin.passkey!, display: 'same-account' } };
      expect(await consume(record)).toMatchObject({ ok: false, why: 'untrusted_key' });
    });
  });

  describe('a window’s key', () => {
    it('approves nothing red any more once a passkey is pinned; a terminal’s still does', async () => {
      const { store, approvals, pins, consume } = await bench();
      const window = createApprover('user:alice');
      const terminal = createApprover('user:carol');
      pins.splice(0, 3, window.pinned, { ...terminal.pinned, kind: 'terminal' });
      const before = await opened(store, draftBy('mcp:before', 101));
      expect(await approvals.approve(before.id, window.signer)).toMatchObject({ ok: true });
      const record = await opened(store);
      pins.push(bob.pin);
      expect(await approvals.approve(record.id, window.signer)).toMatchObject({
        ok: false,
        code: 'not_allowed',
        message: expect.stringContaining('passkey'),
      });
      expect(await consume(before)).toMatchObject({ ok: false, why: 'not_allowed' });
      const yellow = await opened(
        store,
        draftOf({ action: stopAction(104), title: 'Stop VM 104 (web104) on pve', tier: 'yellow', impact: 'reversible' }),
      );
      expect(await approvals.approve(yellow.id, window.signer)).toMatchObject({ ok: true });
      expect(await approvals.approve(record.id, terminal.signer)).toMatchObject({ ok: true });
      expect(await consume(record)).toMatchObject({ ok: true });
    });
  });
}
