/** The `pveum` lines of docs/rights.md, one after the other, on the emulator's users, tokens, roles and rights: what they give is enough, and no more. */

import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { administratorPrivileges, demoSeed } from '#demo/initial-state';
import type { AclEntry, AclSeed, TokenSeed } from '#demo/pve/access-control';
import { rightsGroups } from '#tools/cluster/whole-cluster';
import { approvedCall, call, startWorld, type World } from './support.ts';

let world: World | undefined;
afterEach(async () => {
  await world?.close();
  world = undefined;
});

const page = readFileSync(path.join(import.meta.dirname, '../../../docs/rights.md'), 'utf8');
const lines = Array.from(page.matchAll(/```sh\n([\s\S]*?)```/g), ([, block = '']) => block.trim().split('\n')).flat();

interface Realm {
  readonly users: Set<string>;
  readonly tokens: TokenSeed[];
  readonly roles: Map<string, readonly string[]>;
  readonly entries: AclEntry[];
}

/** Words of one line, as the shell has them: only plain words and single quotes are written there. */
function wordsOf(line: string): readonly string[] {
  return Array.from(line.matchAll(/'([^']*)'|(\S+)/g), ([, quoted, plain]) => quoted ?? plain ?? '');
}

function optionsIn(words: readonly string[], allowed: readonly string[]): Readonly<Record<string, string>> {
  const found: Record<string, string> = {};
  for (let index = 0; index < words.length; index += 2) {
    const name = words[index]?.replace(/^--/, '') ?? '';
    if (!allowed.includes(name)) throw new Error(`pveum knows no --${name} here`);
    found[name] = words[index + 1] ?? '';
  }
  return found;
}

type Verb = (rest: readonly string[], realm: Realm) => void;

const addToken: Verb = ([user = '', name = '', ...more], { users, tokens }) => {
  if (!users.has(user)) throw new Error(`no such user ('${user}')`);
  const privsep = optionsIn(more, ['privsep'])['privsep'] !== '0';
  tokens.push({ id: `${user}!${name}`, secret: 'd3b07384-d9a0-4c9b-8f3e-0a1b2c3d4e5f', privsep });
};

const addRole: Verb = ([name = '', ...more], { roles }) => {
  const privileges = optionsIn(more, ['privs'])['privs']?.split(',') ?? [];
  const stranger = privileges.find((one) => !administratorPrivileges.includes(one));
  if (stranger !== undefined) throw new Error(`unknown privilege '${stranger}'`);
  roles.set(name, privileges);
};

const modifyAcl: Verb = ([at = '', ...more], realm) => {
  const { users = '', tokens = '', roles: role = '' } = optionsIn(more, ['users', 'tokens', 'roles']);
  if (!realm.roles.has(role)) throw new Error(`role '${role}' does not exist`);
  for (const subject of [users, tokens].filter((one) => one !== '')) {
    const exists = realm.users.has(subject) || realm.tokens.some(({ id }) => id === subject);
    if (!exists) throw new Error(`'${subject}' does not exist`);
    realm.entries.push({ path: at, subject, role });
  }
};

/** What `PVE::CLI::pveum` has of them; anything else is an error, as there. */
const verbs: Readonly<Record<string, Verb>> = {
  'user add': ([user = ''], { users }) => void users.add(user),
  'user token add': addToken,
  'role add': addRole,
  'acl modify': modifyAcl,
};

function pveum([program, ...words]: readonly string[], realm: Realm): void {
  const length = words[1] === 'token' ? 3 : 2;
  const verb = verbs[words.slice(0, length).join(' ')];
  if (program !== 'pveum' || verb === undefined) throw new Error(`pveum has no \`${words.slice(0, length).join(' ')}\``);
  verb(words.slice(length), realm);
}

function run(): AclSeed {
  const realm: Realm = { users: new Set(['root@pam']), tokens: [], roles: new Map(), entries: [] };
  for (const line of lines) pveum(wordsOf(line), realm);
  return {
    users: Object.fromEntries([...realm.users].map((user) => [user, undefined])),
    tokens: realm.tokens,
    roles: Object.fromEntries(realm.roles),
    entries: realm.entries,
  };
}

it('gives the token of the page the groups that its role names, and no other', async () => {
  expect(lines.length).toBeGreaterThan(3);
  const access = run();
  const given = new Set(Object.values(access.roles).flat());
  const covered = rightsGroups.filter(({ needs }) => needs.every(({ privilege }) => given.has(privilege))).map(({ group }) => group);
  expect(covered).toEqual(['look', 'power']);
  world = await startWorld({ state: { ...demoSeed(Date.now(), {}), access } });
  const app = await world.open({ protected: {} });
  for (const tool of ['get_vms', 'get_containers', 'get_storage', 'get_cluster_status', 'get_recent_tasks'])
    expect(await call(app, tool), tool).toMatchObject({ status: 'ok' });
  expect(await approvedCall(world, app, { tool: 'start_vm', input: { vmid: 101 } })).toMatchObject({ status: 'ok' });
  expect(await approvedCall(world, app, { tool: 'create_snapshot', input: { vmid: 101, name: 'none' } })).toMatchObject({
    status: 'error',
    message: expect.stringContaining('VM.Snapshot'),
  });
});

it('is written so that the order of its lines works', () => {
  const realm: Realm = { users: new Set(), tokens: [], roles: new Map(), entries: [] };
  expect(() => pveum(wordsOf(lines.at(-1) ?? ''), realm)).toThrow(/does not exist/);
  expect(() => pveum(wordsOf('pveum acl modify / --user x@pve --roles Y'), realm)).toThrow('pveum knows no --user here');
});
