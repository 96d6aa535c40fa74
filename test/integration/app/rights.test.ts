/** A token that may see a part: what lists say of the rest, and hints that work when somebody does just what they say. */
import { afterEach, describe, expect, it } from 'vitest';
import type { ClusterSeed } from '#demo/index';
import { demoSeed } from '#demo/initial-state';
import { AccessControl, type AclEntry, type AclSeed } from '#demo/pve/access-control';
import type { App } from '#kernel/app';
import type { Outcome } from '#kernel/outcome';
import { english } from '#kernel/text/message';
import { call, startWorld, type World } from './support.ts';

let world: World | undefined;
afterEach(async () => {
  await world?.close();
  world = undefined;
});

const user = 'part@pve';
const tokenId = `${user}!banksman`;

interface Rights {
  /** `path role`, `path role exactly` (not handed down), for the user; `token path role` for the token's own. */
  readonly acl: readonly string[];
  readonly privsep?: boolean;
}

const roles: AclSeed['roles'] = {
  Audit: ['VM.Audit'],
  Backup: ['VM.Audit', 'VM.Backup'],
  Node: ['Sys.Audit'],
  Space: ['Datastore.Audit', 'Datastore.AllocateSpace'],
  Look: ['Datastore.Audit'],
  Whole: ['Datastore.Allocate', 'Datastore.Audit'],
  Power: ['VM.Audit', 'VM.PowerMgmt'],
};

function entryOf(line: string): AclEntry {
  const words = line.split(' ');
  const subject = words[0] === 'token' ? tokenId : user;
  const [path = '', role = '', exactly] = words[0] === 'token' ? words.slice(1) : words;
  return { path, role, subject, propagate: exactly === undefined };
}

function seedOf({ acl, privsep = false }: Rights): ClusterSeed {
  const seed = demoSeed(Date.now(), {});
  return {
    ...seed,
    access: {
      users: { ...seed.access.users, [user]: undefined },
      roles: { ...seed.access.roles, ...roles },
      tokens: [{ id: tokenId, secret: '5b0f4f0e-74d8-4f0e-9f0a-1c3a3f1d7a11', privsep }],
      entries: acl.map(entryOf),
    },
  };
}

let access: AclSeed;
async function open(rights: Rights): Promise<App> {
  const seed = seedOf(rights);
  access = seed.access;
  world = await startWorld({ state: seed });
  return world.open();
}

