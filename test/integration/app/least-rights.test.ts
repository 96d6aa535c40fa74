/** Each group of tools with exactly the privileges that docs/rights.md names, and with one less. */
import { afterEach, describe, expect, it } from 'vitest';
import { demoSeed } from '#demo/initial-state';
import type { Outcome } from '#kernel/outcome';
import { rightsGroups } from '#tools/cluster/whole-cluster';
import { approvedCall, startWorld, type World } from './support.ts';

let world: World | undefined;
afterEach(async () => {
  await world?.close();
  world = undefined;
});

const tokenId = 'least@pve!banksman';

async function runWith(privileges: readonly string[], tool: string, input: object): Promise<Outcome> {
  const seed = demoSeed(Date.now(), {});
  const access = {
    users: { ...seed.access.users, 'least@pve': undefined },
    roles: { Least: [...privileges] },
    tokens: [{ id: tokenId, secret: 'd3b07384-d9a0-4c9b-8f3e-0a1b2c3d4e5f', privsep: true }],
    // As the page has it: the user and the token.
    entries: ['least@pve', tokenId].map((subject) => ({ path: '/', subject, role: 'Least' })),
  };
  world = await startWorld({ state: { ...seed, access }, taskDurationMs: 50 });
  return approvedCall(world, await world.open(), { tool, input });
}

const look = rightsGroups.find(({ group }) => group === 'look')?.needs.map(({ privilege }) => privilege) ?? [];
const ownOf = (name: string) => rightsGroups.find(({ group }) => group === name)?.needs.map(({ privilege }) => privilege) ?? [];

describe.each([
  ['power', 'shutdown_vm', { vmid: 100 }],
  ['snapshots', 'create_snapshot', { vmid: 100, name: 'least' }],
  ['configuration', 'set_guest_config', { vmid: 101, cores: 3, memory: 2048, description: 'x', onboot: true, tags: ['a'] }],
  ['disks', 'resize_disk', { vmid: 101, disk: 'scsi0', size: '+1G' }],
  ['backup', 'backup_guest', { vmid: 100, storage: 'local' }],
  ['migrate', 'migrate_guest', { vmid: 101, target: 'pve', with_local_disks: true }],
  ['make', 'clone_guest', { vmid: 101, new_vmid: 300, storage: 'local-lvm' }],
  ['updates', 'get_updates', { node: 'pve' }],
])('the group %s', (group, tool, input) => {
  it(`${tool} works with these and those of looking`, async () => {
    expect(await runWith([...look, ...ownOf(group)], tool, input)).toMatchObject({ status: 'ok' });
  });

  it.each(ownOf(group).slice(0, 1))(`${tool} without %s is refused, and told how it is given`, async (privilege) => {
    const outcome = await runWith([...look, ...ownOf(group).filter((one) => one !== privilege)], tool, input);
    expect(outcome).toMatchObject({ status: 'error', code: 'pve_forbidden', message: expect.stringContaining(privilege) });
    expect(outcome.next).toContain('pveum');
  });
});
