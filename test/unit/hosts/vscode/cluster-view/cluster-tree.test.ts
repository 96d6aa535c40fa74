import { describe, expect, it } from 'vitest';
import { describeTools } from '#app/catalog';
import { choicesIn, type Look, lookInWords, wholeLook } from '#hosts/vscode/cluster-view/cluster-look';
import type { ClusterState } from '#hosts/vscode/cluster-view/cluster-rows';
import { buildTree, changedRows, type Tree } from '#hosts/vscode/cluster-view/cluster-tree';
import { answeredBy, fittingTools, toolFor } from '#hosts/vscode/cluster-view/fitting-tools';
import { argumentPlan } from '#hosts/vscode/commands/picks';
import type { AttemptView } from '#kernel/attempt';
import type { JsonObject } from '#kernel/json';

const gib = 2 ** 30;
const node = (name: string, more: JsonObject = {}): JsonObject => ({
  type: 'node',
  node: name,
  status: 'online',
  cpu: 0.12,
  mem: 3 * gib,
  maxmem: 8 * gib,
  ...more,
});
const guest = (vmid: number, on: string, more: JsonObject = {}): JsonObject => ({
  ...{ type: 'qemu', vmid, node: on, name: `vm${vmid}`, status: 'running', cpu: 0.5, mem: gib, maxmem: 4 * gib },
  ...more,
});

const resources = [
  node('pve1'),
  node('pve2', { status: 'offline' }),
  guest(100, 'pve1', { tags: 'prod;web', pool: 'shop' }),
  guest(101, 'pve1', { status: 'stopped', lock: 'backup', tags: 'test' }),
  guest(9, 'pve2', { type: 'lxc', name: '$(shield)\u202Eevil\n', status: 'unknown, node offline' }),
  guest(900, 'pve1', { template: 1, status: 'stopped' }),
  { type: 'storage', node: 'pve1', storage: 'local', status: 'available', disk: 95, maxdisk: 100 },
  { type: 'storage', node: 'pve1', storage: 'nas', status: 'available', shared: 1, disk: gib, maxdisk: 4 * gib },
  { type: 'storage', node: 'pve2', storage: 'nas', status: 'available', shared: 1, disk: gib, maxdisk: 4 * gib },
];
const tasks = [
  {
    upid: 'UPID:pve1:1:1:65000000:qmstart:100:root@pam:',
    type: 'qmstart',
    id: '100',
    node: 'pve1',
    user: 'root@pam',
    starttime: 1_760_000_000,
  },
  { upid: 'UPID:pve1:2:1:65000000:qmstop:100:root@pam:', type: 'qmstop', id: '100', node: 'pve1', endtime: 1_760_000_009, status: 'OK' },
];
const state: ClusterState = {
  name: 'demo',
  overview: { resources, tasks },
  readAt: 1,
  protected: { guests: new Map([[100, 'guest 100 is protected by configuration']]), nodes: new Map() },
};
const running: AttemptView = {
  call: 'c',
  standing: 'running',
  tool: 'stop_vm',
  agent: 'mcp:ci',
  targets: ['101 on demo'],
  begunAt: '2026-01-01T00:00:00Z',
};

const build = (more: Partial<ClusterState> = {}, look: Partial<Look> = {}, at: readonly AttemptView[] = []): Tree =>
  buildTree([{ ...state, ...more }], at, { ...wholeLook, ...look });
const labels = (tree: Tree, ids: readonly string[] = tree.roots): readonly unknown[] =>
  ids.map((id) => {
    const children = tree.children(id);
    const label = tree.row(id)?.label;
    return children === undefined ? label : [label, ...labels(tree, children)];
  });
/** All, each after its parent. */
const idsOf = (tree: Tree, ids: readonly string[] = tree.roots): readonly string[] =>
  ids.flatMap((id) => [id, ...idsOf(tree, tree.children(id) ?? [])]);
const rowsOf = (tree: Tree) => idsOf(tree).flatMap((id) => tree.row(id) ?? []);
const rowOf = (tree: Tree, label: string) => rowsOf(tree).find((row) => row.label.startsWith(label));

