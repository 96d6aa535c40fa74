import { describe, expect, it } from 'vitest';
import { generateApproverKey, signerFrom } from '#approval/keys';
import { createSecuritySettings } from '#approval/security-settings';
import { signPayload } from '#approval/signed';
import type { ApproverKey, Signer } from '#kernel/approval/answer';
import type { LevelPayload, RulePayload } from '#kernel/approval/security';
import type { SecurityStore, StoredLevel, StoredRule } from '#kernel/ports/store';
import { type SecurityLevel, securityLevels } from '#kernel/tiers';
import { createApprover, createFakeClock, grantFor, openTestStore } from '../../integration/stores/store-fixtures.ts';

const hour = 3_600_000;
const day = 24 * hour;

async function createDesk(configured: SecurityLevel = 'balanced') {
  const clock = createFakeClock();
  const store = await openTestStore({ clock });
  const alice = createApprover('user:alice');
  const pinned: ApproverKey[] = [alice.pinned];
  /** What a writer of the store may put there instead. */
  const forged: { level?: StoredLevel; rules?: readonly StoredRule[] } = {};
  const security: SecurityStore = {
    ...store.security,
    level: async () => forged.level ?? (await store.security.level()),
    rules: async () => forged.rules ?? (await store.security.rules()),
  };
  const settings = createSecuritySettings({
    store: security,
    clock,
    configured,
    trustedKeys: async () => pinned,
    checkPattern: (text) => (text === 'bad' ? { ok: false, why: 'this is no pattern' } : { ok: true, text: text.trim() }),
  });
  return { clock, store, alice, pinned, forged, settings };
}

const levelPayload = (level: SecurityLevel, issuedAt: number): LevelPayload => ({
  version: 1,
  setting: 'security_level',
  level,
  approver: 'user:alice',
  issuedAt,
});
function rulePayload(changes: Partial<RulePayload> = {}): RulePayload {
  const issuedAt = 1_800_000_000_000;
  return {
    version: 1,
    setting: 'auto_approve',
    pattern: 'tool:wake_node',
    action: 'allow',
    approver: 'user:alice',
    issuedAt,
    expiresAt: issuedAt + hour,
    ...changes,
  };
}

describe('the security level', () => {
  it('needs the pinned keys only where somebody has set one, and is not to be had without them then', async () => {
    const { settings, alice, clock, store } = await createDesk('relaxed');
    const unreadable = createSecuritySettings({
      store: store.security,
      clock,
      configured: 'relaxed',
      trustedKeys: () => Promise.reject(new Error('the file of keys cannot be read')),
      checkPattern: (text) => ({ ok: true, text }),
    });
    expect(await unreadable.level()).toEqual({ level: 'relaxed', from: 'configuration' });
    await settings.setLevel('strict', alice.signer);
    await expect(unreadable.level()).rejects.toThrow('cannot be read');
  });

  it('is the configuration’s until a person signs another, for every process', async () => {
    const { settings, alice, store } = await createDesk('relaxed');
    expect(await settings.level()).toEqual({ level: 'relaxed', from: 'configuration' });
    expect(await settings.setLevel('strict', alice.signer)).toMatchObject({ ok: true, code: 'set' });
    expect(await settings.level()).toEqual({ level: 'strict', from: 'store', by: 'user:alice' });
    // A signed one may also be looser.
    await settings.setLevel('relaxed', alice.signer);
    expect(await settings.level()).toMatchObject({ level: 'relaxed', from: 'store' });
    const changes = (await store.audit.read(0, 10)).filter((record) => record.name === 'policy.changed');
    expect(changes.map((record) => record.attributes['level'])).toEqual(['strict', 'relaxed']);
  });

  it('set by a key nobody pinned is refused, and nothing is stored', async () => {
    const { settings, store } = await createDesk();
    const stranger = createApprover('user:alice').signer;
    expect(await settings.setLevel('relaxed', stranger)).toMatchObject({ ok: false, code: 'key_not_trusted' });
    // A pinned name and key in front of another private half.
    const posing: Signer = { ...stranger, publicKey: (await createDesk()).alice.signer.publicKey };
    expect(await settings.setLevel('relaxed', posing)).toMatchObject({ ok: false });
    expect(await store.security.level()).toBeUndefined();
  });

  const pairs = securityLevels.flatMap((written) => securityLevels.map((configured) => [written, configured] as const));
  it.each(pairs)('%s, written by nobody, over a configured %s counts only if stricter', async (written, configured) => {
    const { settings, forged, clock, pinned } = await createDesk(configured);
    const stricter = securityLevels.indexOf(written) > securityLevels.indexOf(configured);
    const mallory = createApprover('user:alice');
    const signed = await signPayload(levelPayload(written, clock.now()), mallory.signer);
    const other = (await signPayload(levelPayload(written, 1), await pinnedSigner(pinned))).proof;
    if (other.kind !== 'ed25519' || signed.proof.kind !== 'ed25519') throw new Error('no such proof');
    const wrongKeyId = { ...signed, proof: { ...signed.proof, keyId: other.keyId } };
    for (const level of [{ unsigned: written }, { signed }, { signed: wrongKeyId }]) {
      forged.level = level;
      const found = await settings.level();
      expect(found).toMatchObject({ level: stricter ? written : configured, from: stricter ? 'store' : 'configuration' });
      expect(found.warning).toContain(`the store says \`${written}\``);
    }
  });

  it('signed by a key that is pinned no more counts no more', async () => {
    const { settings, alice, pinned } = await createDesk('strict');
    await settings.setLevel('relaxed', alice.signer);
    expect((await settings.level()).level).toBe('relaxed');
    pinned.length = 0;
    expect(await settings.level()).toMatchObject({
      level: 'strict',
      from: 'configuration',
      warning: expect.stringContaining('not trusted'),
    });
  });

  it('whose words were changed under the signature counts for nothing', async () => {
    const { settings, alice, store, forged } = await createDesk('strict');
    await settings.setLevel('strict', alice.signer);
    const stored = await store.security.level();
    if (stored === undefined || !('signed' in stored)) throw new Error('not stored');
    forged.level = { signed: { ...stored.signed, payload: { ...stored.signed.payload, level: 'relaxed' } } };
    expect(await settings.level()).toMatchObject({ level: 'strict', warning: expect.stringContaining('does not fit') });
  });

  it('put back to an older signature does not loosen what this process has seen', async () => {
    const { settings, alice, store, forged, clock } = await createDesk('balanced');
    await settings.setLevel('relaxed', alice.signer);
    const old = await store.security.level();
    clock.advance(1_000);
    await settings.setLevel('strict', alice.signer);
    expect((await settings.level()).level).toBe('strict');
    if (old !== undefined) forged.level = old;
    expect(await settings.level()).toMatchObject({ level: 'balanced', from: 'configuration', warning: expect.stringContaining('older') });
  });

  it('set twice within a millisecond, or where the other clock was ahead, is the newer one', async () => {
    const { settings, alice, clock } = await createDesk();
    await settings.setLevel('strict', alice.signer);
    expect((await settings.level()).level).toBe('strict');
    clock.advance(-60_000);
    await settings.setLevel('relaxed', alice.signer);
    expect((await settings.level()).level).toBe('relaxed');
  });
});

