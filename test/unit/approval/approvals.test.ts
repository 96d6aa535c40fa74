import { describe, expect, it, vi } from 'vitest';
import { type ApprovalsDeps, createApprovals } from '#approval/approvals';
import { generateApproverKey, signerFrom } from '#approval/keys';
import type { ApproverKey, Signer } from '#kernel/approval/answer';
import type { RequestRecord } from '#kernel/approval/request';
import {
  createApprover,
  createFakeClock,
  draftBy,
  draftOf,
  opened,
  openTestStore,
  stopAction,
} from '../../integration/stores/store-fixtures.ts';

async function bench(changes: Partial<ApprovalsDeps> = {}) {
  const clock = createFakeClock();
  const store = await openTestStore({ clock });
  const alice = createApprover('user:alice');
  const pinned: ApproverKey[] = [alice.pinned];
  const deps: ApprovalsDeps = {
    requests: store.requests,
    audit: store.audit,
    clock,
    via: 'editor',
    trustedKeys: async () => pinned,
    pinKey: async (key) => void pinned.push(key),
    ...changes,
  };
  const names = async () => (await store.audit.read(0, 100)).map((record) => record.name);
  return { clock, store, alice, pinned, deps, approvals: createApprovals(deps), names };
}

const bobs = (publicKey: string) => ({ approver: 'user:bob', publicKey, sign: async () => new Uint8Array() });

