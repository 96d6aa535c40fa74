/** Guests that are protected by a tag, storages that hold their disks, and tags that go missing. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { LocalApp } from '#app/create-app';
import { cliAgent } from '#app/for-hosts';
import { approvedPlan, ended, step } from '../plans/support.ts';
import { agent, approvedCall, call, startWorld, type World } from './support.ts';

const protectedByTag = { protected: { tags: [{ tag: 'CI', reason: 'builds the releases' }] } };

let world: World;
beforeEach(async () => {
  world = await startWorld();
});
afterEach(async () => {
  await world.close();
});

function guest(vmid: number) {
  const found = world.demo.cluster.state.guests.get(vmid);
  if (found === undefined) throw new Error(`no guest ${vmid}`);
  return found;
}

describe('a guest that bears a protecting tag', () => {
  it('is refused like a listed one, with the reason that its author gave', async () => {
    const app = await world.open(protectedByTag);
    for (const [tool, input] of [
      ['start_vm', { vmid: 105 }],
      ['set_tags', { vmid: 105, tags: [] }],
      ['clone_guest', { vmid: 105, new_vmid: 300 }],
      ['delete_guest', { vmid: 105 }],
    ] as const) {
      expect(await call(app, tool, input)).toMatchObject({
        status: 'denied',
        code: 'protected_resource',
        message: expect.stringMatching(/guest 105 bears the protecting tag `ci`.*the reason given: builds the releases/),
      });
    }
    expect(await call(app, 'get_guest', { vmid: 105 })).toMatchObject({ status: 'ok' });
  });

  it.each([
    ['set_tags', { vmid: 101, tags: ['files', 'Ci'] }],
    ['set_guest_config', { vmid: 101, tags: ['ci'] }],
  ])('is not made by %s: the tag is people’s', async (tool, input) => {
    const app = await world.open(protectedByTag);
    expect(await call(app, tool, input)).toMatchObject({
      status: 'denied',
      code: 'protected_resource',
      message: expect.stringContaining('the tag `ci` protects guests, so only people give or take it'),
    });
  });

  it('is not made by going back to a snapshot that has the tag, nor by a clone of it', async () => {
    const careless = await world.open();
    guest(101).config.set('tags', 'ci');
    const taken = await approvedCall(world, careless, { tool: 'create_snapshot', input: { vmid: 101, name: 'tagged' } });
    expect(taken).toMatchObject({ status: 'ok' });
    guest(101).config.delete('tags');
    const app = await world.open(protectedByTag);
    for (const [tool, input] of [
      ['rollback_snapshot', { vmid: 101, name: 'tagged' }],
      ['clone_guest', { vmid: 101, new_vmid: 300, snapshot: 'tagged' }],
    ] as const) {
      expect(await call(app, tool, input)).toMatchObject({ status: 'denied', message: expect.stringContaining('the tag `ci` protects') });
    }
  });
});

describe('a guest that bears a protecting tag, by other ways', () => {
  const archive = () => world.demo.cluster.state.volumes.find(({ volid }) => volid.includes('vzdump-qemu-100'))?.volid ?? '';
  const restore = () => ['restore_guest', { archive: archive(), new_vmid: 300, node: 'pve' }] as const;

  it('is moved, copied from its backup, put back and taken back by nobody, in a plan neither', async () => {
    const app = await world.open(protectedByTag, undefined, 'test', { stays: true });
    const id = await approvedPlan(world, app, [step('set_guest_config', { vmid: 100, description: 'x' })], { agent });
    await call(app, 'run_plan', { plan_id: id }, { agent });
    await ended(app, id);
    // An older backup has no tag.
    guest(100).config.set('tags', 'ci');
    const undone = await call(app, 'undo_plan', { plan_id: id }, { agent });
    expect(undone).toMatchObject({ status: 'denied', code: 'protected_resource' });
    for (const [tool, input] of [['migrate_guest', { vmid: 100, target: 'Home' }], restore()] as const) {
      expect(await call(app, tool, input)).toMatchObject({ status: 'denied', code: 'protected_resource' });
      expect(await call(app, 'propose_plan', { steps: [{ tool, arguments: input }] }, { agent })).toMatchObject({
        status: 'denied',
        message: expect.stringMatching(/^step 1: .*the protecting tag `ci`/),
      });
    }
  });

  it('protects under its number when it is deleted and comes back without the tag', async () => {
    const app = await world.open(protectedByTag);
    await call(app, 'start_vm', { vmid: 105 });
    const { guests } = world.demo.cluster.state;
    const reborn = guest(105);
    guests.delete(105);
    expect(await call(app, 'clone_guest', { vmid: 101, new_vmid: 105 })).toMatchObject({ status: 'denied', code: 'protected_resource' });
    reborn.config.delete('tags');
    guests.set(105, reborn);
    expect(await call(app, 'start_vm', { vmid: 105 })).toMatchObject({
      status: 'denied',
      message: expect.stringContaining('bore the protecting tag `ci` and lost it'),
    });
    expect(await app.doctor(new AbortController().signal)).toContainEqual(
      expect.objectContaining({ topic: 'protected', message: expect.stringContaining('guest 105 of `demo` no longer bears the tag `ci`') }),
    );
  });
});

describe('a tag that a window goes by, and that somebody takes away', () => {
  const frozen = (more: object = {}) => ({
    windows: [
      {
        ...{ name: 'release', kind: 'freeze', reason: 'the release is out', zone: 'UTC', only: { tags: ['prod', 'db'] } },
        ...{ times: [{ start: '2020-01-01T00:00', duration: 'P1D', rrule: 'FREQ=DAILY' }] },
        ...more,
      },
    ],
  });

  it('holds its guest on, over a restart, is told, and is let go by a person', async () => {
    const first = await world.open(frozen());
    guest(100).config.set('tags', 'prod;db');
    expect(await call(first, 'stop_vm', { vmid: 100 })).toMatchObject({ status: 'denied', code: 'frozen' });
    guest(100).config.delete('tags');
    const second = await world.open(frozen());
    expect(await call(second, 'stop_vm', { vmid: 100 })).toMatchObject({
      ...{ status: 'denied', code: 'frozen' },
      message: expect.stringMatching(/guest 100.* \(it lost the tag `(?:db|prod)` without a person’s consent/),
    });
    expect(await call(second, 'set_tags', { vmid: 100, tags: ['prod'] })).toMatchObject({ status: 'denied' });
    expect(await call(second, 'start_vm', { vmid: 101 })).toMatchObject({ status: 'pending' });
    expect(await second.doctor(new AbortController().signal)).toContainEqual(
      expect.objectContaining({ topic: 'windows', state: 'warning', remedy: expect.stringContaining('"except": [100]') }),
    );
    const letGo = await world.open(frozen({ except: [100] }));
    expect(await call(letGo, 'stop_vm', { vmid: 100 })).toMatchObject({ status: 'pending' });
    guest(100).config.set('tags', 'db');
    expect(await call(letGo, 'stop_vm', { vmid: 100 })).toMatchObject({ status: 'denied', code: 'frozen' });
  });
});

describe('a tag that a role goes by, and that somebody takes away', () => {
  const lan = (more: object = {}) => ({
    protected: { guests: [100] },
    roles: [{ name: 'lan', as: 'gateway', reason: 'it routes the shop', guest: 101, of: { tags: ['shop'] }, ...more }],
  });

  it('is given and taken by no tool', async () => {
    const app = await world.open({ ...lan(), protected: {} });
    expect(await call(app, 'set_tags', { vmid: 105, tags: ['ci', 'shop'] })).toMatchObject({ status: 'denied', code: 'tag_decides' });
    guest(105).config.set('tags', 'ci;shop');
    expect(await call(app, 'set_tags', { vmid: 105, tags: ['ci'] })).toMatchObject({ status: 'denied', code: 'tag_decides' });
  });

  it('counts on: what serves a protected guest is refused, until a person lets it go', async () => {
    guest(100).config.set('tags', 'shop');
    guest(105).config.set('tags', 'ci;shop');
    const first = await world.open(lan());
    const refused = { status: 'denied', code: 'protected_resource', message: expect.stringContaining('roles.lan') };
    expect(await call(first, 'start_vm', { vmid: 101 })).toMatchObject(refused);
    for (const vmid of [100, 105]) guest(vmid).config.delete('tags');
    const second = await world.open(lan());
    expect(await call(second, 'start_vm', { vmid: 101 })).toMatchObject(refused);
    expect(await second.doctor(new AbortController().signal)).toContainEqual(
      expect.objectContaining({ topic: 'roles', state: 'warning', remedy: expect.stringContaining('"except": [100]') }),
    );
    const letGo = await world.open({ ...lan({ except: [100] }) });
    expect(await call(letGo, 'start_vm', { vmid: 101 })).toMatchObject({ status: 'pending' });
  });
});

describe('a tag by which a guest is in a scope, and that somebody takes away', () => {
  const staging = (more: object = {}) => ({
    scopes: [{ name: 'staging', agents: ['host:mcp'], reason: 'only what is for tests', only: { tags: ['staging'] }, ...more }],
  });

  it('is missed: what was in the scope is out of it, the refusal and `doctor` say why, until a person has taken note', async () => {
    guest(101).config.set('tags', 'staging');
    const first = await world.open(staging());
    expect(await call(first, 'start_vm', { vmid: 101 }, { agent })).toMatchObject({ status: 'pending' });
    guest(101).config.delete('tags');
    const second = await world.open(staging());
    expect(await call(second, 'start_vm', { vmid: 101 }, { agent })).toMatchObject({
      ...{ status: 'denied', code: 'out_of_scope' },
      message: expect.stringContaining('it lost the tag `staging`, which somebody took away outside of Banksman'),
    });
    expect(world.lines.filter((line) => line.includes('guest 101 no longer bears the tag staging'))).not.toEqual([]);
    const finding = expect.objectContaining({ topic: 'scopes', message: expect.stringContaining('may not change it any more') });
    expect(await second.doctor(new AbortController().signal)).toContainEqual(finding);
    const noted = await world.open(staging({ except: [101] }));
    expect(await noted.doctor(new AbortController().signal)).not.toContainEqual(finding);
    expect(await call(noted, 'start_vm', { vmid: 101 }, { agent })).toMatchObject({ status: 'denied', code: 'out_of_scope' });
  });
});

describe('a tag by which a guest would be in a scope, and that somebody gives it', () => {
  const staging = (more: object = {}) => ({
    protected: {},
    scopes: [{ name: 'staging', agents: ['host:mcp'], reason: 'only what is for tests', only: { tags: ['staging'] }, ...more }],
  });
  const start = (app: LocalApp, vmid: number) => call(app, 'start_vm', { vmid }, { agent });

  it('widens nothing: not for a call, not in a plan, not over a restart, until a person agrees to this guest', async () => {
    guest(101).config.set('tags', 'staging');
    const first = await world.open(staging());
    // The first look: what bears the tag then is what the scope was written for.
    expect(await start(first, 101)).toMatchObject({ status: 'pending' });
    guest(105).config.set('tags', 'ci;staging');
    const second = await world.open(staging());
    for (const app of [first, second])
      expect(await start(app, 105)).toMatchObject({
        ...{ status: 'denied', code: 'out_of_scope' },
        message: expect.stringMatching(/guest 105 .*somebody gave it the tag `staging` outside of Banksman.*`admits`/),
      });
    const steps = [{ tool: 'start_vm', arguments: { vmid: 105 } }];
    expect(await call(second, 'propose_plan', { steps }, { agent })).toMatchObject({ status: 'denied', code: 'out_of_scope' });
    const copied = { vmid: 105, new_vmid: 300 };
    expect(await call(second, 'clone_guest', copied, { agent })).toMatchObject({ status: 'denied', code: 'out_of_scope' });
    expect(world.lines.filter((line) => line.includes('guest 105 got the tag staging'))).not.toEqual([]);
    expect(await second.doctor(new AbortController().signal)).toContainEqual(
      expect.objectContaining({ topic: 'scopes', state: 'warning', remedy: expect.stringContaining('"admits": [105]') }),
    );
    expect(await start(second, 101)).toMatchObject({ status: 'pending' });
    const agreed = await world.open(staging({ admits: [105] }));
    expect(await start(agreed, 105)).toMatchObject({ status: 'pending' });
    expect(await agreed.doctor(new AbortController().signal)).not.toContainEqual(
      expect.objectContaining({ remedy: expect.stringContaining('admits') }),
    );
  });

  it('holds others as ever, and a guest without it that gets it by a new number', async () => {
    const app = await world.open(staging());
    await call(app, 'start_vm', { vmid: 101 });
    guest(101).config.set('tags', 'staging');
    // Whom no scope names, nothing of this is about.
    expect(await call(app, 'start_vm', { vmid: 101 })).toMatchObject({ status: 'pending' });
    const { guests } = world.demo.cluster.state;
    guests.set(777, { ...guest(101), vmid: 777, config: new Map(guest(101).config) });
    expect(await start(app, 777)).toMatchObject({ status: 'denied', code: 'out_of_scope' });
  });

  it('is what a clone has of a guest in the scope, with a person’s approval: it is in the scope, too', async () => {
    guest(101).config.set('tags', 'staging');
    const app = await world.open(staging());
    const made = await approvedCall(world, app, { tool: 'clone_guest', input: { vmid: 101, new_vmid: 300 } });
    expect(made).toMatchObject({ status: 'ok' });
    expect(await start(await world.open(staging()), 300)).toMatchObject({ status: 'pending' });
    // In a plan it is so from its own step on.
    const stays = await world.open(staging(), undefined, 'test', { stays: true });
    const steps = [step('clone_guest', { vmid: 101, new_vmid: 301 }), step('start_vm', { vmid: 301 })];
    const id = await approvedPlan(world, stays, steps, { agent });
    await call(stays, 'run_plan', { plan_id: id }, { agent });
    expect(await ended(stays, id)).toMatchObject({ standing: 'done' });
  });

  it('is told as what an agent makes while a clone is under way, and to another process, not as somebody’s', async () => {
    await world.close();
    // It ends by itself long after all that is looked at.
    world = await startWorld({ taskDurationMs: 600_000 });
    guest(101).config.set('tags', 'staging');
    const app = await world.open(staging());
    const leave = new AbortController();
    const clone = app.call({
      ...{ tool: 'clone_guest', input: { vmid: 101, new_vmid: 300 }, agent, waitMs: 60_000, signal: leave.signal },
      gate: { ask: (request) => void app.approvals.approve(request.id, world.person) },
    });
    const { guests } = world.demo.cluster.state;
    while (!guests.has(300)) await new Promise((resolve) => setTimeout(resolve, 10));
    const other = await world.open(staging());
    expect(await start(other, 300)).toMatchObject({
      ...{ status: 'denied', code: 'out_of_scope' },
      message: expect.stringContaining('it has the tag `staging` of what an agent makes or made it of'),
    });
    const finding = { topic: 'scopes', message: expect.stringContaining('by a clone or restore of an agent') };
    expect(await other.doctor(new AbortController().signal)).toContainEqual(expect.objectContaining(finding));
    expect(world.lines.filter((line) => line.includes('guest 300') && line.includes('outside of Banksman'))).toEqual([]);
    leave.abort();
    // Nobody saw its end: the guest is no member by it.
    expect(await clone).toMatchObject({ status: 'error' });
    expect(await start(other, 300)).toMatchObject({ code: 'out_of_scope' });
  });

  it('is no member of what nobody in the scope was copied from', async () => {
    const app = await world.open(staging());
    await call(app, 'start_vm', { vmid: 101 });
    guest(101).config.set('tags', 'staging');
    const other = await app.call({
      ...{ tool: 'clone_guest', input: { vmid: 101, new_vmid: 300 }, agent: cliAgent('tester', 'advanced'), waitMs: 60_000 },
      signal: new AbortController().signal,
      gate: { ask: (request) => void app.approvals.approve(request.id, world.person) },
    });
    expect(other).toMatchObject({ status: 'ok' });
    expect(await start(app, 300)).toMatchObject({ status: 'denied', code: 'out_of_scope' });
  });

  it('fails closed where its memory is damaged', async () => {
    guest(101).config.set('tags', 'staging');
    const app = await world.open(staging());
    expect(await start(app, 101)).toMatchObject({ status: 'pending' });
    const file = path.join(world.stateDir, 'tags', 'demo.scopes.json');
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({ staging: [101] });
    writeFileSync(file, '{"staging": "all"}', { mode: 0o600 });
    expect(await start(app, 101)).toMatchObject({ status: 'error', code: 'tag_memory_damaged' });
    expect(await app.doctor(new AbortController().signal)).toContainEqual(
      expect.objectContaining({ state: 'failed', message: expect.stringContaining('demo.scopes.json') }),
    );
  });
});

describe('a protecting tag that somebody takes away', () => {
  it('protects on, over a restart, and everybody is told', async () => {
    const first = await world.open(protectedByTag);
    await call(first, 'start_vm', { vmid: 105 });
    guest(105).config.delete('tags');
    const second = await world.open(protectedByTag);
    expect(await call(second, 'start_vm', { vmid: 105 })).toMatchObject({
      status: 'denied',
      message: expect.stringMatching(/guest 105 bore the protecting tag `ci` and lost it without a person's consent/),
    });
    expect(world.lines.filter((line) => line.includes('guest 105 no longer bears the tag ci')).length).toBeGreaterThan(0);
    const findings = await second.doctor(new AbortController().signal);
    expect(findings).toContainEqual(
      expect.objectContaining({
        topic: 'protected',
        state: 'warning',
        message: expect.stringContaining('no longer bears the tag `ci`'),
        remedy: expect.stringContaining('"except": [105]'),
      }),
    );
    const { request_id: id = '' } = await call(second, 'stop_vm', { vmid: 100 });
    expect((await second.approvals.get(id))?.risk.join('\n')).toContain('guest 105 lost the protecting tag `ci`');
  });

  it('is let go by a person who names the guest', async () => {
    const first = await world.open(protectedByTag);
    await call(first, 'start_vm', { vmid: 105 });
    await first.close();
    guest(105).config.delete('tags');
    const letGo = await world.open({ protected: { tags: [{ tag: 'ci', except: [105] }] } });
    expect(await call(letGo, 'start_vm', { vmid: 105 })).toMatchObject({ status: 'pending' });
    guest(105).config.set('tags', 'ci');
    expect(await call(letGo, 'stop_vm', { vmid: 105 })).toMatchObject({
      status: 'denied',
      message: expect.stringContaining('bears the protecting tag'),
    });
  });

  it('is remembered in a file that fails closed when it is broken', async () => {
    const first = await world.open(protectedByTag);
    await call(first, 'start_vm', { vmid: 105 });
    const folder = path.join(world.stateDir, 'tags');
    const [name = ''] = readdirSync(folder);
    expect(JSON.parse(readFileSync(path.join(folder, name), 'utf8'))).toEqual({ 105: 'ci' });
    mkdirSync(folder, { recursive: true });
    writeFileSync(path.join(folder, name), 'not json', { mode: 0o600 });
    expect(await call(first, 'start_vm', { vmid: 101 })).toMatchObject({ status: 'error', code: 'tag_memory_damaged' });
    expect(await call(first, 'get_vms')).toMatchObject({ status: 'ok' });
  });
});

describe('a storage that holds a protected guest’s disks', () => {
  it('is not written to by a clone or a restore; the same name on another node is another storage', async () => {
    const app = await world.open({ protected: { guests: [200] } });
    expect(await call(app, 'clone_guest', { vmid: 101, new_vmid: 300, storage: 'local-lvm' })).toMatchObject({
      status: 'denied',
      message: expect.stringMatching(/storage `local-lvm` on `Home` holds the disks of protected guest 200/),
    });
    const archive = world.demo.cluster.state.volumes.find(({ volid }) => volid.includes('vzdump-qemu-100'))?.volid ?? '';
    expect(await call(app, 'restore_guest', { archive, new_vmid: 300, node: 'pve', storage: 'local-lvm' })).toMatchObject({
      status: 'pending',
    });
  });
});
