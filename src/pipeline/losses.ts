/** What others lose by a call, from live data: for its card, and for a plan's. What could not be read is said, never guessed. */

import { canonicalAddress } from '#kernel/address';
import { faultMessage } from '#kernel/errors';
import { type JsonObject, wordOf } from '#kernel/json';
import type { ClusterPort, GuestRow } from '#kernel/ports/cluster';
import { tagsIn } from '#kernel/resource';
import { english, type Message, plural, say } from '#kernel/text/message';
import { showPlainly } from '#kernel/text/text';
import type { Loss } from '#kernel/tool';
import { blastRadius, type RadiusFacts, type RadiusGuest, radiusLines } from '#policy/blast/blast-radius';
import { placementRules } from '#policy/blast/placement';
import { type Role, rolesIn, roleWords, serverOf, withRoles } from '#policy/blast/roles';
import { guestAddresses, type Inventory } from '#policy/resolve-target';
import type { Selectable } from '#policy/scopes/selector';
import type { CallDeps } from './deps.ts';
import { guestThing, storagesIn } from './inventory.ts';
import type { Classified } from './stage.ts';

/** How long the look may take, in ms, and how many configurations it reads, so many at once. */
const lookMs = 4_000;
const mostConfigs = 300;
const atOnce = 8;

/** One sentence a fact; empty where the call takes nothing from anybody. */
export async function lossLines(
  { tool, input, targets, cluster, inventory }: Classified,
  deps: CallDeps,
  caller: AbortSignal,
): Promise<readonly Message[]> {
  const losses = tool.takes?.(input, targets) ?? [];
  const access = deps.clusters.get(cluster ?? '')?.access;
  if (losses.length === 0 || access === undefined) return [];
  try {
    const look = await readRadius(access.api, AbortSignal.any([caller, AbortSignal.timeout(lookMs)]));
    return linesOf(losses, look, { cluster: cluster ?? '', roles: deps.settings.roles, bore: inventory?.bore });
  } catch (thrown) {
    caller.throwIfAborted();
    return [say`what else depends on it could not be read: ${faultMessage(thrown)}`];
  }
}

interface RadiusLook {
  readonly facts: RadiusFacts;
  readonly rows: readonly GuestRow[];
  /** Running guests of which network and disks are not known. */
  readonly unread: number;
  /** Tasks that run now, by guest or node. */
  readonly tasks: readonly JsonObject[];
}

/** What people declare. */
export interface Declared {
  readonly cluster: string;
  readonly roles: readonly Role[];
  /** Tags that guests bore. */
  readonly bore?: Inventory['bore'] | undefined;
}

export function linesOf(
  losses: readonly Loss[],
  { facts: seen, rows, unread, tasks }: RadiusLook,
  { cluster, roles: all, bore = new Map() }: Declared,
): readonly Message[] {
  const roles = rolesIn(cluster, all);
  const facts = withRoles(seen, roles, new Map(rows.map((row) => [row.vmid, thingOf(row, { cluster, bore })])));
  const lines = losses.flatMap((loss) => [
    ...rolesOf(loss, roles).map((role) => say`it ${roleWords(role)}`),
    ...radiusLines(loss, blastRadius(facts, loss), facts, (vmid) => nameIn(rows, vmid)),
    ...tasks.filter((task) => isOn(task, loss)).map((task) => say`a task runs on it: ${words(task['type'])} by ${words(task['user'])}`),
  ]);
  const left =
    unread === 0
      ? []
      : [
          plural(
            unread,
            say`of 1 other running guest it is not known what they depend on: not readable, or too many`,
            say`of ${unread} other running guests it is not known what they depend on: not readable, or too many`,
          ),
        ];
  return unlike([...lines, ...left]);
}

/** Each thing once. */
function unlike(lines: readonly Message[]): readonly Message[] {
  return [...new Map(lines.map((line) => [english(line), line])).values()];
}

function rolesOf(loss: Loss, roles: readonly Role[]): readonly Role[] {
  if (loss.kind === 'storage') return [];
  const server = serverOf(loss.kind === 'guest' ? { guest: loss.vmid } : { node: loss.node });
  return roles.filter((role) => serverOf(role) === server);
}

/** A pool that is not in the row may not be seen. */
function thingOf({ raw, ...row }: GuestRow, of: Required<Pick<Inventory, 'cluster' | 'bore'>>): Selectable {
  return guestThing({ ...row, tags: tagsIn(raw['tags']), ...(typeof raw['pool'] === 'string' ? { pool: raw['pool'] } : {}) }, of);
}

