import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import * as rows from '#connectors/proxmox/rows';
import { parseUpid } from '#connectors/proxmox/rows';

const unusable = expect.objectContaining({ code: 'pve_bad_answer' }) as Error;

interface Recorded {
  readonly request: { readonly method: string; readonly path: string };
  readonly response: { readonly status: number; readonly body: { readonly data: unknown } };
}
const recorded = [
  ...(JSON.parse(readFileSync('test/fixtures/pve/exchanges.json', 'utf8')) as { exchanges: Recorded[] }).exchanges,
  ...(JSON.parse(readFileSync('test/fixtures/pve/exchanges-degraded.json', 'utf8')) as Recorded[]),
];
/** `data` of every recorded success whose path fits. */
function answers(path: RegExp): unknown[] {
  const found = recorded.filter(({ request, response }) => request.method === 'GET' && path.test(request.path) && response.status === 200);
  expect(found.length).toBeGreaterThan(0);
  return found.map(({ response }) => response.body.data);
}

describe('what a real cluster answered', () => {
  it.each([
    ['/cluster/status', /^\/cluster\/status$/, rows.readClusterStatus],
    ['/nodes', /^\/nodes$/, rows.readNodes],
    ['/cluster/resources?type=vm', /^\/cluster\/resources\?type=vm$/, rows.readGuests],
    ['/cluster/resources', /^\/cluster\/resources/, rows.readObjects],
    ['/cluster/tasks', /^\/cluster\/tasks$/, rows.readObjects],
    ['/access/permissions', /^\/access\/permissions$/, rows.readPermissions],
    ['/version', /^\/version$/, rows.readVersion],
    ['/nodes/…/status', /^\/nodes\/\w+\/status$/, rows.readObject],
    ['…/log', /\/log$/, rows.readTaskLog],
  ])('can be read: %s', (_path, pattern, read) => {
    for (const data of answers(pattern)) expect(read(data)).toBeDefined();
  });

  it('tells a node that is down, and a lost quorum', () => {
    const status = answers(/^\/cluster\/status$/).map(rows.readClusterStatus);
    expect(status.some((one) => one.some((row) => row.type === 'node' && row.online === false))).toBe(true);
    expect(status.some((one) => one.some((row) => row.type === 'cluster' && row.quorate === false))).toBe(true);
    expect(status.some((one) => one.some((row) => row.type === 'cluster' && row.quorate === true))).toBe(true);
  });
});

describe('guests', () => {
  it('may be partial, as right after the start or on an offline node', () => {
    expect(rows.readGuests([{ vmid: 103, node: 'agent1', type: 'qemu', id: 'qemu/103' }])).toEqual([
      { vmid: 103, node: 'agent1', type: 'qemu', status: 'unknown', raw: { vmid: 103, node: 'agent1', type: 'qemu', id: 'qemu/103' } },
    ]);
  });

  it('may have their number as a text', () => {
    expect(rows.readGuests([{ vmid: '0103', node: 'pve', type: 'lxc', status: 'running', name: 'x' }])).toMatchObject([
      { vmid: 103, name: 'x', status: 'running' },
    ]);
  });

  it('leave rows of other kinds out', () => {
    expect(rows.readGuests([{ type: 'openvz', vmid: 1 }, { type: 'storage' }, {}])).toEqual([]);
  });

  it.each([
    ['online', 'running'],
    // Of a node without a cluster around it, or one that has just started (`extract_node_stats`, `PVE/API2Tools.pm`).
    ['unknown', 'running'],
    ['offline', 'unknown, node offline'],
  ])('of a node that is %s are %s', (status, expected) => {
    const guest = { type: 'qemu', vmid: 100, node: 'pve', status: 'running' };
    expect(rows.readGuests([{ type: 'node', node: 'pve', status }, guest])).toMatchObject([{ status: expected }]);
  });

  it.each([
    [{ vmid: 1.5, node: 'pve', type: 'qemu' }],
    [{ vmid: 'x', node: 'pve', type: 'qemu' }],
    [{ vmid: 100, node: '', type: 'qemu' }],
    [{ vmid: 100, node: 7, type: 'qemu' }],
    [{ node: 'pve', type: 'lxc' }],
  ])('are not half read: %j', (row) => {
    expect(() => rows.readGuests([row])).toThrow(unusable);
  });
});

describe('flags', () => {
  it.each([
    [1, true],
    ['1', true],
    [true, true],
    [0, false],
    ['0', false],
    ['', false],
    [false, false],
  ])('%j is %s', (online, expected) => {
    expect(rows.readClusterStatus([{ type: 'node', name: 'pve', online }])).toEqual([{ type: 'node', name: 'pve', online: expected }]);
  });

  it('that are absent stay absent', () => {
    const [row] = rows.readClusterStatus([{ type: 'node', name: 'pve' }]);
    expect(Object.keys(row ?? {})).toEqual(['type', 'name']);
  });

  it('of a permission say whether it propagates', () => {
    expect(rows.readPermissions({ '/vms/100': { 'VM.Audit': 1, 'VM.PowerMgmt': 0 } })).toEqual({
      '/vms/100': { 'VM.Audit': true, 'VM.PowerMgmt': false },
    });
  });
});

describe('a task', () => {
  const upid = parseUpid('UPID:pve:000001BD:00067A48:6B01FA40:qmstop:100:jarvis@pve!ops:');

  it.each([
    [{ status: 'running' }, { running: true }],
    [
      { status: 'stopped', exitstatus: 'OK' },
      { running: false, exitStatus: 'OK' },
    ],
    [
      { status: 'stopped', exitstatus: 'unexpected status' },
      { running: false, exitStatus: 'unexpected status' },
    ],
    [{ status: 'stopped' }, { running: false, exitStatus: 'unknown' }],
  ])('%j', (data, expected) => {
    expect(rows.readTaskStatus(data, upid)).toEqual({ upid: upid.text, node: 'pve', ...expected });
  });

  it('without a status is unusable', () => {
    expect(() => rows.readTaskStatus({}, upid)).toThrow(unusable);
  });
});

describe('the envelope', () => {
  it.each(['', '[]', 'null', '"x"', '{}', '{"data":', 'undefined'])('%j is unusable', (body) => {
    expect(() => rows.readData(body)).toThrow(unusable);
  });

  it('may hold null', () => {
    expect(rows.readData('{"data":null}')).toBeNull();
  });

  it.each([
    ['readObject', [], rows.readObject],
    ['readObjects', {}, rows.readObjects],
    ['readObjects', [[]], rows.readObjects],
    ['readText', null, rows.readText],
    ['readVersion', { version: 9 }, rows.readVersion],
    ['readTaskLog', [{ t: 1 }], rows.readTaskLog],
    ['readPermissions', [], rows.readPermissions],
  ])('%s does not take %j', (_name, data, read) => {
    expect(() => read(data)).toThrow(unusable);
  });
});