/** What an administrator's shell does with the commands between backticks, in their order. */
function follow(outcome: Outcome, only?: RegExp): void {
  const commands = [...(outcome.next ?? '').matchAll(/`(pveum (?:role|acl) [^`]+)`/g)].map((match) => match[1] ?? '');
  const wanted = commands.filter((command) => only === undefined || only.test(command) || command.startsWith('pveum role'));
  expect(wanted.length).toBeGreaterThan(0);
  for (const command of wanted) access = apply(access, command.replaceAll("'", '').split(' '));
  if (world === undefined) throw new Error('no world');
  (world.demo.cluster as { access: AccessControl }).access = new AccessControl(access);
}

function apply(acl: AclSeed, words: readonly string[]): AclSeed {
  const option = (name: string) => words[words.indexOf(name) + 1] ?? '';
  if (words[1] === 'role' && words[2] === 'add') {
    const role = words[3] ?? '';
    if (Object.hasOwn(acl.roles, role)) throw new Error(`role '${role}' already exists`);
    return { ...acl, roles: { ...acl.roles, [role]: option('--privs').split(',') } };
  }
  const subject = words.includes('--tokens') ? option('--tokens') : option('--users');
  if (words[2] !== 'modify' || acl.roles[option('--roles')] === undefined) throw new Error(`cannot run ${words.join(' ')}`);
  return { ...acl, entries: [...acl.entries, { path: words[3] ?? '', subject, role: option('--roles') }] };
}

describe('an empty list says whether there could be something', () => {
  it.each([
    ['get_vms', {}, '0 VMs visible to this token, 0 running; it lacks `VM.Audit on /vms`, so there may be some'],
    ['get_containers', {}, '0 containers visible to this token, 0 running; it lacks `VM.Audit on /vms`, so there may be some'],
    ['get_storage', {}, '0 storage pools visible to this token; it lacks `Datastore.Audit on /storage`, so there may be some'],
    ['get_recent_tasks', {}, '0 tasks visible to this token; it lacks `Sys.Audit on /`, so there may be some'],
    ['get_cluster_resources', { type: 'vm' }, '0 resources visible to this token; it lacks `VM.Audit on /vms`, so there may be some'],
    [
      'get_cluster_resources',
      { type: 'sdn' },
      '0 resources visible to this token; it lacks `SDN.Audit on /sdn/zones`, so there may be some',
    ],
    [
      'get_cluster_resources',
      {},
      '3 resources visible to this token; it lacks `VM.Audit on /vms` and `Datastore.Audit on /storage`, so there may be more',
    ],
  ])('%s %j', async (tool, input, message) => {
    expect(await call(await open({ acl: [] }), tool, input)).toMatchObject({ status: 'ok', message });
  });

  it.each([['get_vms'], ['get_containers'], ['get_storage'], ['get_recent_tasks']])('%s: what `next` says works', async (tool) => {
    const app = await open({ acl: ['/nodes Node', '/access Node'] });
    const before = await call(app, tool);
    expect(before).toMatchObject({ status: 'ok', result: { total: 0 } });
    follow(before);
    const after = await call(app, tool);
    expect(after.message).toMatch(/^[1-9]\d* /);
    expect(after.message).not.toContain('visible');
  });

  it('a filter that nothing fits is no question of rights where the token sees all', async () => {
    const app = await open({ acl: ['/vms Audit'] });
    expect((await call(app, 'get_vms', { filter: 'no such text' })).message).toBe('0 VMs');
  });
});

describe('a list of a part says that it is one', () => {
  it.each([
    ['not handed down', ['/vms Audit exactly'], /^0 VMs visible.*`VM.Audit on \/vms`/],
    ['on one guest', ['/vms/100 Audit'], /^1 VM visible to this token, 1 running; it lacks `VM.Audit on \/vms`, so there may be more/],
    ['on all but one', ['/vms Audit', '/vms/103 Look'], /^\d VMs visible.*it lacks `VM.Audit on \/vms\/103`, so/],
    ['on all, of which one is named', ['/vms Audit', '/vms/103 Power'], /^\d VMs, \d running$/],
    ['from the top', ['/ Audit'], /^\d VMs, \d running$/],
    [
      'from the top, and taken away below',
      ['/ Audit', '/vms NoAccess'],
      /^0 VMs visible.*it lacks `VM.Audit on \/vms`, so there may be some/,
    ],
  ])('rights %s', async (_what, acl, message) => {
    expect((await call(await open({ acl }), 'get_vms')).message).toMatch(message);
  });
});

describe('get_backups', () => {
  const backups = (app: App, storage = 'nas') => call(app, 'get_backups', { node: 'pve', storage });
  const base = ['/nodes Node', '/access Node', '/ Node'];

  it.each([
    ['space and every guest', ['/storage Space', '/vms Backup'], /^[1-9]\d* backups?$/],
    ['the whole storage', ['/storage/nas Whole'], /^[1-9]\d* backups?$/],
    [
      'no guest',
      ['/storage Space', '/vms Audit'],
      /^0 backups visible to this token; it lacks `VM.Backup on \/vms`, so there may be some$/,
    ],
    ['no space', ['/storage Look', '/vms Backup'], /^0 backups visible.*`Datastore.AllocateSpace on \/storage\/nas`/],
    ['neither', ['/storage Look'], /`Datastore.AllocateSpace on \/storage\/nas` and `VM.Backup on \/vms`/],
    ['the right on the wrong path', ['/storage Look', '/vms Space', '/nodes Backup'], /^0 backups visible/],
    ['a right that is not handed down', ['/storage Space', '/vms Backup exactly'], /^0 backups visible.*`VM.Backup on \/vms`/],
  ])('with %s', async (_what, acl, message) => {
    const answer = await backups(await open({ acl: [...base, ...acl] }));
    expect(answer).toMatchObject({ status: 'ok', message: expect.stringMatching(message) });
  });

  it('what `next` says works, step by step', async () => {
    const app = await open({ acl: [...base, '/storage Look'] });
    let answer = await backups(app);
    for (let step = 0; answer.message.startsWith('0 ') && step < 3; step += 1) {
      follow(answer);
      answer = await backups(app);
    }
    expect(answer.message).toMatch(/^[1-9]\d* backups?$/);
  });
});

describe('what a refusal says helps, and takes nothing away', () => {
  const base = ['/ Node', '/storage Look', '/vms Audit'];

  it.each([
    ['without separated privileges', { acl: base }, /token's user: .*--users 'part@pve'/],
    [
      'with separated privileges, of a user who has the right',
      { acl: [...base, '/storage/nas Space', ...base.map((line) => `token ${line}`)], privsep: true },
      /separated privileges.*--tokens 'part@pve!banksman'(?!.*--users)/,
    ],
    [
      'with separated privileges, of a user who lacks it, too',
      { acl: [...base, ...base.map((line) => `token ${line}`)], privsep: true },
      /--tokens 'part@pve!banksman'.*--users 'part@pve'/,
    ],
  ])('for a token %s', async (_what, rights, hint) => {
    const app = await open({ ...rights, acl: rights.acl.map((line) => line.replace('/storage Look', '/storage/local Look')) });
    const refused = await call(app, 'get_backups', { node: 'pve', storage: 'nas' });
    expect(refused).toMatchObject({ code: 'pve_forbidden', next: expect.stringMatching(hint) });
    follow(refused);
    expect(await call(app, 'get_backups', { node: 'pve', storage: 'nas' })).toMatchObject({ status: 'ok' });
  });

  it('what the token had on that path stays', async () => {
    const app = await open({ acl: ['/ Node', '/vms Audit', '/storage Look'] });
    const stop = { vmid: 100 };
    // Before a person is asked.
    const refused = await call(app, 'stop_vm', stop);
    expect(refused).toMatchObject({ code: 'pve_forbidden', next: expect.stringContaining('VM.PowerMgmt') });
    follow(refused);
    expect((await call(app, 'get_vms')).message).not.toContain('visible');
    const again = await call(app, 'stop_vm', stop);
    await app.approvals.approve(again.request_id ?? '', (world as World).person);
    expect(await call(app, 'stop_vm', stop)).toMatchObject({ status: 'ok' });
  });

  it('a right on the guest itself that is not handed down is one', async () => {
    const app = await open({ acl: ['/ Node', '/vms/100 Power exactly'] });
    expect(await call(app, 'stop_vm', { vmid: 100 })).toMatchObject({ status: 'pending' });
  });

  it('where the token cannot find out which kind it is, both ways are there, and each works', async () => {
    const acl = ['/nodes Node'];
    const app = await open({ acl });
    const refused = await call(app, 'get_backups', { node: 'pve', storage: 'nas' });
    expect(refused.next).toMatch(/pveum user token list 'part@pve'.*`privsep` is 0.*--users.*If it is 1.*--tokens/);
    follow(refused, /--users/);
    expect(await call(app, 'get_backups', { node: 'pve', storage: 'nas' })).toMatchObject({ status: 'ok' });
  });

  it('a change is refused where addresses are protected and the token may not see whose they are', async () => {
    const app = await open({ acl: ['/nodes Node', '/vms Power'] });
    expect(await call(app, 'stop_vm', { vmid: 101 })).toMatchObject({
      code: 'pve_forbidden',
      message: expect.stringContaining('`Sys.Audit` on `/`'),
    });
  });

  it('a node’s status needs rights on that node alone', async () => {
    const app = await open({ acl: ['/nodes/pve Node'] });
    expect(await call(app, 'get_node_status', { node: 'pve' })).toMatchObject({ status: 'ok', result: { node: 'pve' } });
    expect(await call(app, 'get_node_status', { node: 'Home' })).toMatchObject({
      code: 'pve_forbidden',
      message: expect.stringContaining('lacks `Sys.Audit` on `/nodes/Home`'),
    });
  });
});

describe('what the other refusals of reads say works as it stands', () => {
  it.each([['nosuch'], ['scratch'], ['off']])(
    'a storage that is not there (%s): get_storage shows which are, and where',
    async (storage) => {
      const seed = seedOf({ acl: ['/ Node', '/storage Space', '/vms Backup'] });
      const pool = { type: 'dir', content: ['backup'], totalBytes: 10, usedBytes: 1 };
      world = await startWorld({
        state: {
          ...seed,
          storages: [...seed.storages, { id: 'scratch', nodes: ['Home'], ...pool }, { id: 'off', disabled: true, ...pool }],
        },
      });
      const app = await world.open();
      expect(await call(app, 'get_backups', { node: 'pve', storage })).toMatchObject({
        code: 'pve_not_found',
        next: expect.stringContaining('get_storage'),
      });
      const listed = (await call(app, 'get_storage')).result as { storage: { storage: string; node: string }[] };
      const there = listed.storage.filter((row) => row.node === 'pve');
      expect(there.map((row) => row.storage)).not.toContain(storage);
      for (const row of there)
        expect(await call(app, 'get_backups', { node: 'pve', storage: row.storage })).toMatchObject({ status: 'ok' });
    },
  );

  it('a token that is not taken: the command names its user', async () => {
    const app = await open({ acl: ['/ Node'] });
    (world as World).demo.faults.revokeToken(tokenId);
    expect((await call(app, 'get_vms')).next).toContain(`\`pveum user token list '${user}'\``);
  });
});

describe('a person who decides is told of the last backup only what the token can see', () => {
  it.each([
    ['no right on the guest', ['/storage Space', '/vms Audit'], /^none visible to this token: it lacks `VM.Backup on \/vms\/105`$/],
    [
      'no right on a storage',
      ['/storage Look', '/vms Backup'],
      /^none visible to this token: it lacks `Datastore.AllocateSpace on \/storage`$/,
    ],
    ['both', ['/storage Space', '/vms Backup'], /^none found$/],
  ])('%s', async (_what, acl, value) => {
    const app = await open({ acl: ['/ Node', ...acl] });
    const target = { kind: 'guest', cluster: 'demo', node: 'agent1', vmid: 105, guestType: 'qemu' };
    const facts = await app.live.facts({ targets: [target] }, new AbortController().signal);
    const told = new Map(facts.map((fact) => [english(fact.label), english(fact.value)]));
    expect(told.get('Last backup')).toMatch(value);
  });
});
