/** What a passkey signs besides answers: settings that people share. Once there is one, a window's key makes nothing looser. */
import { describe, expect, it } from 'vitest';
import { createChangeDesk } from '#approval/passkey-desk';
import { createSecuritySettings } from '#approval/security-settings';
import type { ApproverKey } from '#kernel/approval/answer';
import type { SettingChange } from '#kernel/approval/passkey';
import { pageOrigin, softwareKey, type Twist } from '../../integration/approval/software-key.ts';
import { createApprover, createFakeClock, openTestStore } from '../../integration/stores/store-fixtures.ts';

const rule = { kind: 'rule', pattern: 'tool:wake_node', action: 'allow', lifeMs: 3_600_000 } as const;
const relaxed = { kind: 'level', level: 'relaxed' } as const;

async function bench() {
  const clock = createFakeClock();
  const store = await openTestStore({ clock });
  const alice = softwareKey();
  const window = createApprover('user:ann');
  const pins: ApproverKey[] = [alice.pin, window.pinned];
  const trustedKeys = async () => pins;
  const settings = createSecuritySettings({
    ...{ store: store.security, clock, trustedKeys, configured: 'balanced' },
    checkPattern: (text) => ({ ok: true, text }),
  });
  const accept = (signed: object) => settings.accept(signed as Parameters<typeof settings.accept>[0]);
  const changes = {
    settings: () => Promise.reject(new Error('nobody looks here')),
    draft: (change: unknown, pin: ApproverKey) => settings.draft(change as SettingChange, `user:${pin.name}`),
    accept,
  };
  const desk = createChangeDesk(pageOrigin, { requests: store.requests, clock, trustedKeys, changes });
  const begin = async (change: SettingChange) => {
    const begun = await desk.beginChange(change, alice.pin.name);
    if (!('options' in begun)) throw new Error(begun.message);
    return begun.options;
  };
  const change = async (wanted: SettingChange, twist: Twist = {}) =>
    desk.finishChange(alice.get((await begin(wanted)).challenge, { counter: 0, ...twist }));
  return { clock, store, alice, window, pins, settings, desk, begin, change };
}