function isOn({ id, node }: JsonObject, loss: Loss): boolean {
  if (loss.kind === 'guest') return wordOf(id) === String(loss.vmid);
  return loss.kind === 'node' && node === loss.node;
}

function words(value: unknown): string {
  return showPlainly(typeof value === 'string' ? value : '?', 60);
}

function nameIn(rows: readonly GuestRow[], vmid: number): Message {
  const row = rows.find((one) => one.vmid === vmid);
  const guest = row?.type === 'lxc' ? say`container ${vmid}` : say`VM ${vmid}`;
  return row?.name === undefined ? guest : say`${guest} (${showPlainly(row.name, 40)})`;
}

/** @throws {Fault} where the cluster's own lists cannot be read */
export async function readRadius(api: ClusterPort, signal: AbortSignal): Promise<RadiusLook> {
  const nothing = (): readonly never[] => [];
  const [nodes, rows, status, storages, definitions, recent] = await Promise.all([
    api.nodes(signal),
    api.guests(signal),
    api.clusterStatus(signal).catch(nothing),
    api.resources('storage', signal).catch(nothing),
    api.rows({ rows: 'storage' }, signal).catch(nothing),
    api.recentTasks(signal).catch(nothing),
  ]);
  const online = new Set(nodes.filter((node) => node.status === 'online').map(({ node }) => node));
  const isRunning = ({ status: state }: GuestRow) => state === 'running';
  const there = rows.filter(({ node }) => online.has(node));
  const running = there.filter(isRunning);
  // One that is off may be all that else answers at an address.
  const first = [...running, ...there.filter((row) => !isRunning(row))].slice(0, mostConfigs);
  const configs = await readConfigs(api, first, signal);
  const rules = rows.some(isManaged) ? await readRules(api, signal) : [];
  const ips = new Map(status.flatMap(({ type, name, ip }) => (type === 'node' && ip !== undefined ? [[name, ip] as const] : [])));
  return {
    facts: {
      // A token that may not see the status sees the nodes.
      clustered: status.length === 0 ? nodes.length > 1 : status.some(({ type }) => type === 'cluster'),
      nodes: nodes.map(({ node, raw }) => ({
        ...{ node, online: online.has(node), votes: 1, memory: Number(raw['maxmem'] ?? 0) },
        addresses: addressesIn([ips.get(node)]),
      })),
      guests: rows.map((row) => guestOf(row, configs.get(row.vmid))),
      storages: storagesOf(storages, definitions),
      rules,
    },
    rows,
    unread: running.filter(({ vmid }) => !configs.has(vmid)).length,
    tasks: recent.filter((task) => task['endtime'] === undefined),
  };
}

async function readRules(api: ClusterPort, signal: AbortSignal): Promise<ReturnType<typeof placementRules>> {
  // Each release knows one of both, and refuses the other.
  const list = (rows: 'ha_rules' | 'ha_groups' | 'ha_resources') => api.rows({ rows }, signal).catch((): readonly JsonObject[] => []);
  const [rules, groups, resources] = await Promise.all([list('ha_rules'), list('ha_groups'), list('ha_resources')]);
  return placementRules({ rules, groups, resources });
}

function isManaged({ raw }: GuestRow): boolean {
  return typeof raw['hastate'] === 'string' && !['ignored', 'disabled', 'stopped'].includes(raw['hastate']);
}

export interface Foresight {
  /** One line a fact; asked right before the step runs on the copy. */
  losses(losses: readonly Loss[]): Promise<readonly Message[]>;
}

interface ForesightSources {
  readonly live: ClusterPort | undefined;
  readonly copy: ClusterPort;
  /** Guests that any step names: the copy has their whole configurations, of others no more than their rows. */
  readonly touched: ReadonlySet<number>;
  readonly signal: AbortSignal;
  readonly declared: Declared;
}

/** What others lose by a plan's steps, each on the cluster as it will find it: the live one, with what the rehearsal made of it by then. */
export function foresee({ live, declared, ...copied }: ForesightSources): Foresight {
  let first: Promise<RadiusLook> | undefined;
  return {
    async losses(losses) {
      if (losses.length === 0 || live === undefined) return [];
      try {
        first ??= readRadius(live, copied.signal);
        // What runs on its guests is said of each step.
        return linesOf(losses, { ...(await lookLater(await first, copied)), tasks: [] }, declared);
      } catch (thrown) {
        copied.signal.throwIfAborted();
        return [say`what else depends on its guests could not be read: ${faultMessage(thrown)}`];
      }
    },
  };
}

