/** The emulator held to Proxmox VE's own schema, releases 9.1.3 and 9.1.5: what it declares, what it answers, for every method. */
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createManualClock, type DemoCluster, demoTokens, type ManualClock, startDemoCluster } from '#demo/index';
import { type ApiMethod, pathParameters } from '#demo/pve/api-method';
import { apiMethods } from '#demo/pve/methods/index';
import type { ParameterSpec } from '#demo/pve/parameter';
import { buildState } from '#demo/pve/state';
import { labPassword, labState } from '../../../scripts/replay/lab-fixture.ts';
import { data } from './api-client.ts';
import { misfits, type ReturnSchema } from './schema-check.ts';

interface ContractParameter {
  readonly type: string;
  readonly optional?: number;
  readonly enum?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly requires?: string;
}

interface ContractMethod {
  readonly parameters: Readonly<Record<string, ContractParameter>>;
  readonly returns?: ReturnSchema;
  readonly permissions?: { readonly user?: string; readonly check?: readonly [string, string, readonly string[], ...unknown[]] };
  readonly proxyto?: string;
  readonly allowtoken?: number;
}

type Contract = Readonly<Record<string, Readonly<Record<string, ContractMethod>>>>;

function contractIn(file: string): Contract {
  const bytes = readFileSync(new URL(`../../fixtures/pve/${file}`, import.meta.url));
  return JSON.parse((file.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString('utf8')) as Contract;
}

const contract = Object.entries({ ...contractIn('contract.json'), ...contractIn('operations-contract.json.gz') }).map(
  ([name, releases]) => [name, released(name, releases)] as const,
);

/** The demo has no ceph, no replication and, as of PVE 9, no HA groups. */
const refusing = /\/ceph\/|\/ha\/groups$|^POST \/cluster\/replication|\/replication\/\{id\}/;

const nothing: ContractMethod = { parameters: {} };

/** Indexes that the two contract files leave out. */
const withoutContract = ['GET /', 'GET /nodes/{node}/lxc/{vmid}'];

function released(name: string, releases: Readonly<Record<string, ContractMethod>>): ContractMethod {
  const method = releases['9.1.5'] ?? releases['9.1.3'];
  if (method === undefined) throw new Error(`${name} is in neither release`);
  return method;
}

function keyOf(method: ApiMethod): string {
  return `${method.verb} ${method.path}`;
}

function declared(name: string): ApiMethod {
  const method = apiMethods.find((one) => keyOf(one) === name);
  if (method === undefined) throw new Error(`the emulator does not have ${name}`);
  return method;
}

describe('the method table', () => {
  it('has exactly the methods of the contract, once each', () => {
    expect(apiMethods.map(keyOf).sort()).toEqual([...contract.map(([name]) => name), ...withoutContract].sort());
    expect(contract.length).toBeGreaterThan(70);
  });

  it.each(contract)('%s takes the declared parameters', (name, method) => {
    const own = declared(name);
    const inPath = [...own.path.matchAll(/\{(\w+)\}/g)].map(([, variable = '']) => variable);
    const specs: Record<string, ParameterSpec | undefined> = {
      ...Object.fromEntries(inPath.map((variable) => [variable, pathParameters[variable]])),
      ...own.parameters,
    };
    expect(Object.keys(specs).sort()).toEqual(Object.keys(method.parameters).sort());
    for (const [parameter, wanted] of Object.entries(method.parameters))
      expect({ [parameter]: comparable(specs[parameter]) }).toEqual({
        // What is part of the path is there, whatever the schema says.
        [parameter]: { ...comparable(wanted), ...(parameter === 'storage' && inPath.includes(parameter) ? { optional: false } : {}) },
      });
  });

  it.each(contract)('%s asks for the declared rights and answers where declared', (name, { permissions, proxyto, allowtoken }) => {
    const own = declared(name);
    expect(own.proxied).toBe(proxyto === 'node');
    expect(own.allowToken ?? true).toBe(allowtoken === 1);
    expect(own.permission).toEqual(permissionOf(permissions));
  });
});

function permissionOf(permissions: ContractMethod['permissions']): unknown {
  if (permissions?.check === undefined) return permissions?.user;
  if (permissions.check[0] === 'and')
    return permissionOf({ check: permissions.check[1] as unknown as NonNullable<typeof permissions.check> });
  if (permissions.check[0] === 'userid-group') return { userGroup: permissions.check[1] };
  const [, path, privileges, ...options] = permissions.check;
  return { path, privileges, ...(options[0] === 'any' ? { any: true } : {}) };
}

function comparable(spec: ParameterSpec | ContractParameter | undefined) {
  return {
    type: spec?.type,
    optional: Boolean(spec?.optional),
    enum: spec?.enum,
    // The schema has some of its numbers as text.
    minimum: spec?.minimum === undefined ? undefined : Number(`${spec.minimum}`),
    maximum: spec?.maximum,
    maxLength: spec?.maxLength,
    requires: spec?.requires,
  };
}

interface Trial {
  readonly path: string;
  readonly form?: Readonly<Record<string, string>>;
  /** Whether an empty list would be no proof. */
  readonly filled?: boolean;
  /** What was begun before comes to its end first. */
  readonly later?: boolean;
}

const one = '/nodes/pve/qemu/100';
const ct = '/nodes/pve/lxc/201';
const management = '/nodes/agent1/qemu/103';
/** Of the demo's own backups; its name has the time in it. */
const archive = 'local:backup/vzdump-qemu-100-2026_11_20-02_00_00.vma.zst';
const template = 'local:vztmpl/debian-13-standard_13.1-1_amd64.tar.zst';

/** The real 9.1.5 answers some declared numbers as text (containers' pressure, the next id, corosync's figures): the emulator follows it. */
const realMisfit =
  /(?:\.pressure\w+: is "\d+\.\d\d", not number|(?:^data|\.nodeid|\.quorum_votes|^data\.pos): is "\d+", not integer|\.(?:fleecing|performance): is \{.*\}, not string|\.value: is \d+, not string)$/;

/** A request for each method that is answered 200 in the demo's first state. `{upid}` is a task of node pve. */
const trials: Readonly<Record<string, Trial>> = {
  'GET /version': { path: '/version' },
  'GET /access/permissions': { path: '/access/permissions' },
  'GET /cluster/status': { path: '/cluster/status', filled: true },
  'GET /cluster/resources': { path: '/cluster/resources', filled: true },
  'GET /cluster/tasks': { path: '/cluster/tasks', filled: true },
  'GET /cluster/nextid': { path: '/cluster/nextid' },
  'GET /cluster/ha/status/current': { path: '/cluster/ha/status/current', filled: true },
  'GET /nodes': { path: '/nodes', filled: true },
  'GET /nodes/{node}/status': { path: '/nodes/pve/status' },
  'POST /nodes/{node}/status': { path: '/nodes/agent1/status', form: { command: 'reboot' } },
  'GET /nodes/{node}/tasks': { path: '/nodes/pve/tasks?source=all', filled: true },
  'GET /nodes/{node}/tasks/{upid}/status': { path: '/nodes/pve/tasks/{upid}/status' },
  'GET /nodes/{node}/tasks/{upid}/log': { path: '/nodes/pve/tasks/{upid}/log', filled: true },
  'DELETE /nodes/{node}/tasks/{upid}': { path: '/nodes/pve/tasks/{upid}' },
  'GET /nodes/{node}/storage': { path: '/nodes/pve/storage', filled: true },
  'GET /nodes/{node}/storage/{storage}/content': { path: '/nodes/pve/storage/local/content', filled: true },
  'GET /nodes/{node}/storage/{storage}/status': { path: '/nodes/pve/storage/local/status' },
  'POST /nodes/{node}/wakeonlan': { path: '/nodes/agent1/wakeonlan', form: {} },
  'GET /nodes/{node}/config': { path: '/nodes/pve/config' },
  'GET /nodes/{node}/services': { path: '/nodes/pve/services', filled: true },
  'GET /nodes/{node}/services/{service}/state': { path: '/nodes/pve/services/pveproxy/state' },
  'POST /nodes/{node}/services/{service}/restart': { path: '/nodes/pve/services/cron/restart', form: {} },
  'GET /nodes/{node}/syslog': { path: '/nodes/pve/syslog', filled: true },
  'GET /nodes/{node}/rrddata': { path: '/nodes/pve/rrddata?timeframe=hour', filled: true },
  'GET /nodes/{node}/qemu': { path: '/nodes/pve/qemu', filled: true },
  'GET /nodes/{node}/qemu/{vmid}/status/current': { path: `${one}/status/current` },
  'GET /nodes/{node}/qemu/{vmid}/config': { path: `${one}/config` },
  'POST /nodes/{node}/qemu/{vmid}/status/start': { path: `${one}/status/start`, form: {} },
  'POST /nodes/{node}/qemu/{vmid}/status/stop': { path: `${one}/status/stop`, form: {} },
  'POST /nodes/{node}/qemu/{vmid}/status/shutdown': { path: `${one}/status/shutdown`, form: {} },
  'POST /nodes/{node}/qemu/{vmid}/status/reboot': { path: `${one}/status/reboot`, form: {} },
  'POST /nodes/{node}/qemu/{vmid}/status/reset': { path: `${one}/status/reset`, form: {} },
  'GET /nodes/{node}/qemu/{vmid}/snapshot': { path: `${one}/snapshot`, filled: true },
  'POST /nodes/{node}/qemu/{vmid}/snapshot': { path: `${one}/snapshot`, form: { snapname: 'before' } },
  'GET /nodes/{node}/lxc': { path: '/nodes/pve/lxc', filled: true },
  'GET /nodes/{node}/lxc/{vmid}/status/current': { path: `${ct}/status/current` },
  'GET /nodes/{node}/lxc/{vmid}/config': { path: `${ct}/config` },
  'POST /nodes/{node}/lxc/{vmid}/status/start': { path: '/nodes/pve/lxc/999/status/start', form: {} },
  'POST /nodes/{node}/lxc/{vmid}/status/stop': { path: `${ct}/status/stop`, form: {} },
  'POST /nodes/{node}/lxc/{vmid}/status/shutdown': { path: `${ct}/status/shutdown`, form: {} },
  'POST /nodes/{node}/lxc/{vmid}/status/reboot': { path: `${ct}/status/reboot`, form: {} },
  'GET /nodes/{node}/lxc/{vmid}/snapshot': { path: `${ct}/snapshot`, filled: true },
  'POST /nodes/{node}/lxc/{vmid}/snapshot': { path: `${ct}/snapshot`, form: { snapname: 'before' } },
  'POST /nodes/{node}/qemu/{vmid}/agent/ping': { path: `${one}/agent/ping`, form: {} },
  'GET /nodes/{node}/qemu/{vmid}/agent/info': { path: `${one}/agent/info` },
  'GET /nodes/{node}/qemu/{vmid}/agent/get-osinfo': { path: `${one}/agent/get-osinfo` },
  'GET /nodes/{node}/qemu/{vmid}/agent/network-get-interfaces': { path: `${one}/agent/network-get-interfaces` },
  'POST /nodes/{node}/qemu/{vmid}/agent/exec': { path: `${one}/agent/exec`, form: { command: 'uptime' } },
  'GET /nodes/{node}/qemu/{vmid}/agent/exec-status': { path: `${one}/agent/exec-status?pid=4242` },
  'GET /nodes/{node}/qemu/{vmid}/agent/file-read': { path: `${one}/agent/file-read?file=/etc/hostname` },
  'GET /access': { path: '/access', filled: true },
  'GET /access/users/{userid}': { path: '/access/users/ops@pve' },
  'GET /cluster': { path: '/cluster', filled: true },
  'GET /nodes/{node}': { path: '/nodes/pve', filled: true },
  'GET /nodes/{node}/qemu/{vmid}': { path: one, filled: true },
  'GET /nodes/{node}/qemu/{vmid}/status': { path: `${one}/status`, filled: true },
  'GET /nodes/{node}/lxc/{vmid}/status': { path: `${ct}/status`, filled: true },
  'GET /nodes/{node}/qemu/{vmid}/agent': { path: `${one}/agent`, filled: true },
  'GET /nodes/{node}/services/{service}': { path: '/nodes/pve/services/cron', filled: true },
  'GET /nodes/{node}/storage/{storage}': { path: '/nodes/pve/storage/local', filled: true },
  'GET /nodes/{node}/tasks/{upid}': { path: '/nodes/pve/tasks/{upid}', filled: true },
  'GET /nodes/{node}/certificates/info': { path: '/nodes/pve/certificates/info', filled: true },
  'GET /cluster/config/join': { path: '/cluster/config/join' },
  'GET /cluster/config/nodes': { path: '/cluster/config/nodes', filled: true },
  'GET /cluster/config/totem': { path: '/cluster/config/totem' },
  'GET /cluster/config/apiversion': { path: '/cluster/config/apiversion' },
  'GET /cluster/ha': { path: '/cluster/ha', filled: true },
  'POST /cluster/ha/resources': { path: '/cluster/ha/resources', form: { sid: 'vm:101', comment: 'of the test' } },
  'GET /cluster/ha/resources': { path: '/cluster/ha/resources', filled: true },
  'GET /cluster/ha/resources/{sid}': { path: '/cluster/ha/resources/vm:101' },
  'PUT /cluster/ha/resources/{sid}': { path: '/cluster/ha/resources/vm:101', form: { state: 'stopped' } },
  'POST /cluster/ha/resources/{sid}/migrate': { path: '/cluster/ha/resources/101/migrate', form: { node: 'pve' } },
  'POST /cluster/ha/resources/{sid}/relocate': { path: '/cluster/ha/resources/vm:101/relocate', form: { node: 'Home' } },
  'DELETE /cluster/ha/resources/{sid}': { path: '/cluster/ha/resources/vm:101' },
  'GET /cluster/ha/rules': { path: '/cluster/ha/rules' },
  'GET /cluster/ha/status/manager_status': { path: '/cluster/ha/status/manager_status' },
  'GET /access/acl': { path: '/access/acl', filled: true },
  'GET /access/roles/{roleid}': { path: '/access/roles/BanksmanAuditor' },
  'GET /access/users': { path: '/access/users?full=1', filled: true },
  'GET /storage': { path: '/storage', filled: true },
  'GET /storage/{storage}': { path: '/storage/nas' },
  'GET /pools': { path: '/pools', filled: true },
  'GET /cluster/options': { path: '/cluster/options' },
  'GET /cluster/log': { path: '/cluster/log' },
  'GET /cluster/replication': { path: '/cluster/replication' },
  'GET /nodes/{node}/replication': { path: '/nodes/pve/replication' },
  'GET /nodes/{node}/network': { path: '/nodes/pve/network', filled: true },
  'GET /nodes/{node}/apt/update': { path: '/nodes/pve/apt/update', filled: true },
  'GET /nodes/{node}/apt/versions': { path: '/nodes/pve/apt/versions', filled: true },
  'GET /nodes/{node}/qemu/{vmid}/rrddata': { path: `${one}/rrddata?timeframe=hour`, filled: true },
  'GET /nodes/{node}/lxc/{vmid}/rrddata': { path: `${ct}/rrddata?timeframe=day`, filled: true },
  'GET /nodes/{node}/lxc/{vmid}/interfaces': { path: `${ct}/interfaces`, filled: true },
  'GET /nodes/{node}/storage/{storage}/rrddata': { path: '/nodes/pve/storage/nas/rrddata?timeframe=month', filled: true },
  'GET /nodes/{node}/storage/{storage}/prunebackups': { path: '/nodes/pve/storage/local/prunebackups', filled: true },
  'POST /nodes/{node}/storage/{storage}/content': {
    path: '/nodes/pve/storage/local/content',
    form: { vmid: '100', filename: 'vm-100-disk-9.raw', size: '4M' },
  },
  'GET /nodes/{node}/storage/{storage}/content/{volume}': { path: '/nodes/pve/storage/local/content/local:100/vm-100-disk-9.raw' },
  'DELETE /nodes/{node}/storage/{storage}/content/{volume}': { path: '/nodes/pve/storage/local/content/local:100/vm-100-disk-9.raw' },
  'POST /nodes/{node}/services/{service}/start': { path: '/nodes/pve/services/cron/start', form: {} },
  'POST /nodes/{node}/services/{service}/stop': { path: '/nodes/pve/services/cron/stop', form: {} },
  'POST /nodes/{node}/services/{service}/reload': { path: '/nodes/pve/services/cron/reload', form: {} },
  'POST /nodes/{node}/qemu/{vmid}/status/suspend': { path: `${one}/status/suspend`, form: {} },
  'POST /nodes/{node}/qemu/{vmid}/status/resume': { path: `${one}/status/resume`, form: {} },
  'POST /nodes/{node}/lxc/{vmid}/status/suspend': { path: `${ct}/status/suspend`, form: {} },
  'POST /nodes/{node}/lxc/{vmid}/status/resume': { path: '/nodes/pve/lxc/999/status/resume', form: {} },
  'POST /nodes/{node}/qemu/{vmid}/migrate': { path: '/nodes/agent1/qemu/105/migrate', form: { target: 'pve' } },
  'POST /nodes/{node}/qemu/{vmid}/clone': { path: '/nodes/pve/qemu/900/clone', form: { newid: '901' } },
  'DELETE /nodes/{node}/qemu/{vmid}': { path: '/nodes/Home/qemu/101' },
  'GET /nodes/{node}/qemu/{vmid}/agent/get-fsinfo': { path: `${one}/agent/get-fsinfo` },
  'GET /nodes/{node}/qemu/{vmid}/agent/get-host-name': { path: `${one}/agent/get-host-name` },
  'GET /nodes/{node}/qemu/{vmid}/agent/get-time': { path: `${one}/agent/get-time` },
  'POST /nodes/{node}/qemu/{vmid}/agent/fsfreeze-status': { path: `${one}/agent/fsfreeze-status`, form: {} },
  'POST /nodes/{node}/qemu/{vmid}/agent/fstrim': { path: `${one}/agent/fstrim`, form: {} },
  'POST /nodes/{node}/qemu/{vmid}/agent/shutdown': { path: `${one}/agent/shutdown`, form: {} },
  'POST /nodes/{node}/vzdump': { path: '/nodes/pve/vzdump', form: { vmid: '100', storage: 'local' }, later: true },
  'GET /nodes/{node}/vzdump/defaults': { path: '/nodes/pve/vzdump/defaults?storage=local' },
  'GET /nodes/{node}/vzdump/extractconfig': { path: `/nodes/pve/vzdump/extractconfig?volume=${archive}` },
  'PUT /nodes/{node}/storage/{storage}/content/{volume}': {
    path: `/nodes/pve/storage/local/content/${archive}`,
    form: { notes: 'kept', protected: '1' },
  },
  'DELETE /nodes/{node}/storage/{storage}/prunebackups': { path: '/nodes/pve/storage/local/prunebackups?prune-backups=keep-last%3D9' },
  'POST /cluster/backup': { path: '/cluster/backup', form: { id: 'nightly', vmid: '100', schedule: '02:30', storage: 'nas' } },
  'GET /cluster/backup': { path: '/cluster/backup', filled: true },
  'GET /cluster/backup/{id}': { path: '/cluster/backup/nightly' },
  'PUT /cluster/backup/{id}': { path: '/cluster/backup/nightly', form: { enabled: '0' } },
  'GET /cluster/backup/{id}/included_volumes': { path: '/cluster/backup/nightly/included_volumes' },
  'GET /cluster/backup-info/not-backed-up': { path: '/cluster/backup-info/not-backed-up', filled: true },
  'DELETE /cluster/backup/{id}': { path: '/cluster/backup/nightly' },
  'GET /cluster/jobs/schedule-analyze': { path: '/cluster/jobs/schedule-analyze?schedule=02:30&iterations=3', filled: true },
  'PUT /cluster/options': { path: '/cluster/options', form: { 'registered-tags': 'protected' } },
  'GET /cluster/firewall/aliases': { path: '/cluster/firewall/aliases' },
  'GET /cluster/firewall/groups': { path: '/cluster/firewall/groups' },
  'GET /cluster/firewall/ipset': { path: '/cluster/firewall/ipset' },
  'GET /cluster/firewall/options': { path: '/cluster/firewall/options' },
  'GET /cluster/firewall/rules': { path: '/cluster/firewall/rules' },
  'GET /nodes/{node}/firewall/log': { path: '/nodes/pve/firewall/log', filled: true },
  'GET /nodes/{node}/firewall/options': { path: '/nodes/pve/firewall/options' },
  'GET /nodes/{node}/firewall/rules': { path: '/nodes/pve/firewall/rules' },
  'GET /nodes/{node}/lxc/{vmid}/firewall/rules': { path: `${ct}/firewall/rules` },
  'POST /nodes/{node}/qemu/{vmid}/firewall/rules': { path: `${one}/firewall/rules`, form: { type: 'in', action: 'ACCEPT' } },
  'GET /nodes/{node}/qemu/{vmid}/firewall/rules': { path: `${one}/firewall/rules`, filled: true },
  'GET /nodes/{node}/qemu/{vmid}/firewall/rules/{pos}': { path: `${one}/firewall/rules/0` },
  'PUT /nodes/{node}/qemu/{vmid}/firewall/rules/{pos}': { path: `${one}/firewall/rules/0`, form: { enable: '1' } },
  'DELETE /nodes/{node}/qemu/{vmid}/firewall/rules/{pos}': { path: `${one}/firewall/rules/0` },
  'PUT /nodes/{node}/qemu/{vmid}/firewall/options': { path: `${one}/firewall/options`, form: { enable: '1' } },
  'GET /nodes/{node}/qemu/{vmid}/firewall/options': { path: `${one}/firewall/options` },
  'GET /nodes/{node}/qemu/{vmid}/firewall/refs': { path: `${one}/firewall/refs` },
  'POST /nodes/{node}/apt/update': { path: '/nodes/pve/apt/update', form: {} },
  'GET /nodes/{node}/subscription': { path: '/nodes/pve/subscription' },
  'POST /pools': { path: '/pools', form: { poolid: 'staging', comment: 'of the test' } },
  'PUT /pools': { path: '/pools', form: { poolid: 'staging', comment: 'changed' } },
  'GET /pools/{poolid}': { path: '/pools/prod' },
  'DELETE /pools': { path: '/pools?poolid=staging' },
  'GET /nodes/{node}/qemu/{vmid}/feature': { path: `${one}/feature?feature=snapshot` },
  'GET /nodes/{node}/lxc/{vmid}/feature': { path: `${ct}/feature?feature=clone` },
  'GET /nodes/{node}/qemu/{vmid}/migrate': { path: '/nodes/agent1/qemu/103/migrate' },
  'GET /nodes/{node}/lxc/{vmid}/migrate': { path: `${ct}/migrate` },
  'POST /nodes/{node}/lxc/{vmid}/migrate': { path: '/nodes/Home/lxc/200/migrate', form: { target: 'pve', restart: '1' } },
  'PUT /nodes/{node}/qemu/{vmid}/config': { path: `${management}/config`, form: { description: 'of the test' } },
  'POST /nodes/{node}/qemu/{vmid}/config': { path: `${management}/config`, form: { cores: '1' } },
  'GET /nodes/{node}/qemu/{vmid}/pending': { path: `${management}/pending`, filled: true },
  'PUT /nodes/{node}/qemu/{vmid}/unlink': { path: `${management}/unlink`, form: { idlist: 'unused0' } },
  'PUT /nodes/{node}/lxc/{vmid}/config': { path: `${ct}/config`, form: { description: 'of the test' } },
  'GET /nodes/{node}/lxc/{vmid}/pending': { path: `${ct}/pending`, filled: true },
  'PUT /nodes/{node}/qemu/{vmid}/resize': { path: `${management}/resize`, form: { disk: 'scsi0', size: '+1G' } },
  'PUT /nodes/{node}/lxc/{vmid}/resize': { path: `${ct}/resize`, form: { disk: 'rootfs', size: '+1G' } },
  'POST /nodes/{node}/qemu/{vmid}/move_disk': {
    path: `${one}/move_disk`,
    form: { disk: 'scsi0', storage: 'local-lvm', format: 'qcow2' },
    later: true,
  },
  'POST /nodes/{node}/lxc/{vmid}/move_volume': { path: '/nodes/pve/lxc/201/move_volume', form: { volume: 'rootfs', storage: 'second' } },
  'GET /nodes/{node}/qemu/{vmid}/snapshot/{snapname}': { path: `${one}/snapshot/before`, filled: true, later: true },
  'GET /nodes/{node}/qemu/{vmid}/snapshot/{snapname}/config': { path: `${one}/snapshot/before/config` },
  'PUT /nodes/{node}/qemu/{vmid}/snapshot/{snapname}/config': { path: `${one}/snapshot/before/config`, form: { description: 'x' } },
  'POST /nodes/{node}/qemu/{vmid}/snapshot/{snapname}/rollback': { path: `${one}/snapshot/before/rollback`, form: {} },
  'DELETE /nodes/{node}/qemu/{vmid}/snapshot/{snapname}': { path: `${one}/snapshot/none` },
  'GET /nodes/{node}/lxc/{vmid}/snapshot/{snapname}/config': { path: `${ct}/snapshot/before/config` },
  'PUT /nodes/{node}/lxc/{vmid}/snapshot/{snapname}/config': { path: `${ct}/snapshot/before/config`, form: { description: 'x' } },
  'POST /nodes/{node}/lxc/{vmid}/snapshot/{snapname}/rollback': { path: `${ct}/snapshot/before/rollback`, form: {} },
  'DELETE /nodes/{node}/lxc/{vmid}/snapshot/{snapname}': { path: `${ct}/snapshot/none` },
  'POST /nodes/{node}/qemu': { path: '/nodes/pve/qemu', form: { vmid: '300', name: 'made', scsi0: 'local-lvm:1' } },
  'POST /nodes/{node}/lxc': {
    path: '/nodes/pve/lxc',
    form: { vmid: '301', ostemplate: template, storage: 'local-lvm' },
  },
  'POST /nodes/{node}/qemu/{vmid}/template': { path: '/nodes/pve/qemu/105/template', form: {}, later: true },
  'POST /nodes/{node}/lxc/{vmid}/clone': { path: `${ct}/clone`, form: { newid: '302', full: '1', snapname: 'before' }, later: true },
  'POST /nodes/{node}/lxc/{vmid}/template': { path: '/nodes/pve/lxc/301/template', form: {}, later: true },
  'DELETE /nodes/{node}/lxc/{vmid}': { path: '/nodes/pve/lxc/301', later: true },
};

describe('answers of the demo state', () => {
  let demo: DemoCluster;
  let clock: ManualClock;

  beforeAll(async () => {
    clock = createManualClock(Date.UTC(2026, 10, 21));
    demo = await startDemoCluster({ clock });
    const { storages, volumes } = demo.cluster.state;
    const lvm = storages.get('local-lvm');
    if (lvm !== undefined) storages.set('second', { ...lvm, id: 'second' });
    const { volumes: templates } = buildState(
      { ...labState, volumes: [{ volid: template, content: 'vztmpl', format: 'tzst', size: 1, ctime: 1 }] },
      0,
    );
    volumes.push(...templates.map((volume) => ({ ...volume, node: 'pve' })));
  });
  afterAll(() => demo.close());

  const authorization = () => demo.authorization[demoTokens.root];

  async function answer(name: string): Promise<unknown> {
    const trial = trials[name];
    if (trial === undefined) throw new Error(`no trial for ${name}`);
    if (trial.later === true) clock.advance(900_000);
    demo.cluster.tasks.advance();
    const upid = demo.cluster.tasks.list().find((task) => task.node === 'pve')?.upid ?? '';
    return data(demo, {
      method: name.split(' ', 1)[0] ?? 'GET',
      path: trial.path.replace('{upid}', encodeURIComponent(upid)),
      form: trial.form,
      authorization: authorization(),
    });
  }

  it('are tried for every method but the login and those that always refuse', () => {
    const names = contract.map(([name]) => name).filter((name) => name !== 'POST /access/ticket' && !refusing.test(name));
    expect(Object.keys(trials).sort()).toEqual(names.sort());
  });

  // In this order, as a resource is added before it is read and removed.
  const inOrder = Object.keys(trials).map((name) => [name, contract.find(([key]) => key === name)?.[1] ?? nothing] as const);
  it.each(inOrder)('%s fits its schema', async (name, method) => {
    const value = await answer(name);
    expect(misfits(method.returns ?? { type: 'null' }, value).filter((line) => !realMisfit.test(line))).toEqual([]);
    expect(trials[name]?.filled === true && Array.isArray(value) && value.length === 0).toBe(false);
  });

  it.each(['', '?type=vm', '?type=node', '?type=storage', '?type=sdn'])(
    '/cluster/resources%s fits, with guests running, snapshots taken and a node gone for long',
    async (query) => {
      const schema = contract.find(([name]) => name === 'GET /cluster/resources')?.[1].returns ?? {};
      await demo.faults.nodeDown('agent1');
      for (const minutes of [0, 10]) {
        clock.advance(minutes * 60_000);
        expect(misfits(schema, await data(demo, { path: `/cluster/resources${query}`, authorization: authorization() }))).toEqual([]);
      }
      await demo.faults.nodeUp('agent1');
    },
  );

  it.each(['GET /nodes/{node}/qemu/{vmid}/snapshot', 'GET /nodes/{node}/lxc/{vmid}/snapshot'])(
    '%s fits with a snapshot in it',
    async (name) => {
      clock.advance(60_000);
      const value = (await answer(name)) as readonly { readonly name: string }[];
      expect(value.map((row) => row.name)).toEqual(['before', 'current']);
      expect(misfits(contract.find(([key]) => key === name)?.[1].returns ?? {}, value)).toEqual([]);
    },
  );
});

it('answers a login as declared', async () => {
  const demo = await startDemoCluster({ state: labState });
  const value = await data(demo, { method: 'POST', path: '/access/ticket', form: { username: 'jarvis@pve', password: labPassword } });
  expect(misfits(contract.find(([name]) => name === 'POST /access/ticket')?.[1].returns ?? {}, value)).toEqual([]);
  await demo.close();
});

describe('the schema check', () => {
  const schema: ReturnSchema = {
    type: 'object',
    properties: {
      vmid: { type: 'integer' },
      name: { type: 'string', optional: 1 },
      on: { type: 'boolean' },
      kind: { type: 'string', enum: ['a', 'b'] },
    },
  };

  it('passes what fits and names what does not', () => {
    expect(misfits(schema, { vmid: 1, on: 0, kind: 'a', extra: [] })).toEqual([]);
    expect(misfits(schema, { vmid: '1', on: true, kind: 'c' })).toEqual([
      'data.vmid: is "1", not integer',
      'data.on: is true, not boolean',
      'data.kind: "c" is none of a, b',
    ]);
    expect(misfits(schema, { on: 1, kind: 'b', name: 3 })).toEqual(['data.vmid: missing', 'data.name: is 3, not string']);
    expect(misfits({ type: 'array', items: schema }, [{}])).toHaveLength(3);
  });
});
