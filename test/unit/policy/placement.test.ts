/** HA rules as the API tells them: of Proxmox VE 9, and the groups of 8. */
import { describe, expect, it } from 'vitest';
import { allowedNodes, placementRules } from '#policy/blast/placement';

const nothing = { rules: [], groups: [], resources: [] };
const online = ['a', 'b', 'c'];

describe('rules of Proxmox VE 9', () => {
  it('are read as the manager reads them: what is off or faulty counts for nothing', () => {
    const affinity = { rule: 'r', type: 'resource-affinity', resources: 'vm:100,ct:101' };
    const rules = [
      { rule: 'n', type: 'node-affinity', resources: 'vm:100', nodes: 'a:2,b', strict: 1 },
      { ...affinity, affinity: 'negative' },
      { ...affinity, affinity: 'positive' },
      { ...affinity, affinity: 'negative', disable: 1 },
      { ...affinity, affinity: 'negative', errors: { resources: ['no'] } },
      { rule: 'x', type: 'of-the-future', resources: 'vm:100' },
    ];
    expect(placementRules({ ...nothing, rules })).toEqual([
      {
        kind: 'nodes',
        guests: [100],
        nodes: new Map([
          ['a', 2],
          ['b', 0],
        ]),
        strict: true,
      },
      { kind: 'apart', guests: [100, 101] },
      { kind: 'together', guests: [100, 101] },
    ]);
  });

  it('leave what `select_service_node` leaves', () => {
    const nodes = (strict: boolean, ...names: readonly (readonly [string, number])[]) =>
      ({ kind: 'nodes', guests: [1], nodes: new Map(names), strict }) as const;
    const at = new Map([
      [2, 'b'],
      [3, 'c'],
      [4, 'c'],
    ]);
    const left = (...rules: Parameters<typeof allowedNodes>[2]['rules']) => [...allowedNodes(1, online, { rules, at })];
    expect(left(nodes(true, ['a', 1], ['b', 2]))).toEqual(['b']);
    expect(left(nodes(true, ['gone', 1]))).toEqual([]);
    expect(left(nodes(false, ['gone', 1]))).toEqual(online);
    expect(left({ kind: 'apart', guests: [1, 2] })).toEqual(['a', 'c']);
    expect(left({ kind: 'together', guests: [1, 2, 3, 4] })).toEqual(['c']);
    // Kept together and apart at once: those of the others that may be gone to count.
    expect(left({ kind: 'together', guests: [1, 2, 3, 4] }, { kind: 'apart', guests: [1, 3] })).toEqual(['b']);
    expect(left({ kind: 'apart', guests: [5, 6] })).toEqual(online);
  });
});

describe('groups of Proxmox VE 8', () => {
  it('are nodes with priorities for their resources, strict where they are restricted', () => {
    const groups = [{ group: 'g', nodes: 'a:1,b', restricted: 1 }];
    const resources = [{ sid: 'vm:100', group: 'g' }, { sid: 'ct:200' }];
    expect(placementRules({ ...nothing, groups, resources })).toEqual([
      {
        kind: 'nodes',
        guests: [100],
        nodes: new Map([
          ['a', 1],
          ['b', 0],
        ]),
        strict: true,
      },
    ]);
  });
});