/** Of `touched` the copy's configurations count, of the others where they are and whether they run. */
async function lookLater(look: RadiusLook, { copy, touched, signal }: Omit<ForesightSources, 'live' | 'declared'>): Promise<RadiusLook> {
  const rows = await copy.guests(signal);
  const known = new Map(look.facts.guests.map((guest) => [guest.vmid, guest]));
  const whole = rows.filter(({ vmid }) => touched.has(vmid) || !known.has(vmid));
  const configs = await readConfigs(copy, whole, signal);
  const guests = rows.map((row): RadiusGuest => {
    const config = configs.get(row.vmid);
    const before = known.get(row.vmid);
    const isSeen = config !== undefined || before === undefined;
    return isSeen ? guestOf(row, config) : { ...before, node: row.node, running: row.status === 'running' };
  });
  return { ...look, rows, facts: { ...look.facts, guests } };
}

async function readConfigs(api: ClusterPort, rows: readonly GuestRow[], signal: AbortSignal): Promise<ReadonlyMap<number, JsonObject>> {
  const configs = new Map<number, JsonObject>();
  const queue = rows.values();
  const work = async (): Promise<void> => {
    for (const row of queue) {
      if (signal.aborted) return;
      const { vmid, node, type: guestType } = row;
      const config = await api.guestConfig({ vmid, node, guestType }, signal).catch(() => undefined);
      if (config !== undefined) configs.set(vmid, config);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return configs;
}

function guestOf(row: GuestRow, config: JsonObject = {}): RadiusGuest {
  const { vmid, node, status, raw } = row;
  return {
    ...{ vmid, node, running: status === 'running', memory: Number(raw['maxmem'] ?? 0) },
    ha: isManaged(row),
    ...orderIn(config),
    addresses: guestAddresses(config),
    gateways: gatewaysIn(config),
    resolvers: addressesIn(typeof config['nameserver'] === 'string' ? tagsIn(config['nameserver']) : []),
    storages: storagesIn(config),
    ...machineIn(config),
  };
}

/** `smbios1: uuid=0B1C…,serial=…` of a VM. */
function machineIn({ smbios1 }: JsonObject): { readonly uuid?: string } {
  const uuid = typeof smbios1 === 'string' ? /(?:^|,)uuid=([0-9a-f-]{36})(?:,|$)/i.exec(smbios1)?.[1] : undefined;
  return uuid === undefined ? {} : { uuid: uuid.replaceAll('-', '').toLowerCase() };
}

/** `startup: order=1,up=30` of one that starts with its node; those without a place come last. */
function orderIn({ onboot, startup }: JsonObject): { readonly order?: number } {
  if (Number(onboot ?? 0) !== 1) return {};
  const order = /(?:^|,)(?:order=)?(\d+)(?:,|$)/.exec(
    typeof startup === 'string' || typeof startup === 'number' ? String(startup) : '',
  )?.[1];
  return { order: order === undefined ? Number.POSITIVE_INFINITY : Number(order) };
}

/** `gw=192.168.1.1`, `gw6=fd00::1` of a container's `net0` and a cloud-init VM's `ipconfig0`. */
export function gatewaysIn(config: JsonObject): readonly string[] {
  const parts = Object.entries(config).flatMap(([key, value]) =>
    /^(?:net|ipconfig)\d+$/.test(key) && typeof value === 'string' ? value.split(',') : [],
  );
  return addressesIn(parts.map((part) => /^gw6?=(.+)$/.exec(part.trim())?.[1]));
}

export function addressesIn(texts: readonly (string | undefined)[]): readonly string[] {
  const known = texts.map((text) => (text === undefined ? undefined : canonicalAddress(text)));
  return [...new Set(known.filter((address) => address !== undefined))];
}

function storagesOf(rows: readonly JsonObject[], definitions: readonly JsonObject[]): RadiusFacts['storages'] {
  const names = new Set([...rows, ...definitions].flatMap(({ storage }) => (typeof storage === 'string' ? [storage] : [])));
  return [...names].map((storage) => {
    const definition = definitions.find((one) => one['storage'] === storage) ?? {};
    const isShared =
      rows.some((row) => row['storage'] === storage && Number(row['shared'] ?? 0) === 1) || Number(definition['shared'] ?? 0) === 1;
    const { server, portal } = definition;
    return {
      storage,
      shared: isShared,
      servers: addressesIn([server, portal].map((text) => (typeof text === 'string' ? text : undefined))),
    };
  });
}