describe('approving', () => {
  it('writes a grant that its own digest, key and audit record stand behind', async () => {
    const { approvals, store, alice, names } = await bench();
    const { id, digest } = await opened(store);
    const answer = await approvals.approve(id, alice.signer);
    expect(answer).toMatchObject({
      ok: true,
      code: 'approved',
      message: expect.stringMatching(
        /^approved once: Stop VM 100 \(web100\) on pve \(req-[0-9a-f]{8}\); no call waits for it: the agent may run it until /,
      ),
    });
    expect(answer.record).toMatchObject({
      status: 'approved',
      decision: { by: 'user:alice', via: 'editor' },
      grants: [{ payload: { version: 2, digest, requestId: id, person: 'alice', store: await store.requests.identity() } }],
    });
    expect(await names()).toEqual(['approval.requested', 'approval.approved']);
  });

  it('signs nothing but what was on the card: a record that was swapped since is refused', async () => {
    const { deps, store, alice } = await bench();
    const [seen, other] = [await opened(store), await opened(store, draftOf({ action: stopAction(101) }))];
    const swapped = { ...other, id: seen.id };
    let isSwapped = false;
    const get = async (id: string) => (isSwapped ? swapped : store.requests.get(id));
    const approvals = createApprovals({ ...deps, requests: { ...store.requests, get } });
    await approvals.card(seen.id);
    isSwapped = true;
    const signer = { ...alice.signer, sign: vi.fn<Signer['sign']>(alice.signer.sign) };
    expect(await approvals.approve(seen.id, signer)).toMatchObject({ ok: false, code: 'tampered' });
    expect(signer.sign).not.toHaveBeenCalled();
    expect((await store.requests.get(seen.id))?.status).toBe('pending');
  });

  it('of an unknown or malformed id is answered without a change', async () => {
    const { approvals, alice } = await bench();
    expect(await approvals.approve('req-00000000', alice.signer)).toMatchObject({ ok: false, code: 'not_found' });
    expect(await approvals.approve("' OR 1=1 --", alice.signer)).toMatchObject({ ok: false, code: 'not_found' });
  });

  it('tells the second of two people who decided and when', async () => {
    const { approvals, store, alice, clock, pinned } = await bench();
    const bob = createApprover('user:bob');
    pinned.push(bob.pinned);
    const { id } = await opened(store);
    await approvals.deny(id, 'user:bob', 'not today');
    clock.advance(65_000);
    const late = await approvals.approve(id, alice.signer);
    expect(late).toMatchObject({ ok: false, code: 'already_decided' });
    expect(late.message).toBe(`request ${id} was already denied by user:bob (editor) 1m 5s ago; your answer changed nothing`);
    expect(late.record?.status).toBe('denied');
  });

  it.each([
    ['consumed', 'was already approved by user:alice (editor) 0ms ago, and a call has used that'],
    ['cancelled', 'was withdrawn by the one who asked'],
    ['revoked', 'was already revoked by user:alice (editor) 0ms ago'],
  ] as const)('says of a %s request what became of it', async (status, words) => {
    const { approvals, store, alice } = await bench();
    const { id, digest } = await opened(store);
    await approvals.approve(id, alice.signer);
    if (status === 'consumed') await approvals.consume(id, digest, 'test');
    if (status === 'cancelled') await approvals.cancel(id, 'mcp:laptop');
    if (status === 'revoked') await approvals.revoke(id, 'user:alice');
    expect(await approvals.deny(id, 'user:alice')).toMatchObject({ code: 'already_decided', message: expect.stringContaining(words) });
  });

  it('that comes too late or too early says what still stops it', async () => {
    const { approvals, store, alice } = await bench();
    const { id } = await opened(store);
    expect(await approvals.revoke(id, 'user:bob')).toMatchObject({
      ok: false,
      message: `request ${id} still waits for an answer, so there is no approval to take back; your answer changed nothing; deny it if it must not run`,
    });
    await approvals.approve(id, alice.signer);
    expect(await approvals.deny(id, 'user:bob')).toMatchObject({
      ok: false,
      message: `request ${id} was already approved by user:alice (editor) 0ms ago; your answer changed nothing; revoke it if it must not run`,
    });
    expect((await approvals.get(id))?.status).toBe('approved');
  });

  it('after the hour is over is refused, and says that nothing ran', async () => {
    const { approvals, store, alice, clock, names } = await bench();
    const { id } = await opened(store);
    clock.advance(3_600_000);
    expect(await approvals.approve(id, alice.signer)).toMatchObject({
      ok: false,
      code: 'expired',
      message: expect.stringContaining('nothing ran'),
    });
    expect(await approvals.deny(id, 'user:alice')).toMatchObject({ ok: false, code: 'expired' });
    expect(await names()).toEqual(['approval.requested', 'approval.expired']);
  });

  it('by the one who asked is refused, except at the palette', async () => {
    const { approvals, store, alice } = await bench();
    const own = await opened(store, draftOf({ agent: { id: 'user:alice', host: 'cli' } }));
    const unsigned = { ...alice.signer, sign: vi.fn<Signer['sign']>() };
    expect(await approvals.approve(own.id, unsigned)).toMatchObject({ ok: false, code: 'self_approval' });
    // Nothing is signed that the store would have to refuse.
    expect(unsigned.sign).not.toHaveBeenCalled();
    expect((await approvals.get(own.id))?.status).toBe('pending');
    const palette = await opened(store, draftOf({ agent: { id: 'user:alice', host: 'palette' }, action: stopAction(101, 'user:alice') }));
    expect(await approvals.approve(palette.id, alice.signer)).toMatchObject({ ok: true });
  });

  it('with a key that is not pinned is refused and leaves the request open', async () => {
    const { approvals, store, pinned, alice } = await bench();
    const { id } = await opened(store);
    const stranger = createApprover('user:alice');
    expect(await approvals.approve(id, stranger.signer)).toMatchObject({ ok: false, code: 'key_not_trusted' });
    pinned.length = 0;
    expect(await approvals.approve(id, alice.signer)).toMatchObject({ ok: false, code: 'key_not_trusted' });
    expect((await approvals.get(id))?.status).toBe('pending');
  });

  it('with a signer that names a pinned key but signs with another is refused', async () => {
    const { approvals, store, alice } = await bench();
    const { id } = await opened(store);
    const impostor = { ...signerFrom(generateApproverKey().privateKey, 'user:alice'), publicKey: alice.signer.publicKey };
    expect(await approvals.approve(id, impostor)).toMatchObject({ ok: false, code: 'key_not_trusted' });
    expect((await approvals.get(id))?.status).toBe('pending');
  });

  it.each([
    ['an action that its digest does not cover', (record: RequestRecord) => ({ ...record, action: stopAction(103) })],
    ['a title of something else', (record: RequestRecord) => ({ ...record, title: 'Look at VM 200' })],
  ])('of a record with %s is refused as tampered', async (_, change) => {
    const { store, deps, alice } = await bench();
    const { id } = await opened(store);
    const requests = { ...store.requests, get: async (key: string) => store.requests.get(key).then((record) => record && change(record)) };
    expect(await createApprovals({ ...deps, requests }).approve(id, alice.signer)).toMatchObject({ ok: false, code: 'tampered' });
    expect((await store.requests.get(id))?.status).toBe('pending');
  });

  it('does not make a second grant when two windows answer at once', async () => {
    const { approvals, store, alice, deps } = await bench();
    const { id } = await opened(store);
    const answers = await Promise.all([
      approvals.approve(id, alice.signer),
      createApprovals(deps).approve(id, alice.signer),
      approvals.deny(id, 'user:bob'),
    ]);
    expect(answers.filter((answer) => answer.ok)).toHaveLength(1);
    expect(answers.filter((answer) => answer.code === 'already_decided')).toHaveLength(2);
  });
});

