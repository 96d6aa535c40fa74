/** What every Proxmox VE cluster must answer, real or not. It reads only, so that it can be pointed at a cluster that is in use. */
import { expect, it } from 'vitest';
import type { ProxmoxClient } from '#connectors/proxmox/create-proxmox-client';
import { never } from './pve-server.ts';

/** Declares the suite; `client` is asked for in each test. */
export function describeReads(client: () => ProxmoxClient): void {
  it('says its version', async () => {
    await expect(client().version(never)).resolves.toEqual({
      version: expect.stringMatching(/^\d+\.\d+/) as string,
      release: expect.stringMatching(/^\d+/) as string,
    });
  });

  it('names the same nodes in the status of the cluster and in the list of nodes', async () => {
    const status = await client().clusterStatus(never);
    const nodes = await client().nodes(never);
    const names = (rows: readonly string[]) => [...rows].sort((a, b) => a.localeCompare(b));
    expect(nodes.length).toBeGreaterThan(0);
    expect(names(status.filter((row) => row.type === 'node').map((row) => row.name))).toEqual(names(nodes.map((row) => row.node)));
    for (const row of status) expect(typeof (row.type === 'cluster' ? row.quorate : row.online)).toBe('boolean');
  });

  it('gives every guest a number, a node of the cluster and a kind', async () => {
    const nodes = (await client().nodes(never)).map((row) => row.node);
    for (const guest of await client().guests(never)) {
      expect(guest.vmid).toBeGreaterThanOrEqual(100);
      expect(nodes).toContain(guest.node);
      expect(['qemu', 'lxc']).toContain(guest.type);
      expect(guest.raw['id']).toBe(`${guest.type}/${guest.vmid}`);
    }
  });

  it.each(['vm', 'storage', 'node', undefined] as const)('lists resources of type %s', async (type) => {
    const rows = await client().resources(type, never);
    for (const row of rows) expect(row['id']).toBeTypeOf('string');
  });

  it('describes each node that is online', async () => {
    for (const { node, status } of await client().nodes(never)) {
      if (status !== 'online') continue;
      await expect(client().nodeStatus(node, never)).resolves.toMatchObject({
        memory: expect.any(Object) as object,
        uptime: expect.any(Number) as number,
      });
    }
  });

  it('describes a guest', async () => {
    const [guest] = await client().guests(never);
    if (!guest) return;
    const ref = { node: guest.node, vmid: guest.vmid, guestType: guest.type };
    await expect(client().guestStatus(ref, never)).resolves.toMatchObject({ status: expect.any(String) as string });
    await expect(client().guestConfig(ref, never)).resolves.toMatchObject({ digest: expect.any(String) as string });
    await expect(client().snapshots(ref, never)).resolves.toContainEqual(expect.objectContaining({ name: 'current' }));
  });

  it('lists tasks, and knows how each that ended has ended', async () => {
    const [task] = await client().recentTasks(never);
    if (!task) return;
    const upid = String(task['upid']);
    const status = await client().taskStatus(upid, never);
    expect(status).toMatchObject({ upid, node: upid.split(':')[1] });
    expect(typeof status.exitStatus).toBe(status.running ? 'undefined' : 'string');
    expect(await client().taskLog(upid, never)).toBeInstanceOf(Array);
  });

  it('says what the token may do', async () => {
    const permissions = await client().permissions(never);
    expect(Object.keys(permissions).every((path) => path.startsWith('/'))).toBe(true);
    for (const privileges of Object.values(permissions))
      for (const propagates of Object.values(privileges)) expect(propagates).toBeTypeOf('boolean');
  });

  it('does not know what is not there', async () => {
    const [node] = (await client().nodes(never)).filter((row) => row.status === 'online');
    const name = node?.node ?? '';
    const missing = { node: name, vmid: 999_999_999, guestType: 'qemu' } as const;
    await expect(client().guestStatus(missing, never)).rejects.toMatchObject({
      code: expect.stringMatching(/^pve_(not_found|forbidden)$/) as string,
    });
    await expect(client().backups(name, 'no-such-storage', never)).rejects.toMatchObject({
      code: expect.stringMatching(/^pve_(not_found|forbidden)$/) as string,
    });
    await expect(client().taskStatus(`UPID:${name}:00000001:00000001:60000000:qmstart:100:root@pam:`, never)).rejects.toMatchObject({
      code: expect.stringMatching(/^pve_(not_found|forbidden)$/) as string,
    });
  });
}