describe('an auto-approve rule', () => {
  const allow = { pattern: 'tool:wake_node', action: 'allow', lifeMs: hour } as const;

  it('is set, listed, replaced, over, and removed, each change written down', async () => {
    const { settings, alice, clock, store } = await createDesk();
    expect(await settings.setRule(allow, alice.signer)).toMatchObject({ ok: true, code: 'set' });
    expect(await settings.rules()).toEqual([
      { pattern: 'tool:wake_node', action: 'allow', counts: 'allow', by: 'user:alice', expiresAt: clock.now() + hour },
    ]);
    await settings.setRule({ ...allow, action: 'block', lifeMs: 2 * hour }, alice.signer);
    expect(await settings.rules()).toMatchObject([{ counts: 'block' }]);
    await settings.setRule({ ...allow, pattern: 'destination:.a.b' }, alice.signer);
    clock.advance(hour);
    expect(await settings.rules()).toMatchObject([{ pattern: 'tool:wake_node' }]);
    expect(await settings.removeRule(' tool:wake_node ', alice.signer)).toMatchObject({ ok: true, code: 'removed' });
    expect(await settings.removeRule('tool:wake_node', alice.signer)).toMatchObject({ ok: false, code: 'not_found' });
    expect(await settings.rules()).toEqual([]);
    const names = (await store.audit.read(0, 10)).map((record) => record.name);
    expect(names).toEqual(Array<string>(4).fill('policy.changed'));
  });

  it.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 30 * day + 1])('with a life of %s ms is refused', async (lifeMs) => {
    const { settings, alice } = await createDesk();
    expect(await settings.setRule({ ...allow, lifeMs }, alice.signer)).toMatchObject({ ok: false, code: 'invalid_life' });
    expect(await settings.setRule({ ...allow, lifeMs: 30 * day }, alice.signer)).toMatchObject({ ok: true });
  });

  it('that is no pattern, or signed by nobody we know, is refused', async () => {
    const { settings, alice } = await createDesk();
    expect(await settings.setRule({ ...allow, pattern: 'bad' }, alice.signer)).toMatchObject({
      code: 'invalid_pattern',
      message: 'this is no pattern; nothing was set',
    });
    expect(await settings.setRule(allow, createApprover().signer)).toMatchObject({ ok: false, code: 'key_not_trusted' });
    expect(await settings.rules()).toEqual([]);
  });

  it('is removed only by who holds a pinned key, not by who knows one', async () => {
    const { settings, alice } = await createDesk();
    await settings.setRule({ ...allow, action: 'block' }, alice.signer);
    const posing: Signer = { ...createApprover().signer, publicKey: alice.signer.publicKey };
    for (const signer of [createApprover().signer, posing])
      expect(await settings.removeRule(allow.pattern, signer)).toMatchObject({ ok: false, code: 'key_not_trusted' });
    expect(await settings.rules()).toHaveLength(1);
  });

  it('that nobody signed counts only if it makes things stricter', async () => {
    const { settings, forged } = await createDesk();
    forged.rules = (['allow', 'prompt', 'block'] as const).map((unsigned) => ({ pattern: `tool:${unsigned}`, unsigned }));
    const [yes, maybe, no] = await settings.rules();
    expect(yes).not.toHaveProperty('counts');
    expect([maybe?.counts, no?.counts]).toEqual(['prompt', 'block']);
    for (const rule of [yes, maybe, no]) expect(rule?.warning).toContain('nobody signed it');
  });

  it.each([
    ['signed with a strange key', {}, 'stranger', /not trusted/],
    ['moved to another pattern', { pattern: 'tool:run_command' }, 'alice', /another pattern/],
    ['signed for too long', { expiresAt: 1_800_000_000_000 + 31 * day }, 'alice', /30 days/],
    ['signed in the future', { issuedAt: 1_800_000_000_000 + 2 * hour, expiresAt: 1_800_000_000_000 + 3 * hour }, 'alice', /in the future/],
    ['over', { expiresAt: 1_800_000_000_000 - 1 }, 'alice', /time is over/],
  ] as const)('%s allows nothing', async (_name, changes, who, warning) => {
    const { settings, alice, forged } = await createDesk();
    const signer = who === 'alice' ? alice.signer : createApprover().signer;
    forged.rules = [{ pattern: 'tool:wake_node', signed: await signPayload(rulePayload(changes), signer) }];
    const [rule] = await settings.rules();
    expect(rule).not.toHaveProperty('counts');
    expect(rule?.warning).toMatch(warning);
  });

  it('that counted once does not count changed, nor under a key that is pinned no more', async () => {
    const { settings, alice, forged, pinned } = await createDesk();
    const signed = await signPayload(rulePayload(), alice.signer);
    forged.rules = [{ pattern: 'tool:wake_node', signed }];
    for (let time = 0; time < 2; time += 1) expect((await settings.rules())[0]).toMatchObject({ counts: 'allow' });
    const changed = { ...signed, payload: { ...signed.payload, expiresAt: signed.payload.expiresAt + 1 } };
    forged.rules = [{ pattern: 'tool:wake_node', signed: changed }];
    for (let time = 0; time < 2; time += 1) expect((await settings.rules())[0]?.warning).toMatch(/does not fit/);
    forged.rules = [{ pattern: 'tool:wake_node', signed }];
    pinned.length = 0;
    expect((await settings.rules())[0]?.warning).toMatch(/not trusted/);
  });

  it('is not signed by a grant, nor a grant by a rule', async () => {
    const { settings, alice, forged } = await createDesk();
    const request = { id: 'req-1a2b3c4d', digest: 'a'.repeat(64), expiresAt: 0 };
    const { proof } = await grantFor(request, alice, 1_800_000_000_000);
    forged.rules = [{ pattern: 'tool:wake_node', signed: { proof, payload: rulePayload() } }];
    expect((await settings.rules())[0]).not.toHaveProperty('counts');
  });
});

