import { describe, expect, it } from 'vitest';
import { parseConfig } from '#app/config/config';
import { createLiveSettings } from '#app/config/live-settings';
import { Fault } from '#kernel/errors';
import type { SecurityStore } from '#kernel/ports/store';
import { createApprover, createFakeClock, openTestStore } from '../../../integration/stores/store-fixtures.ts';

const hour = 3_600_000;

async function createDesk(config: object = {}) {
  const clock = createFakeClock();
  const store = await openTestStore({ clock });
  const alice = createApprover();
  const lines: string[] = [];
  const say = (line: string) => void lines.push(line);
  const state: { down?: Fault } = {};
  const failing = <T>(read: () => Promise<T>) => (state.down === undefined ? read() : Promise.reject(state.down));
  const security: SecurityStore = {
    ...store.security,
    level: () => failing(() => store.security.level()),
    rules: () => failing(() => store.security.rules()),
  };
  const live = createLiveSettings({
    config: parseConfig(config, 'test'),
    version: 'test',
    store: security,
    clock,
    log: { debug: say, info: say, warn: say, error: say },
    trustedKeys: async () => [alice.pinned],
  });
  return { live, alice, lines, state, clock };
}

describe('what decides at this moment', () => {
  it('is the configuration, then what people set', async () => {
    const { live, alice } = await createDesk();
    expect(live.known().securityLevel).toBe('balanced');
    const before = await live.now();
    expect(before.securityLevel).toBe('balanced');
    expect(await before.rules()).toEqual([]);
    await live.security.setLevel('relaxed', alice.signer);
    await live.security.setRule({ pattern: ' tool:wake_node:pve ', action: 'allow', lifeMs: hour }, alice.signer);
    const after = await live.now();
    expect(after.securityLevel).toBe('relaxed');
    expect(await after.rules()).toMatchObject([{ action: 'allow', pattern: { tool: 'wake_node', glob: 'pve' } }]);
    expect(after.version).not.toBe(before.version);
    expect(live.known()).toEqual(after);
    // Rules are applied anew to what is about to run; they void no approval by coming and going.
    await live.security.removeRule('tool:wake_node:pve', alice.signer);
    expect((await live.now()).version).toBe(after.version);
  });

  it('is the strictest there is, while the store cannot be read; and that is said once', async () => {
    const { live, alice, lines, state } = await createDesk({ securityLevel: 'relaxed' });
    await live.security.setRule({ pattern: 'tool:wake_node', action: 'allow', lifeMs: hour }, alice.signer);
    expect(await (await live.now()).rules()).toHaveLength(1);
    state.down = new Fault('store_unavailable', 'the store is gone');
    for (let time = 0; time < 3; time += 1) {
      const settings = await live.now();
      expect(settings).toMatchObject({ securityLevel: 'strict', unavailable: 'the store is gone' });
      // One of them may block.
      await expect(settings.rules()).rejects.toMatchObject({ code: 'store_unavailable' });
    }
    expect(live.known().securityLevel).toBe('strict');
    expect(lines).toEqual([expect.stringContaining('level strict: the store is gone')]);
    await expect(live.security.level()).rejects.toMatchObject({ code: 'store_unavailable' });
    delete state.down;
    const again = await live.now();
    expect([again.securityLevel, again.unavailable]).toEqual(['relaxed', undefined]);
  });

  it('tells who listens, after it knows itself', async () => {
    const { live, alice } = await createDesk();
    const heard: string[] = [];
    const { promise, resolve } = Promise.withResolvers<void>();
    const stop = live.security.onChange(() => {
      heard.push(live.known().securityLevel);
      if (heard.includes('strict')) resolve();
    });
    await live.security.setLevel('strict', alice.signer);
    await promise;
    stop();
    expect(heard.at(-1)).toBe('strict');
  });

  it('names each rule that does not count', async () => {
    const { live, alice, clock } = await createDesk();
    await live.security.setRule({ pattern: 'destination:.Example.com', action: 'block', lifeMs: hour }, alice.signer);
    expect(await live.security.rules()).toEqual([
      { pattern: 'destination:.example.com', action: 'block', by: 'user:alice', expiresAt: clock.now() + hour },
    ]);
    clock.advance(hour);
    expect(await live.security.rules()).toEqual([]);
  });
});