describe('a passkey', () => {
  it('sets the level and a rule, and takes the rule away again', async () => {
    const { change, settings, store, clock } = await bench();
    expect(await change(relaxed)).toMatchObject({ ok: true, code: 'set' });
    expect(await settings.level()).toEqual({ level: 'relaxed', from: 'store', by: 'user:alice-phone' });
    expect(await change(rule)).toMatchObject({ ok: true });
    expect(await settings.rules()).toEqual([
      { pattern: rule.pattern, action: 'allow', counts: 'allow', by: 'user:alice-phone', expiresAt: clock.now() + rule.lifeMs },
    ]);
    expect(await change({ kind: 'remove_rule', pattern: rule.pattern })).toMatchObject({ ok: true, code: 'removed' });
    expect(await settings.rules()).toEqual([]);
    const trail = (await store.audit.read(0, 10)).map(({ attributes }) => attributes['key_id'] ?? attributes['removed']);
    expect(trail).toEqual([expect.stringMatching(/^passkey:/), expect.stringMatching(/^passkey:/), true]);
  });

  it('alone lifts a pause: the window’s key no longer does', async () => {
    const { settings, change, window } = await bench();
    await settings.pause('user:ann', 'look at this first');
    expect(await settings.resume(window.signer)).toMatchObject({ ok: false, code: 'needs_passkey' });
    expect(await settings.level()).toHaveProperty('paused');
    expect(await change({ kind: 'resume' })).toMatchObject({ ok: true, code: 'removed' });
    expect(await settings.level()).not.toHaveProperty('paused');
  });

  it('is verified again whenever the setting is read, by the pins of then', async () => {
    const { change, settings, pins, alice } = await bench();
    await change(relaxed);
    await change(rule);
    pins.splice(pins.indexOf(alice.pin), 1);
    expect(await settings.level()).toMatchObject({ level: 'balanced', warning: expect.stringContaining('not trusted') });
    expect((await settings.rules())[0]).not.toHaveProperty('counts');
  });

  it.each<[string, Twist]>([
    ['another page', { origin: 'https://banksman.lan:8443' }],
    ['another host name', { rpId: 'evil.lan' }],
    ['nobody verified', { flags: 0x01 }],
    ['nobody there', { flags: 0x04 }],
    ['a frame', { client: { crossOrigin: true } }],
    ['an enrolment', { type: 'webauthn.create' }],
    ['another passkey', { id: 'b3RoZXI' }],
  ])('changes nothing with %s', async (_what, twist) => {
    const { change, settings } = await bench();
    expect(await change(relaxed, twist)).toMatchObject({ ok: false });
    expect(await settings.level()).toEqual({ level: 'balanced', from: 'configuration' });
  });

  it('signs each change once, in time, and no other', async () => {
    const { begin, desk, alice, clock, settings } = await bench();
    const assertion = alice.get((await begin(relaxed)).challenge);
    expect(await desk.finishChange(assertion)).toMatchObject({ ok: true });
    expect(await desk.finishChange(assertion)).toMatchObject({ ok: false, code: 'challenge_over' });
    const late = await begin({ kind: 'level', level: 'strict' });
    clock.advance(120_001);
    expect(await desk.finishChange(alice.get(late.challenge))).toMatchObject({ ok: false, code: 'challenge_over' });
    expect((await settings.level()).level).toBe('relaxed');
  });

  it('that was revoked while its prompt was open changes nothing', async () => {
    const { begin, desk, alice, pins, settings } = await bench();
    const { challenge } = await begin(relaxed);
    pins.length = 0;
    expect(await desk.finishChange(alice.get(challenge))).toMatchObject({ ok: false, code: 'bad_assertion' });
    expect((await settings.level()).level).toBe('balanced');
  });

  it('whose counter went back is said to be copied', async () => {
    const { change } = await bench();
    expect(await change(rule, { counter: 7 })).toMatchObject({ ok: true });
    expect(await change(relaxed, { counter: 7 })).toMatchObject({ ok: false, message: expect.stringContaining('copy') });
  });
});

describe('a window’s key beside a passkey', () => {
  it('sets no lower level, no rule that allows, and takes none away that asks or refuses', async () => {
    const { settings, window, change } = await bench();
    const refused = { ok: false, code: 'needs_passkey', message: expect.stringContaining('a passkey is pinned') };
    expect(await settings.setLevel('relaxed', window.signer)).toMatchObject(refused);
    expect(await settings.setRule(rule, window.signer)).toMatchObject(refused);
    await change({ ...rule, action: 'block' });
    expect(await settings.removeRule(rule.pattern, window.signer)).toMatchObject(refused);
    expect((await settings.level()).level).toBe('balanced');
  });

  it('still makes things stricter', async () => {
    const { settings, window, change } = await bench();
    expect(await settings.setLevel('strict', window.signer)).toMatchObject({ ok: true });
    expect(await settings.setRule({ ...rule, action: 'block' }, window.signer)).toMatchObject({ ok: true });
    await change({ ...rule, pattern: 'destination:a.example' });
    expect(await settings.removeRule('destination:a.example', window.signer)).toMatchObject({ ok: true });
  });

  it('no longer counts for what it loosened before there was one', async () => {
    const { settings, window, pins, alice } = await bench();
    pins.splice(0, 1);
    await settings.setLevel('relaxed', window.signer);
    await settings.setRule(rule, window.signer);
    expect((await settings.level()).level).toBe('relaxed');
    pins.push(alice.pin);
    expect(await settings.level()).toMatchObject({ level: 'balanced', warning: expect.stringContaining('a passkey is pinned') });
    expect((await settings.rules())[0]).not.toHaveProperty('counts');
  });

  it('and a terminal’s key goes on as before', async () => {
    const { settings, pins } = await bench();
    const carol = createApprover('user:carol');
    pins.push({ ...carol.pinned, kind: 'terminal' });
    expect(await settings.setLevel('relaxed', carol.signer)).toMatchObject({ ok: true });
  });
});