/** Another key whose id is that of a pinned one cannot be made here; so: a signature by one key under the id of another. */
async function pinnedSigner(pinned: ApproverKey[]): Promise<Signer> {
  const pair = generateApproverKey();
  pinned.push({ name: 'user:bob', key: pair.publicKey });
  return signerFrom(pair.privateKey, 'user:bob');
}

describe('pausing all agents', () => {
  it('takes no key; lifting it takes a pinned one, for just this pause', async () => {
    const { settings, alice, store, clock, pinned } = await createDesk();
    expect(await settings.pause('user:bob', 'odd things')).toMatchObject({ ok: true, code: 'set' });
    expect(await settings.level()).toMatchObject({ paused: { by: 'user:bob', at: clock.now(), reason: 'odd things' } });
    const stranger = signerFrom(generateApproverKey().privateKey, 'user:mallory');
    expect(await settings.resume(stranger)).toMatchObject({ ok: false, code: 'key_not_trusted' });
    expect(await settings.level()).toHaveProperty('paused');
    const drafted = await settings.draft({ kind: 'resume' }, alice.signer.approver);
    if (!drafted.ok) throw new Error(drafted.refusal.message);
    const signed = await signPayload(drafted.payload, alice.signer);
    expect(await settings.accept(signed)).toMatchObject({ ok: true, code: 'removed' });
    expect(await settings.level()).not.toHaveProperty('paused');
    // What was signed for the first pause does not lift a later one.
    clock.advance(1_000);
    await settings.pause('user:bob');
    expect(await settings.accept(signed)).toMatchObject({ ok: false, code: 'not_found' });
    expect(await settings.level()).toHaveProperty('paused');
    expect(await settings.resume(alice.signer)).toMatchObject({ ok: true });
    expect(await settings.resume(alice.signer)).toMatchObject({ ok: false, code: 'not_found', message: 'agents are not paused' });
    expect(pinned).toHaveLength(1);
    expect((await store.audit.read(0, 10)).map(({ attributes }) => [attributes['by'], attributes['removed']])).toEqual([
      ['user:bob', undefined],
      ['user:alice', true],
      ['user:bob', undefined],
      ['user:alice', true],
    ]);
  });
});
