/** The firewall's configuration: empty for cluster and nodes, rules and options for guests (`PVE/API2/Firewall`). */
import { createHash } from 'node:crypto';
import { badParameters, failed } from '../api-error.ts';
import { type ApiCall, type ApiMethod, requireQuorum } from '../api-method.ts';
import { operation } from '../declared/read-tables.ts';
import type { ConfigValue, FirewallState } from '../state.ts';

const guestBase = '/nodes/{node}/qemu/{vmid}/firewall' as const;

export const firewallMethods: readonly ApiMethod[] = [
  ...(['aliases', 'groups', 'ipset', 'rules'] as const).map((what) => operation(`GET /cluster/firewall/${what}`, () => [])),
  operation('GET /cluster/firewall/options', () => ({ digest: digestOf([]) })),
  operation('GET /nodes/{node}/firewall/rules', () => []),
  operation('GET /nodes/{node}/firewall/options', () => ({ digest: digestOf([]) })),
  operation('GET /nodes/{node}/firewall/log', () => ({ page: [{ n: 1, t: 'no content' }], total: 1 })),
  operation('GET /nodes/{node}/lxc/{vmid}/firewall/rules', list),
  operation(`GET ${guestBase}/rules`, list),
  operation(`POST ${guestBase}/rules`, add),
  // Asked for alone, its position is the path's own text.
  operation(`GET ${guestBase}/rules/{pos}`, (call) => ({ ...row(firewallOf(call), position(call)), pos: call.parameters.text('pos') })),
  operation(`PUT ${guestBase}/rules/{pos}`, change),
  operation(`DELETE ${guestBase}/rules/{pos}`, remove),
  operation(`GET ${guestBase}/options`, options),
  operation(`PUT ${guestBase}/options`, setOptions),
  operation(`GET ${guestBase}/refs`, () => []),
];

type Rule = Map<string, ConfigValue>;

/** A guest's own; one without has none of anything. */
function firewallOf({ cluster, parameters }: ApiCall): FirewallState {
  const vmid = parameters.integer('vmid') ?? 0;
  return cluster.state.firewalls.get(vmid) ?? { rules: [], options: new Map() };
}

function save({ cluster, parameters }: ApiCall, firewall: FirewallState): void {
  cluster.state.firewalls.set(parameters.integer('vmid') ?? 0, firewall);
}

/** Rules and options have a digest each: over their fields by name. */
function digestOf(records: readonly ReadonlyMap<string, ConfigValue>[]): string {
  const hash = createHash('sha1');
  for (const record of records)
    for (const [key, value] of [...record].sort(([one], [other]) => (one < other ? -1 : 1))) hash.update(`${key}:${value}\n`);
  return hash.digest('hex');
}

function rulesDigest({ rules }: FirewallState): string {
  return digestOf(rules);
}

function list(call: ApiCall): unknown {
  const firewall = firewallOf(call);
  return firewall.rules.map((_, pos) => row(firewall, pos));
}

/** @throws {ApiError} 500 */
function row(firewall: FirewallState, pos: number): object {
  const rule = firewall.rules[pos];
  if (rule === undefined) throw failed(`no rule at position ${pos}`);
  return { ...Object.fromEntries(rule), pos, digest: rulesDigest(firewall) };
}

function position({ parameters }: ApiCall): number {
  return parameters.integer('pos') ?? 0;
}

/** @throws {ApiError} 500 */
function checkDigest({ parameters }: ApiCall, current: string): void {
  const digest = parameters.text('digest') ?? '';
  if (digest !== '' && digest !== current) throw failed('detected modified configuration - file changed by other user? Try again.');
}

const notOfRule = new Set(['node', 'vmid', 'pos', 'digest', 'delete', 'moveto']);

function fieldsIn({ parameters }: ApiCall): [string, ConfigValue][] {
  const names = parameters.names().filter((name) => !notOfRule.has(name));
  return names.map((name) => [name, name === 'enable' ? Number(parameters.text(name)) : (parameters.text(name) ?? '')]);
}

/** A new rule goes to the front unless it says where. */
function add(call: ApiCall): null {
  requireQuorum(call);
  const firewall = firewallOf(call);
  checkDigest(call, rulesDigest(firewall));
  const rule: Rule = new Map(fieldsIn(call));
  checkRule(rule);
  if (!rule.has('enable')) rule.set('enable', 0);
  const rules = [...firewall.rules];
  rules.splice(Math.min(call.parameters.integer('pos') ?? 0, rules.length), 0, rule);
  save(call, { ...firewall, rules });
  return null;
}

/** Ports need a protocol that has them. @throws {ApiError} 400 */
function checkRule(rule: Rule): void {
  const port = ['dport', 'sport'].find((name) => rule.has(name));
  if (port !== undefined && !rule.has('proto') && !rule.has('macro')) throw badParameters({ [port]: "missing 'proto' property" });
  const action = String(rule.get('action') ?? '');
  if (rule.get('type') !== 'group' && !['ACCEPT', 'DROP', 'REJECT'].includes(action))
    throw badParameters({ action: `unknown action '${action}'` });
}

function change(call: ApiCall): null {
  requireQuorum(call);
  const firewall = firewallOf(call);
  checkDigest(call, rulesDigest(firewall));
  const pos = position(call);
  const old = firewall.rules[pos];
  if (old === undefined) throw badParameters({ pos: `no rule at position ${pos}` });
  const rules = [...firewall.rules];
  const target = call.parameters.integer('moveto');
  if (target !== undefined) {
    rules.splice(pos, 1);
    rules.splice(target > pos ? target - 1 : target, 0, old);
  } else {
    const rule: Rule = new Map([...old, ...fieldsIn(call)]);
    for (const name of call.parameters.list('delete')) rule.delete(name);
    checkRule(rule);
    rules.splice(pos, 1, rule);
  }
  save(call, { ...firewall, rules });
  return null;
}

function remove(call: ApiCall): null {
  requireQuorum(call);
  const firewall = firewallOf(call);
  checkDigest(call, rulesDigest(firewall));
  const pos = position(call);
  if (firewall.rules[pos] === undefined) throw failed(`no rule at position ${pos}`);
  save(call, { ...firewall, rules: firewall.rules.filter((_, index) => index !== pos) });
  return null;
}

function options(call: ApiCall): unknown {
  const { options: set } = firewallOf(call);
  return { ...Object.fromEntries(set), digest: digestOf([set]) };
}

function setOptions(call: ApiCall): null {
  requireQuorum(call);
  const { parameters } = call;
  const firewall = firewallOf(call);
  checkDigest(call, digestOf([firewall.options]));
  const changed = new Map(firewall.options);
  for (const name of parameters.list('delete')) {
    if (!knownOptions.has(name)) throw badParameters({ delete: `no such option '${name}'` });
    changed.delete(name);
  }
  for (const name of parameters.names()) {
    if (notOfRule.has(name)) continue;
    const text = parameters.text(name) ?? '';
    changed.set(name, /^\d+$/.test(text) ? Number(text) : text);
  }
  save(call, { ...firewall, options: changed });
  return null;
}

const knownOptions = new Set([
  'dhcp',
  'enable',
  'ipfilter',
  'log_level_in',
  'log_level_out',
  'macfilter',
  'ndp',
  'policy_in',
  'policy_out',
  'radv',
]);
