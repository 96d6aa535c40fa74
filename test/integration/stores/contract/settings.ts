import { describe, expect, it } from 'vitest';
import { verifyTrail } from '#audit/verify-trail';
import { keyOfProof } from '#kernel/approval/proof';
import type { Store } from '#kernel/ports/store';
import { levelSetting, resumeSetting, ruleSetting } from '../store-fixtures.ts';
import type { MakeHarness } from './harness.ts';

const pattern = 'destination:.example.com';
const hour = 3_600_000;

async function changes(store: Store) {
  return (await store.audit.read(0, 5000)).filter((record) => record.name === 'policy.changed').map((record) => record.attributes);
}

export function settingsContract(makeHarness: MakeHarness): void {
  describe('the security level', () => {
    it('is nobody\u2019s at first, and then the last one that was set, for every connection', async () => {
      const harness = await makeHarness();
      const [store, other] = [await harness.open(), await harness.open()];
      expect(await store.security.level()).toBeUndefined();
      await store.security.setLevel(levelSetting('strict', harness.now()));
      await other.security.setLevel(levelSetting('relaxed', harness.now() + 1, 'user:bob'));
      expect(await store.security.level()).toEqual({ signed: levelSetting('relaxed', harness.now() + 1, 'user:bob') });
      await other.close();
      expect(await (await harness.open()).security.level()).toEqual(await store.security.level());
    });

    it('is in the trail with who set what, by which key', async () => {
      const harness = await makeHarness();
      const store = await harness.open();
      const setting = levelSetting('strict', harness.now());
      await store.security.setLevel(setting);
      expect(await changes(store)).toEqual([
        { setting: 'security_level', level: 'strict', issuedAt: harness.now(), by: 'user:alice', key_id: keyOfProof(setting.proof) },
      ]);
      expect(await verifyTrail(store.audit)).toMatchObject({ ok: true, records: 1 });
    });

    it.each<[string, object]>([
      ['a level that is none', { level: 'lax' }],
      ['no person', { approver: '' }],
      ['more than was signed', { extra: 1 }],
    ])('with %s is refused, and nothing is written', async (_, change) => {
      const harness = await makeHarness();
      const store = await harness.open();
      const setting = levelSetting('strict', harness.now());
      const bad = { ...setting, payload: { ...setting.payload, ...change } };
      await expect(store.security.setLevel(bad)).rejects.toMatchObject({ code: 'bad_setting' });
      expect([await store.security.level(), await store.audit.head()]).toEqual([undefined, undefined]);
    });
  });

  describe('the pause of all agents', () => {
    const pause = { by: 'user:alice', at: 1_800_000_000_000, reason: 'something odd \u201chere\u201d' };

    it('is seen by every connection at once, stands until it is lifted, and is in the trail', async () => {
      const harness = await makeHarness();
      const [store, other] = [await harness.open(), await harness.open()];
      expect(await store.security.pause()).toBeUndefined();
      expect(await store.security.setPause(pause)).toBe(true);
      expect(await other.security.pause()).toEqual({ pause });
      // A second one does not take the first one's place: it would hide who began.
      expect(await other.security.setPause({ by: 'user:bob', at: pause.at + 1 })).toBe(false);
      await other.close();
      const third = await harness.open();
      expect(await third.security.pause()).toEqual({ pause });
      const lifted = resumeSetting(pause.at, 'user:bob');
      expect(await third.security.liftPause(resumeSetting(pause.at - 1, 'user:bob'))).toBe(false);
      expect(await third.security.liftPause(lifted)).toBe(true);
      expect(await store.security.pause()).toEqual({ lifted });
      expect(await changes(store)).toEqual([
        { setting: 'agents_paused', by: 'user:alice', at: pause.at, reason: pause.reason },
        { setting: 'agents_paused', removed: true, by: 'user:bob', at: pause.at, key_id: keyOfProof(lifted.proof), signed: lifted },
      ]);
      // Another one takes the place of what lifted the last.
      expect(await third.security.setPause({ ...pause, at: pause.at + 1 })).toBe(true);
      expect(await store.security.pause()).toEqual({ pause: { ...pause, at: pause.at + 1 } });
      expect(await store.security.liftPause(lifted)).toBe(false);
      expect(await verifyTrail(store.audit)).toMatchObject({ ok: true, records: 3 });
    });

    it('of two who pause at once is one', async () => {
      const harness = await makeHarness();
      const stores = [await harness.open(), await harness.open()];
      const set = await Promise.all(stores.map((store, index) => store.security.setPause({ by: `user:${index}`, at: pause.at + index })));
      expect(set.toSorted((a, b) => Number(a) - Number(b))).toEqual([false, true]);
      expect(await changes(await harness.open())).toHaveLength(1);
    });
  });

  describe('auto-approve rules', () => {
    it('are there for every connection, by pattern, until their time is over by the store\u2019s clock', async () => {
      const harness = await makeHarness();
      const [store, other] = [await harness.open(), await harness.open()];
      expect(await store.security.rules()).toEqual([]);
      const now = harness.now();
      const short = ruleSetting('tool:write_file:src/**', 'allow', now, { lifeMs: hour });
      const long = ruleSetting(pattern, 'block', now, { lifeMs: 2 * hour });
      await store.security.setRule(short);
      await other.security.setRule(long);
      expect(await store.security.rules()).toEqual([
        { pattern, signed: long },
        { pattern: short.payload.pattern, signed: short },
      ]);
      await harness.advance(hour - 1);
      expect(await other.security.rules()).toHaveLength(2);
      await harness.advance(1);
      expect(await other.security.rules()).toEqual([{ pattern, signed: long }]);
      await harness.advance(hour);
      expect(await store.security.rules()).toEqual([]);
    });

    it('replace the one of the same pattern', async () => {
      const harness = await makeHarness();
      const store = await harness.open();
      await store.security.setRule(ruleSetting(pattern, 'allow', harness.now()));
      const second = ruleSetting(pattern, 'prompt', harness.now(), { by: 'user:bob' });
      await store.security.setRule(second);
      expect(await store.security.rules()).toEqual([{ pattern, signed: second }]);
    });

    it('can be removed, once', async () => {
      const harness = await makeHarness();
      const store = await harness.open();
      const kept = ruleSetting('tool:run_command:npm test', 'allow', harness.now());
      await store.security.setRule(ruleSetting(pattern, 'allow', harness.now()));
      await store.security.setRule(kept);
      expect(await (await harness.open()).security.removeRule(pattern, 'user:bob')).toBe(true);
      expect(await store.security.removeRule(pattern, 'user:bob')).toBe(false);
      expect(await store.security.rules()).toEqual([{ pattern: kept.payload.pattern, signed: kept }]);
    });

    it('that are over are not there to be removed', async () => {
      const harness = await makeHarness();
      const store = await harness.open();
      await store.security.setRule(ruleSetting(pattern, 'allow', harness.now(), { lifeMs: 1 }));
      await harness.advance(1);
      expect(await store.security.removeRule(pattern, 'user:bob')).toBe(false);
      expect(await changes(store)).toHaveLength(1);
    });

    it('are in the trail with who, what and until when', async () => {
      const harness = await makeHarness();
      const store = await harness.open();
      const setting = ruleSetting(pattern, 'allow', harness.now());
      await store.security.setRule(setting);
      await store.security.removeRule(pattern, 'user:bob');
      const { issuedAt, expiresAt } = setting.payload;
      expect(await changes(store)).toEqual([
        { setting: 'auto_approve', pattern, action: 'allow', issuedAt, expiresAt, by: 'user:alice', key_id: keyOfProof(setting.proof) },
        { setting: 'auto_approve', pattern, removed: true, by: 'user:bob' },
      ]);
      expect(await verifyTrail(store.audit)).toMatchObject({ ok: true, records: 2 });
    });

    it.each(['', 'a\nb', '\u0000', 'x\u202ey', 'p'.repeat(301), '\ud800'])('with the pattern %j are refused untouched', async (bad) => {
      const harness = await makeHarness();
      const store = await harness.open();
      await expect(store.security.setRule(ruleSetting(bad, 'allow', harness.now()))).rejects.toMatchObject({ code: 'bad_setting' });
      expect(await store.security.removeRule(bad, 'user:bob')).toBe(false);
      expect([await store.security.rules(), await store.audit.head()]).toEqual([[], undefined]);
    });

    it('are a thousand at most; those that are over make room', { timeout: 120_000 }, async () => {
      const harness = await makeHarness();
      const store = await harness.open();
      const now = harness.now();
      for (let index = 0; index < 1000; index += 1)
        await store.security.setRule(ruleSetting(`destination:h${index}`, 'allow', now, { lifeMs: index === 0 ? hour : 2 * hour }));
      const more = ruleSetting('destination:more', 'block', now, { lifeMs: 3 * hour });
      await expect(store.security.setRule(more)).rejects.toMatchObject({ code: 'too_many_rules', audience: 'user' });
      await store.security.setRule(ruleSetting('destination:h7', 'block', now, { lifeMs: 2 * hour }));
      await harness.advance(hour);
      await store.security.setRule(more);
      const rules = await store.security.rules();
      expect(rules).toHaveLength(1000);
      expect(rules.map((rule) => rule.pattern)).toEqual(rules.map((rule) => rule.pattern).toSorted());
    });

    it('set by four connections at once are all there', async () => {
      const harness = await makeHarness();
      const stores = await Promise.all(Array.from({ length: 4 }, () => harness.open()));
      const names = Array.from({ length: 12 }, (_, index) => `destination:h${String(index).padStart(2, '0')}`);
      await Promise.all(names.map((name, index) => stores[index % 4]!.security.setRule(ruleSetting(name, 'prompt', harness.now()))));
      expect((await stores[0]!.security.rules()).map((rule) => rule.pattern)).toEqual(names);
      expect(await changes(stores[1]!)).toHaveLength(12);
    });
  });

  describe('a change of the settings', () => {
    it('rings here and elsewhere', async () => {
      const harness = await makeHarness();
      const [here, there] = [await harness.open(), await harness.open()];
      const rung = [here, there].map(
        (store) =>
          new Promise<void>((resolve) => {
            const stop = store.security.onChange(() => {
              stop();
              resolve();
            });
          }),
      );
      await here.security.setLevel(levelSetting('strict', harness.now()));
      await Promise.all(rung);
      expect(await there.security.level()).toEqual(await here.security.level());
    });

    it('is refused after the store is closed', async () => {
      const harness = await makeHarness();
      const store = await harness.open();
      await store.close();
      await expect(store.security.level()).rejects.toMatchObject({ code: 'store_closed' });
      await expect(store.security.setLevel(levelSetting('strict', harness.now()))).rejects.toMatchObject({ code: 'store_closed' });
    });
  });
}
