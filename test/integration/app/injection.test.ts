/**
 * Whatever stands in an argument, no request goes to a path that is not the tool's: each argument of each tool of clusters in turn, with a person who
 * approves everything. `BANKSMAN_INJECTIONS=all` tries every text, else some of them.
 */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { describeTools } from '#app/catalog';
import type { LocalApp } from '#app/create-app';
import { ApiFaults } from '#demo/pve/faults';
import type { JsonObject, JsonValue } from '#kernel/json';
import { approvedCall, startWorld, type World } from './support.ts';

/** What no path may hold: it stands in every text below, and is nobody's name. */
const mark = 'zz9';
const texts: readonly JsonValue[] = [
  `100/../${mark}`,
  `100%2f..%2f${mark}`,
  `pve/qemu/101/${mark}`,
  `..%2f..%2faccess%2f${mark}`,
  `nas/content/${mark}`,
  `s1?${mark}=1`,
  `s1#${mark}`,
  `s1&force=1&${mark}=1`,
  `s1\r\n${mark}: 1`,
  `s1\u0000${mark}`,
  `s1\u2215\u2044${mark}`,
  `ｐｖｅ／${mark}`,
  [`100`, mark],
  { vmid: 100, [mark]: 1 },
];
const used = process.env['BANKSMAN_INJECTIONS'] === 'all' ? texts : texts.filter((_, index) => index % 7 === 1);

/** Values that each tool takes. */
const good: JsonObject = {
  ...{
    vmid: 101,
    node: 'Home',
    target: 'pve',
    name: 's1',
    snapshot: 's1',
    new_vmid: 300,
    storage: 'local-lvm',
    disk: 'scsi0',
    size: '+1G',
  },
  ...{
    tags: ['a'],
    description: 'd',
    cores: 1,
    command: 'uptime',
    service: 'pvestatd',
    upid: `UPID:Home:00000001:00000001:00000001:qmstart:101:root@pam:`,
  },
  ...{
    archive: 'nas:backup/vzdump-qemu-101-2026_11_20-00_00_00.vma.zst',
    kind: 'vm',
    steps: [{ tool: 'start_vm', arguments: { vmid: 101 } }],
    plan_id: 'req-00000000',
  },
};

const asked: string[] = [];
const strike = ApiFaults.prototype.strike;
let world: World;
let app: LocalApp;
beforeAll(async () => {
  ApiFaults.prototype.strike = function (method, path, endpoint) {
    asked.push(`${method} ${path}`);
    return strike.call(this, method, path, endpoint);
  };
  world = await startWorld();
  app = await world.open({ protected: {} });
});
afterAll(async () => {
  ApiFaults.prototype.strike = strike;
  await world.close();
});
afterEach(() => {
  asked.length = 0;
});

/** What no tool is about. Of users a token may look at its own. */
const notTheirs = /\/access\/(?!permissions|users\/ops@pve$)|\/cluster\/config|\/nodes\/[^/]+\/(?:execute|termproxy|vncshell)/;
const tools = describeTools().filter(({ group, name }) => group === 'cluster' && name !== 'execute_ssh');

describe('an argument that would be a path', () => {
  it.each(tools.map(({ name, inputSchema }) => [name, inputSchema] as const))('leads %s nowhere', async (name, schema) => {
    const { properties = {}, required = [] } = schema as { properties?: JsonObject; required?: readonly string[] };
    const base = Object.fromEntries(required.map((key) => [key, good[key] ?? 'x']));
    for (const key of [...Object.keys(properties), mark]) {
      for (const value of used) await approvedCall(world, app, { tool: name, input: { ...base, [key]: value } });
    }
    // A control character is taken out of a name before it is judged as one: what is left is one name, in its place.
    expect(asked.filter((request) => request.toLowerCase().replaceAll(`s1${mark}`, 's1').includes(mark))).toEqual([]);
    expect(asked.filter((request) => notTheirs.test(request))).toEqual([]);
  });
});