describe('the tree', () => {
  it('is clusters, running tasks, nodes with their guests and storages, and what is shared once', () => {
    expect(labels(build())).toEqual([
      [
        'demo',
        ['Running tasks', 'Start VM 100'],
        ['pve1', '100 vm100', '101 vm101', '900 vm900', ['Storage', 'local']],
        ['pve2', expect.stringMatching(/^9 /)],
        ['Shared storage', 'nas'],
      ],
    ]);
  });

  it('tells state, load, lock, tags, protection and who is at it, in words as well', () => {
    const tree = build({}, {}, [running]);
    expect(rowOf(tree, '100')).toMatchObject({
      description: '50 % · 1.0 GiB of 4.0 GiB · prod, web',
      kind: 'guest-running',
      flags: ['protected'],
    });
    expect(rowOf(tree, '101')).toMatchObject({
      description: 'stop_vm by mcp:ci now · stopped · locked (backup) · test',
      flags: ['agent', 'lock'],
    });
    expect(rowOf(tree, '101')?.spoken).toContain('an agent is at it now');
    expect(rowOf(tree, '900')).toMatchObject({ description: 'template', kind: 'guest-other' });
    expect(rowOf(tree, 'pve2')).toMatchObject({ kind: 'node-offline', description: 'offline · 0 of 1 run' });
  });

  it('shows what a guest calls itself plainly', () => {
    expect(rowOf(build(), '9 ')?.label).not.toMatch(/[\n\u202E]/);
  });

  it('keeps what was seen of a cluster that does not answer, and says since when and what to do', () => {
    const failed = { since: 0, message: 'connection refused', next: 'look at the node' };
    const tree = build({ failed });
    expect(labels(tree)).toEqual([
      ['demo', expect.stringMatching(/^Below is what was last seen; not reached since /), ...Array(4).fill(expect.anything())],
    ]);
    expect(rowOf(tree, 'Below')?.details()).toContain('What to do: look at the node');
    expect(labels(buildTree([{ name: 'demo', failed }], [], wholeLook))).toEqual([['demo', expect.stringMatching(/^Not reached since /)]]);
  });

  it.each<[Partial<Look>, readonly unknown[]]>([
    [{ search: '10' }, [['demo', ['pve1', '100 vm100', '101 vm101']]]],
    [{ search: 'SHOP' }, [['demo', ['pve1', '100 vm100']]]],
    [{ states: ['locked'] }, [['demo', ['pve1', '101 vm101']]]],
    [{ states: ['agent'] }, [['demo', ['pve1', '101 vm101']]]],
    [{ tags: ['prod', 'test'] }, [['demo', ['pve1', '100 vm100', '101 vm101']]]],
    [{ pools: ['shop'], states: ['stopped'] }, [['demo']]],
    [{ search: 'nas' }, [['demo', ['Shared storage', 'nas']]]],
  ])('shows of %j only what fits, and where it is', (look, expected) => {
    expect(labels(build({}, look, [running]))).toEqual(expected);
    expect(lookInWords({ ...wholeLook, ...look })).toBeDefined();
  });

  it('sorts guests, and by number where it makes no difference', () => {
    const order = (sort: Look['sort']) => {
      const tree = build({}, { sort });
      return (tree.children('demo/pve1') ?? []).map((id) => tree.row(id)?.target.vmid).filter((vmid) => vmid !== undefined);
    };
    expect(order('number')).toEqual([100, 101, 900]);
    expect(order('state')).toEqual([100, 101, 900]);
    expect(order('name')).toEqual([100, 101, 900]);
  });

  it('offers to filter by what there is', () => {
    const { states, tags, pools } = choicesIn(resources);
    expect([...states]).toEqual([
      ['locked', 1],
      ['offline', 1],
      ['running', 1],
      ['stopped', 1],
      ['template', 1],
    ]);
    expect([...tags.keys(), ...pools.keys()]).toEqual(['prod', 'test', 'web', 'shop']);
  });
});

describe('what is drawn anew', () => {
  const changed = (change: (rows: readonly JsonObject[]) => readonly JsonObject[]) => {
    const after = build({ overview: { resources: change(resources), tasks } });
    return changedRows(build(), after, idsOf(after));
  };

  it('is nothing where nothing else can be seen', () => {
    expect(
      changed((rows) => rows.map((row) => ({ ...row, uptime: 5, netin: 9, ...(row['vmid'] === 100 ? { cpu: 0.5004 } : {}) }))),
    ).toEqual([]);
  });

  it('is the row that changed, and those that tell of it', () => {
    expect(changed((rows) => rows.map((row) => (row['vmid'] === 101 ? { ...row, lock: '' } : row)))).toEqual(['demo/pve1/101']);
  });

  it('is the node whose guests came or went, with all below it', () => {
    const ids = changed((rows) => rows.map((row) => (row['vmid'] === 101 ? { ...row, node: 'pve2' } : row)));
    expect(ids).toEqual(['demo/pve1', 'demo/pve2']);
  });

  it('is the whole tree where a cluster came or went', () => {
    expect(changedRows(build(), buildTree([], [], wholeLook), idsOf(build()))).toEqual([undefined]);
  });
});