describe('denying and cancelling', () => {
  it('keeps a message for the model, well-formed and bounded', async () => {
    const { approvals, store } = await bench();
    const { id } = await opened(store);
    const answer = await approvals.deny(id, 'user:alice', `use the test VM\ud800${'x'.repeat(5000)}`);
    expect(answer).toMatchObject({ ok: true, code: 'denied', message: expect.stringContaining('it will not run') });
    const message = (await approvals.get(id))?.decision?.message ?? '';
    expect(message.startsWith('use the test VM\ufffd')).toBe(true);
    expect(message).toHaveLength(2000);
  });

  it('of what is over already is quiet for cancel and said for deny', async () => {
    const { approvals, store } = await bench();
    const { id } = await opened(store);
    await approvals.cancel(id, 'mcp:laptop');
    await approvals.cancel(id, 'mcp:laptop');
    expect(await approvals.deny(id, 'user:alice')).toMatchObject({ ok: false, code: 'already_decided' });
    expect(await approvals.revoke('req-00000000', 'user:alice')).toMatchObject({ ok: false, code: 'not_found' });
  });
});

describe('trusting a key', () => {
  it('is written down before it counts, and once', async () => {
    const { approvals, names, pinned } = await bench();
    const { publicKey } = generateApproverKey();
    expect(await approvals.isTrusted(publicKey)).toBe(false);
    await approvals.trust(bobs(publicKey));
    await approvals.trust(bobs(publicKey));
    expect(await approvals.isTrusted(publicKey)).toBe(true);
    expect(pinned).toHaveLength(2);
    expect(await names()).toEqual(['approver.trusted']);
  });

  it('does not count when it cannot be written down', async () => {
    const { approvals, store } = await bench();
    await store.close();
    const { publicKey } = generateApproverKey();
    await expect(approvals.trust(bobs(publicKey))).rejects.toMatchObject({ code: 'audit_unavailable' });
    expect(await approvals.isTrusted(publicKey)).toBe(false);
  });

  it('is refused for what is no key, and where nothing can be pinned', async () => {
    const { approvals, deps } = await bench();
    await expect(approvals.trust(bobs('ed25519:nonsense'))).rejects.toMatchObject({ code: 'bad_key' });
    const { pinKey: _, ...without } = deps;
    await expect(createApprovals(without).trust(bobs(generateApproverKey().publicKey))).rejects.toMatchObject({ code: 'cannot_pin' });
  });
});

describe('looking', () => {
  it('passes lists, counts and changes on', async () => {
    const { approvals, store } = await bench();
    let changes = 0;
    const stop = approvals.onChange(() => {
      changes += 1;
    });
    const { id } = await opened(store, draftBy('mcp:a'));
    expect(changes).toBe(1);
    stop();
    await approvals.deny(id, 'user:alice');
    expect(changes).toBe(1);
    expect(await approvals.countPending()).toBe(0);
    expect((await approvals.list({ limit: 10 })).records.map((record) => record.status)).toEqual(['denied']);
  });

  it('builds cards for the level that holds now', async () => {
    let level: 'balanced' | 'strict' = 'balanced';
    const { approvals, store } = await bench({ level: () => level });
    const record = await opened(store);
    expect((await approvals.card(record.id))?.typeToConfirm).toBeUndefined();
    level = 'strict';
    expect((await approvals.card(record.id))?.typeToConfirm).toMatch(/^web100 /);
  });
});
