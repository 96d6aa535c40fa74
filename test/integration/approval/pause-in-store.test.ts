/** Whoever writes to the store lifts no pause: a signature does, and who saw the pause holds it until they see one. On both engines. */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { createPauseMemory } from '#app/config/pause-memory';
import { createSecuritySettings } from '#approval/security-settings';
import { signPayload } from '#approval/signed';
import { seal } from '#audit/seal';
import { systemClock } from '#execution/deadline';
import type { ApproverKey } from '#kernel/approval/answer';
import type { ResumePayload } from '#kernel/approval/security';
import type { Store } from '#kernel/ports/store';
import { openSqliteStore } from '#stores/sqlite/open-sqlite-store';
import { createApprover, temporaryFolder } from '../stores/store-fixtures.ts';
import { openTestValkey } from '../stores/valkey-fixtures.ts';
import { startValkey, type ValkeyServer } from '../stores/valkey-server.ts';

let server: ValkeyServer;
beforeAll(async () => {
  server = await startValkey();
}, 300_000);
afterAll(() => server.close());
beforeEach(async () => {
  await server.operator.flushall();
});

interface Engine {
  open(): Promise<Store>;
  /** What whoever can write to the store puts in the pause's place; undefined: takes it out. */
  forge(value: string | undefined): Promise<void>;
  stored(): Promise<string | undefined>;
}

const engines: Readonly<Record<string, () => Engine>> = {
  SQLite: () => {
    const file = join(temporaryFolder(), 'state', 'banksman.db');
    const raw = <T>(work: (database: DatabaseSync) => T): T => {
      const database = new DatabaseSync(file);
      try {
        return work(database);
      } finally {
        database.close();
      }
    };
    return {
      open: async () => {
        const store = await openSqliteStore({ file, seal });
        onTestFinished(() => store.close());
        return store;
      },
      forge: async (value) =>
        raw((database) => {
          database.exec("DELETE FROM settings WHERE key = 'agents_paused'");
          if (value !== undefined) database.prepare("INSERT INTO settings (key, value) VALUES ('agents_paused', ?)").run(value);
        }),
      stored: async () =>
        raw((database) => {
          const row = database.prepare("SELECT value FROM settings WHERE key = 'agents_paused'").get();
          return row === undefined ? undefined : String(row['value']);
        }),
    };
  },
  Valkey: () => ({
    open: () => openTestValkey(server),
    forge: async (value) => {
      if (value === undefined) await server.operator.del('molis:config:agents_paused');
      else await server.operator.set('molis:config:agents_paused', value);
    },
    stored: async () => (await server.operator.get('molis:config:agents_paused')) ?? undefined,
  }),
};