describe('tools that fit a row', () => {
  const tools = describeTools();
  const names = (label: string) => fittingTools(tools, rowOf(build(), label)?.target ?? { cluster: 'demo' }).map(({ name }) => name);

  it('are of its kind and for what it is now', () => {
    expect(names('100')).toEqual(expect.arrayContaining(['get_guest', 'stop_vm', 'migrate_guest', 'delete_guest', 'suspend_vm']));
    expect(names('100').filter((name) => /container|^start_|resume|_plan$|_node$/.test(name))).toEqual([]);
    expect(names('101')).toContain('start_vm');
    expect(names('101').filter((name) => /^(?:stop|shutdown|restart|reset)_/.test(name))).toEqual([]);
    expect(names('pve2')).toContain('wake_node');
    expect(names('pve1')).toEqual(expect.arrayContaining(['get_node_status', 'execute_ssh', 'restart_service']));
    expect(names('pve1')).not.toContain('wake_node');
    expect(names('local')).toEqual(['get_backups']);
    expect(names('demo')).toContain('get_cluster_status');
  });

  it('never hold one that is always refused', () => {
    const black = new Set(tools.filter(({ tier }) => tier === 'black').map(({ name }) => name));
    for (const { label } of rowsOf(build())) expect(names(label).filter((name) => black.has(name))).toEqual([]);
  });

  it('are asked only for what the row does not answer', () => {
    const target = rowOf(build(), '100')?.target ?? { cluster: '' };
    const migrate = toolFor(tools, 'migrate_guest', target);
    if (migrate === undefined) throw new Error('it does not fit');
    const given = answeredBy(migrate, target);
    expect(given).toEqual({ cluster: 'demo', node: 'pve1', vmid: 100 });
    expect(
      argumentPlan(migrate, Object.keys(given)).flatMap((step) => ('name' in step ? [[step.name, step.required, step.type]] : [])),
    ).toEqual([
      ['target', true, undefined],
      ['with_local_disks', false, 'boolean'],
    ]);
  });
});

describe('5,000 guests on 500 nodes', () => {
  const nodes = Array.from({ length: 500 }, (_one, index) => node(`n${index}`));
  const guests = Array.from({ length: 5_000 }, (_one, index) => guest(1000 + index, `n${index % 500}`, { tags: `t${index % 7}` }));
  const whole = (rows: readonly JsonObject[] = [...nodes, ...guests]) =>
    buildTree([{ name: 'big', overview: { resources: rows } }], [], wholeLook);
  const stopped = () => whole([...nodes, ...guests.map((row) => (row['vmid'] === 1777 ? { ...row, status: 'stopped' } : row))]);

  it('one guest that changes is one row, and those that tell of it', () => {
    expect(idsOf(whole())).toHaveLength(5_501);
    expect(changedRows(whole(), stopped(), idsOf(whole()))).toEqual(['big', 'big/n277', 'big/n277/1777']);
    expect(changedRows(whole(), stopped(), ['big', 'big/n3'])).toEqual(['big']);
  });

  it('what is below a node is there only once it is opened, or asked for', () => {
    const tree = whole();
    expect(tree.size).toBe(501);
    expect(tree.children('big/n277')).toHaveLength(10);
    expect(tree.row('big/n3/1003')?.target.vmid).toBe(1003);
    expect([tree.parent('big/n3/1003'), tree.has('big/n4/1003'), tree.size]).toEqual(['big/n3', false, 531]);
  });

  it('a guest that came to a node that nobody opened is no reason to draw it anew, but for what the node says of it', () => {
    const moved = () => whole([...nodes, ...guests.map((row) => (row['vmid'] === 1777 ? { ...row, node: 'n3', status: 'stopped' } : row))]);
    expect(changedRows(whole(), moved(), ['big', 'big/n277', 'big/n3', 'big/n3/1003'])).toEqual(['big', 'big/n277', 'big/n3']);
    const without = () => whole([...nodes, ...guests.filter((row) => row['node'] !== 'n277')]);
    expect(changedRows(whole(), without(), ['big', 'big/n277'])).toEqual(['big', 'big/n277']);
  });
});
