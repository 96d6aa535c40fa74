/** A cluster of 500 guests, whose API gives rows in another order each time, while guests come and go between two pages. */
import { expect, it } from 'vitest';
import { demoSeed } from '#demo/initial-state';
import type { JsonObject } from '#kernel/json';
import { call, startWorld } from './support.ts';

const nodes = ['Home', 'pve', 'agent1'] as const;

function seedOf500() {
  const seed = demoSeed(Date.now(), {});
  const guests = Array.from({ length: 500 }, (_, index) => ({
    vmid: 1000 + index,
    kind: index % 5 === 4 ? ('lxc' as const) : ('qemu' as const),
    node: nodes[index % 3] ?? 'pve',
    config: { name: `guest-${index}`, memory: 64 },
  }));
  const [first, ...others] = seed.access.tokens;
  if (first === undefined) throw new Error('no token');
  return { ...seed, guests, access: { ...seed.access, tokens: [{ ...first, secret: '5b0f4f0e-74d8-4f0e-9f0a-1c3a3f1d7a11' }, ...others] } };
}

it.each([
  ['get_vms', 'vms', {}],
  ['get_containers', 'containers', {}],
  ['get_cluster_resources', 'resources', { type: 'vm' }],
  ['get_vms', 'vms', { filter: 'guest-1' }],
])('%s (%s, %j) gives each guest once, and loses none that stays', async (tool, key, input) => {
  const world = await startWorld({ state: seedOf500() });
  try {
    const app = await world.open();
    const guests = world.demo.cluster.state.guests;
    const seen: number[] = [];
    let cursor: string | undefined;
    do {
      const { status, result } = await call(app, tool, { ...input, limit: 37, ...(cursor === undefined ? {} : { cursor }) });
      expect(status).toBe('ok');
      const page = result as { readonly [rows: string]: readonly JsonObject[] } & { readonly cursor?: string };
      seen.push(...(page[key] ?? []).map((row) => Number(row['vmid'])));
      cursor = page.cursor;
      // The last guest of the page goes: what the cursor names is not there any more. So does one that was shown at first.
      for (const vmid of [seen.at(-1), seen.shift()]) guests.delete(vmid ?? 0);
    } while (cursor !== undefined);
    expect(new Set(seen).size).toBe(seen.length);
    const wanted = [...guests.values()].filter(
      ({ vmid, kind }) =>
        (key === 'resources' || kind === (key === 'vms' ? 'qemu' : 'lxc')) &&
        (!('filter' in input) || `guest-${vmid - 1000}`.includes('guest-1')),
    );
    expect(wanted.length).toBeGreaterThan(50);
    for (const { vmid } of wanted) expect(seen).toContain(vmid);
  } finally {
    await world.close();
  }
});

it('a cursor of another list, an old or a broken one is refused with what to do', async () => {
  const world = await startWorld({ state: seedOf500() });
  try {
    const app = await world.open();
    const { cursor } = (await call(app, 'get_vms', { limit: 1 })).result as { cursor: string };
    for (const [tool, broken] of [
      ['get_containers', cursor],
      ['get_cluster_resources', cursor],
      ['get_vms', '100.e3b0c442'],
      ['get_vms', cursor.slice(0, -2)],
      ['get_recent_tasks', 'nonsense'],
    ] as const) {
      const refused = await call(app, tool, { cursor: broken });
      expect(refused).toMatchObject({ status: 'error', code: 'invalid_input', next: expect.stringContaining('leave `cursor` out') });
      expect(await call(app, tool, {})).toMatchObject({ status: 'ok' });
    }
  } finally {
    await world.close();
  }
});