describe.each(Object.entries(engines))('a pause in %s', (_name, makeEngine) => {
  const alice = createApprover('user:alice');
  const mallory = createApprover('user:alice');

  /** A machine: its processes share a state directory. */
  async function machine(engine: Engine, stateDir = temporaryFolder(), pinned: readonly ApproverKey[] = [alice.pinned]) {
    const store = await engine.open();
    const settings = createSecuritySettings({
      ...{ store: store.security, clock: systemClock, configured: 'balanced', trustedKeys: async () => pinned },
      pauses: createPauseMemory({ stateDir, location: store.location }),
      checkPattern: (text) => ({ ok: true, text }),
    });
    return { store, stateDir, settings, paused: async () => (await settings.level()).paused };
  }

  async function liftSigned(pausedAt: number, by = mallory): Promise<string> {
    const payload: ResumePayload = {
      ...{ version: 1, setting: 'agents_resumed', approver: 'user:alice', issuedAt: Date.now(), nonce: 'x', pausedAt },
    };
    return JSON.stringify(await signPayload(payload, by.signer));
  }

  it('ends by a signature, which is then what the store holds, and a new process believes it', async () => {
    const engine = makeEngine();
    const here = await machine(engine);
    await here.settings.pause('user:bob', 'odd');
    expect(await here.paused()).toMatchObject({ by: 'user:bob', reason: 'odd' });
    expect(await here.settings.resume(mallory.signer)).toMatchObject({ ok: false, code: 'key_not_trusted' });
    expect(await here.settings.resume(alice.signer)).toMatchObject({ ok: true });
    expect(await here.settings.resume(alice.signer)).toMatchObject({ ok: false, code: 'not_found' });
    expect([await here.paused(), await (await machine(engine)).paused()]).toEqual([undefined, undefined]);
    expect(JSON.parse((await engine.stored()) ?? '')).toMatchObject({ payload: { setting: 'agents_resumed', approver: 'user:alice' } });
  });

  it.each([
    ['taken out', async () => undefined, 'nobody signed that it is over'],
    ['lifted by a stranger’s key', (at: number) => liftSigned(at), 'a key that is not trusted here'],
    [
      'lifted under another one’s signature',
      async (at: number) => (await liftSigned(at, alice)).replace(/"nonce":"x"/, '"nonce":"y"'),
      'does not fit',
    ],
  ] as const)('%s holds all the same, for this process and the next, is told and put back', async (_how, forged, words) => {
    const engine = makeEngine();
    const here = await machine(engine);
    await here.settings.pause('user:bob');
    const at = (await here.paused())?.at ?? 0;
    await engine.forge(await forged(at));
    expect(await (await machine(engine, here.stateDir)).paused()).toMatchObject({
      by: 'user:bob',
      at,
      warning: expect.stringContaining(words),
    });
    await engine.forge(await forged(at));
    expect(await here.paused()).toMatchObject({ by: 'user:bob', at, warning: expect.stringContaining(words) });
    // Whoever never saw it is paused, too, and the trail says why.
    expect(await (await machine(engine)).paused()).toMatchObject({ at });
    const told = (await here.store.audit.read(0, 100)).filter(({ attributes }) => attributes['put_back'] !== undefined);
    expect(told.length > 0).toBe((await engine.stored())?.includes('"by":"user:bob"') ?? false);
    expect(await here.settings.resume(alice.signer)).toMatchObject({ ok: true });
    expect(await here.paused()).toBeUndefined();
    expect(await (await machine(engine, here.stateDir)).paused()).toBeUndefined();
  });

  it('is not ended by an earlier one’s lift, nor by that one put back first', async () => {
    const engine = makeEngine();
    const here = await machine(engine);
    await here.settings.pause('user:bob');
    const first = await engine.stored();
    await here.settings.resume(alice.signer);
    const lift = await engine.stored();
    await here.settings.pause('user:carol');
    const { at = 0 } = (await here.paused()) ?? {};
    expect(at).toBeGreaterThan(JSON.parse(first ?? '{}').at);
    await engine.forge(first);
    expect(await here.paused()).toMatchObject({ by: 'user:carol', at, warning: expect.stringContaining('older pause') });
    await engine.forge(lift);
    for (const process of [here, await machine(engine, here.stateDir)])
      expect(await process.paused()).toMatchObject({ by: 'user:carol', at, warning: expect.stringContaining('an earlier pause') });
    expect(await here.settings.resume(alice.signer)).toMatchObject({ ok: true });
    expect(await here.paused()).toBeUndefined();
  });

  const far = Date.now() + 3_650 * 86_400_000;
  it.each([
    ['a pause', async () => JSON.stringify({ by: 'user:bob', at: far })],
    ['a lift that nobody signed', async () => liftSigned(far)],
  ])('from a future that no clock has (%s) is ended by a person, and what they sign for it ends no later one', async (_how, forged) => {
    const engine = makeEngine();
    const here = await machine(engine);
    await engine.forge(await forged());
    expect(await here.paused()).toMatchObject({ at: 0 });
    expect(await here.settings.resume(alice.signer)).toMatchObject({ ok: true });
    expect(await here.paused()).toBeUndefined();
    const lift = await engine.stored();
    await here.settings.pause('user:carol');
    expect(await here.paused()).toMatchObject({ by: 'user:carol', at: expect.closeTo(Date.now(), -6) });
    await engine.forge(lift);
    for (const process of [here, await machine(engine, here.stateDir)]) expect(await process.paused()).toMatchObject({ by: 'user:carol' });
  });

  it('is not ended by what was once signed for a moment that has yet to come', async () => {
    const engine = makeEngine();
    const here = await machine(engine);
    await here.settings.pause('user:bob');
    await engine.forge(await liftSigned(far, alice));
    expect(await here.paused()).toMatchObject({ by: 'user:bob', warning: expect.stringContaining('is yet to come') });
    expect(await here.settings.resume(alice.signer)).toMatchObject({ ok: true });
  });

  it('begins later than all that was lifted under a clock that was ahead, whatever else stands in the store', async () => {
    const engine = makeEngine();
    const here = await machine(engine);
    const lift = await liftSigned(Date.now() + 600_000, alice);
    await engine.forge(lift);
    expect(await here.paused()).toBeUndefined();
    await engine.forge(await liftSigned(far));
    await here.settings.pause('user:carol');
    await engine.forge(lift);
    expect(await here.paused()).toMatchObject({ by: 'user:carol' });
  });

  it('that was lifted stays so where the key is pinned no more, or a passkey came since', async () => {
    const engine = makeEngine();
    const here = await machine(engine);
    await here.settings.pause('user:bob');
    await here.settings.resume(alice.signer);
    const other = createApprover('user:bob');
    expect(await (await machine(engine, here.stateDir, [other.pinned])).paused()).toBeUndefined();
    // Who never saw that it counted has nothing but the signature.
    expect(await (await machine(engine, undefined, [other.pinned])).paused()).toMatchObject({
      warning: expect.stringContaining('not trusted'),
    });
  });

  it.each([
    ['damaged', '{"open":'],
    ['empty', ''],
  ])('in a memory that is %s counts as one, and a person ends it', async (_how, text) => {
    const engine = makeEngine();
    const here = await machine(engine);
    await here.settings.pause('user:bob');
    await here.settings.resume(alice.signer);
    const folder = join(here.stateDir, 'pauses');
    const [name = ''] = readdirSync(folder);
    writeFileSync(join(folder, name), text);
    const next = await machine(engine, here.stateDir);
    expect(await next.paused()).toMatchObject({ by: 'unknown', reason: expect.stringContaining(name) });
    expect(await (await machine(engine, here.stateDir)).paused()).toMatchObject({ by: 'unknown' });
    expect(await next.settings.resume(alice.signer)).toMatchObject({ ok: true });
    expect(await (await machine(engine, here.stateDir)).paused()).toBeUndefined();
    expect(JSON.parse(readFileSync(join(folder, name), 'utf8'))).toMatchObject({ lifted: expect.any(Number) });
  });

  it('in a memory that a clock wrote which was ahead can be ended, and nobody’s lift ends another by it', async () => {
    const engine = makeEngine();
    const first = await machine(engine);
    await first.settings.pause('user:bob');
    const folder = join(first.stateDir, 'pauses');
    const [name = ''] = readdirSync(folder);
    writeFileSync(join(folder, name), JSON.stringify({ open: { by: 'user:bob', at: far }, lifted: far }));
    const here = await machine(engine, first.stateDir);
    expect(await here.paused()).toMatchObject({ by: 'user:bob' });
    await engine.forge(await liftSigned(Date.now() + 60_000));
    expect(await here.paused()).toMatchObject({ warning: expect.stringContaining('not trusted') });
    expect(await here.settings.resume(alice.signer)).toMatchObject({ ok: true });
    expect(await here.paused()).toBeUndefined();
  });

  it('holds as long as the process does where nothing can be written down', async () => {
    const engine = makeEngine();
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'pauses'), 'in the way');
    const here = await machine(engine, folder);
    expect(await here.paused()).toBeDefined();
    rmSync(join(folder, 'pauses'));
    mkdirSync(join(folder, 'pauses'));
    await here.settings.resume(alice.signer);
    await here.settings.pause('user:bob');
    rmSync(join(folder, 'pauses'), { recursive: true });
    await engine.forge(undefined);
    expect(await here.paused()).toMatchObject({ by: 'user:bob' });
    // Seen again, it is written down again.
    expect(existsSync(join(folder, 'pauses'))).toBe(true);
  });
});
