/** What an editor remembers of a trail, on real stores: what fits together and is not what it was. */
import { cpSync, rmSync } from 'node:fs';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { LocalApp } from '#app/create-app';
import type { SecretStore } from '#hosts/vscode/approval-key';
import { lookAtTrail, seenPoint } from '#hosts/vscode/trail-memory';
import type { App } from '#kernel/app';
import { call, startWorld, type World } from './support.ts';

let world: World;
let secrets: SecretStore;
beforeEach(async () => {
  world = await startWorld();
  const kept = new Map<string, string>();
  secrets = { get: async (key) => kept.get(key), store: async (key, value) => void kept.set(key, value) };
});
afterEach(() => world.close());

async function record(app: App, calls: number): Promise<void> {
  for (let done = 0; done < calls; done += 1) await call(app, 'reboot_node', { node: 'pve' });
}

/** Runs `change` while nothing has the store open, and opens it again. */
async function behindTheBack(app: App, change: (file: string) => void): Promise<LocalApp> {
  await app.close();
  change(app.storeLocation.replace(/^sqlite:/, ''));
  return world.open();
}

describe('a trail that an editor saw', () => {
  it('goes on, and is remembered up to its newest record', async () => {
    let app = await world.open();
    await record(app, 2);
    expect(await lookAtTrail(secrets, app)).toBeUndefined();
    const seen = await seenPoint(secrets, app);
    expect(seen).toEqual(await app.audit.head().then((head) => head && { sequence: head.sequence, hash: head.hash }));
    app = await behindTheBack(app, () => undefined);
    await record(app, 1);
    expect(await lookAtTrail(secrets, app)).toBeUndefined();
    expect((await seenPoint(secrets, app))?.sequence).toBeGreaterThan(seen?.sequence ?? 0);
    expect(await app.audit.verify(seen)).toMatchObject({ ok: true });
  });

  it('is missed when the store is another one, however long, and told once', async () => {
    let app = await world.open();
    await record(app, 2);
    await lookAtTrail(secrets, app);
    const seen = await seenPoint(secrets, app);
    app = await behindTheBack(app, (file) => rmSync(path.dirname(file), { recursive: true }));
    await record(app, 5);
    expect(await app.audit.verify()).toMatchObject({ ok: true });
    expect(await app.audit.verify(seen)).toMatchObject({ ok: false, message: expect.stringContaining('rewritten') });
    expect(await lookAtTrail(secrets, app)).toContain('records of the audit trail were removed or rewritten');
    expect(await lookAtTrail(secrets, app)).toBeUndefined();
  });

  it('is missed when an older copy is put in its place', async () => {
    let app = await world.open();
    await record(app, 2);
    const older = path.join(world.stateDir, '..', 'older');
    app = await behindTheBack(app, (file) => cpSync(path.dirname(file), older, { recursive: true }));
    await record(app, 2);
    await lookAtTrail(secrets, app);
    const seen = await seenPoint(secrets, app);
    app = await behindTheBack(app, (file) => {
      rmSync(path.dirname(file), { recursive: true });
      cpSync(older, path.dirname(file), { recursive: true });
    });
    expect(await app.audit.verify()).toMatchObject({ ok: true });
    expect(await app.audit.verify(seen)).toMatchObject({ ok: false, message: expect.stringContaining('cut off') });
    expect(await lookAtTrail(secrets, app)).toContain('records of the audit trail were removed or rewritten');
  });

  it('is missed when it begins anew', async () => {
    let app = await world.open();
    await record(app, 1);
    await lookAtTrail(secrets, app);
    app = await behindTheBack(app, (file) => rmSync(path.dirname(file), { recursive: true }));
    expect(await lookAtTrail(secrets, app)).toContain('the trail ends at record 1');
  });

  it('may have lost its beginning to age', async () => {
    let app = await world.open();
    await record(app, 1);
    await lookAtTrail(secrets, app);
    const seen = await seenPoint(secrets, app);
    await record(app, 3);
    app = await behindTheBack(app, (file) => dropFront(file, seen?.sequence ?? 0));
    expect(await lookAtTrail(secrets, app)).toBeUndefined();
  });

  it('is known by its checkpoint when the record has left: hashes of what left cannot be others', async () => {
    let app = await world.open();
    await record(app, 1);
    await lookAtTrail(secrets, app);
    const seen = await seenPoint(secrets, app);
    await record(app, 3);
    app = await behindTheBack(app, (file) => {
      dropFront(file, seen?.sequence ?? 0);
      const database = new DatabaseSync(file);
      database.exec('DROP TRIGGER audit_tree_fixed; UPDATE audit_tree SET hash = zeroblob(32) WHERE level = 0 AND position = 0');
      database.close();
    });
    expect(await lookAtTrail(secrets, app)).toContain('records of the audit trail were removed or rewritten');
  });
});

/** As retention leaves it, as far as this look goes. */
function dropFront(file: string, upTo: number): void {
  const database = new DatabaseSync(file);
  const triggers = database.prepare("SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'audit'").all();
  for (const { name } of triggers) database.exec(`DROP TRIGGER ${String(name)}`);
  database.prepare('DELETE FROM audit WHERE sequence <= ?').run(upTo);
  database.close();
}
