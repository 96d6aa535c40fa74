/** protect: literal arguments first, then what they turn out to be. */

import { allow, type Decision } from '#kernel/decision';
import { Fault } from '#kernel/errors';
import { type JsonObject, wordOf } from '#kernel/json';
import type { ClusterPort } from '#kernel/ports/cluster';
import {
  type GuestResource,
  type GuestTarget,
  type NewGuestResource,
  type NewGuestTarget,
  type Resource,
  type TagsResource,
  type TagsTarget,
  type Target,
  tagsIn,
} from '#kernel/resource';
import { joined, type Message, plural, say } from '#kernel/text/message';
import { effectiveTier } from '#policy/classify';
import { type DerivedProtection, protectionApplies, protectLiteral, protectTarget } from '#policy/protected-resources';
import { guestAddresses, type Inventory, resolveTarget } from '#policy/resolve-target';
import { configOf, protectedNeeds } from './dependencies.ts';
import type { ConfiguredCluster, DecidingDeps, PolicySettings } from './deps.ts';
import { given } from './execute.ts';
import { derivedBy, storagesIn, takeInventory } from './inventory.ts';
import { goOn, type Resolved, refuse, refuseBy, type Step, type Validated } from './stage.ts';

/** What protection says of a call, and what its resources are. Rejects with a `Fault` when the cluster cannot be asked. */
export async function protect(state: Validated, deps: DecidingDeps, signal: AbortSignal): Promise<Step<Resolved>> {
  const tier = effectiveTier(state.tool.name, state.tool.tier, deps.settings.tiers);
  const list = deps.settings.protectedList;
  const binds = protectionApplies(tier, list);
  const chosen = chooseCluster(state, deps.clusters);

  if (binds) {
    const literal = firstDenial(state.resources.map((resource) => protectLiteral(resource, list, aliasesFor(chosen, deps))));
    if (literal !== undefined) return refuseBy(literal);
  }
  if (!chosen.ok) return chosen;
  if (!state.resources.some(livesInCluster)) {
    return goOn({
      ...state,
      tier,
      ...clusterOf(chosen.state),
      targets: state.resources.filter((resource) => !livesInCluster(resource)) as readonly Target[],
    });
  }
  return resolveAll({ ...state, tier }, { cluster: chosen.state, binds, deps, signal });
}

interface ResolveContext {
  readonly cluster: ChosenCluster;
  readonly binds: boolean;
  readonly deps: DecidingDeps;
  readonly signal: AbortSignal;
}

async function resolveAll(state: Validated & Pick<Resolved, 'tier'>, context: ResolveContext): Promise<Step<Resolved>> {
  const { name, configured } = context.cluster;
  if (name === undefined || configured === undefined)
    throw new Fault('no_cluster', 'no cluster is configured', { next: 'add one to `clusters`' });
  const found = await lookUp(state, { name, configured }, context);
  const { refused, notices, remembered }: Protection = context.binds ? await protection(found, configured, context) : { notices: [] };
  if (refused !== undefined) return refuseBy(refused);
  if (found.problem !== undefined) return refuse({ status: 'error', ...found.problem });
  return goOn({
    ...state,
    cluster: name,
    targets: found.targets,
    inventory: { ...found.inventory, ...remembered },
    ...(notices.length === 0 ? {} : { notices }),
  });
}

interface Protection {
  readonly refused?: Decision;
  readonly notices: readonly Message[];
  readonly remembered?: Pick<Inventory, 'bore' | 'gained' | 'brought'>;
}

/** What the list says of what the call touches, and what a person who is asked is told besides. */
async function protection(found: Looked, configured: ConfiguredCluster, { deps }: ResolveContext): Promise<Protection> {
  const list = deps.settings.protectedList;
  const derived = await derivedBy(found.inventory, list, configured, found.writes ? found.sources : undefined);
  const touched = [...found.targets, ...found.copies];
  const own = firstDenial(touched.map((target) => protectTarget(target, list, derived)));
  if (own !== undefined) return { refused: own, notices: [] };
  const { refused, unread } = await neededBy(found, deps.settings, derived);
  const notices = [...lostTags(found.inventory, derived), ...unreadNeeds(unread)];
  const { bore, gained, brought } = derived;
  const remembered = given({ bore, gained, brought });
  return { notices, remembered, ...(refused === undefined ? {} : { refused }) };
}

type Looked = Awaited<ReturnType<typeof lookUp>>;

/** Whether a protected guest needs what the call touches. */
async function neededBy(
  { targets, sources }: Pick<Looked, 'targets' | 'sources'>,
  { protectedList: list, roles }: Pick<PolicySettings, 'protectedList' | 'roles'>,
  derived: DerivedProtection & Pick<Inventory, 'bore'>,
): Promise<{ readonly refused?: Decision; readonly unread: readonly number[] }> {
  const { needs, unread } = await protectedNeeds(targets, { list, roles }, derived, sources);
  if (needs === undefined) return { unread };
  const withOwn = await Promise.all(
    targets.map(async (target) => {
      if (target.kind !== 'guest' || needs.addresses.size === 0) return target;
      return { ...target, addresses: guestAddresses((await configOf(target, sources)) ?? {}) };
    }),
  );
  const touched = withOwn.map((target) =>
    'addresses' in target || target.kind !== 'service' ? target : withNode(target, sources.inventory),
  );
  const refused = firstDenial(touched.map((target) => protectTarget(target, list, { ...derived, needs })));
  return { unread, ...(refused === undefined ? {} : { refused }) };
}

/** What is done to a unit is done to its node. */
function withNode<T extends Extract<Target, { kind: 'service' }>>(
  target: T,
  { nodes }: Inventory,
): T & { readonly addresses: readonly string[] } {
  return { ...target, addresses: nodes.find(({ node }) => node === target.node)?.addresses ?? [] };
}

function unreadNeeds(vmids: readonly number[]): readonly Message[] {
  if (vmids.length === 0) return [];
  const guests = joined(vmids.slice(0, 8));
  return [
    plural(
      vmids.length,
      say`what protected guest ${guests} depends on could not be read`,
      say`what protected guests ${guests} depend on could not be read`,
    ),
  ];
}

/** What the call's resources are, and what is wrong with how they were named. */
async function lookUp(
  { resources }: Validated,
  { name, configured }: { readonly name: string; readonly configured: ConfiguredCluster },
  context: ResolveContext,
) {
  const { signal } = context;
  const needsAddresses = context.binds && context.deps.settings.protectedList.addresses.length > 0;
  const writes = resources.some((resource) => resource.kind === 'storage' || isCopied(resource));
  const needsPools = poolsDecide(context.deps.settings);
  const inventory = await takeInventory(name, configured, { needsAddresses, needsStorages: writes, needsPools, signal });
  const resolutions = resources.map((resource) => resolveTarget(resource, inventory));
  const sources: TargetSources = { api: configured.access.api, inventory, signal };
  const contents = await Promise.all(resolutions.map(({ target }, index) => withContents(target, resources[index], sources)));
  const targets = await withAddresses(contents, configured, context);
  const copies = context.binds ? await storagesCopiedTo(resources, targets, sources) : [];
  return {
    inventory,
    writes,
    sources,
    targets,
    copies,
    problem: resolutions.find((resolution) => resolution.problem !== undefined)?.problem,
  };
}

function isCopied(resource: Resource): boolean {
  return resource.kind === 'guest' && resource.copied === true;
}

/** The storages of a guest that is copied onto them, where the copy is made. */
async function storagesCopiedTo(
  resources: readonly Resource[],
  targets: readonly Target[],
  sources: TargetSources,
): Promise<readonly Target[]> {
  const guest = targets.find((target) => target.kind === 'guest');
  if (guest?.kind !== 'guest' || !resources.some(isCopied)) return [];
  const place = targets.find((target) => target.kind === 'node' && target.place === true);
  const node = place?.kind === 'node' ? place.node : guest.node;
  const config = await sources.api.guestConfig(guest, sources.signal);
  return storagesIn(config).flatMap((storage) => {
    const { target } = resolveTarget({ kind: 'storage', access: 'operate', storage, node }, sources.inventory);
    return target === undefined ? [] : [target];
  });
}

/** Whether anything in the configuration goes by pools. */
function poolsDecide({
  protectedList,
  roles,
  scopes,
  windows,
}: Pick<PolicySettings, 'protectedList' | 'roles' | 'scopes' | 'windows'>): boolean {
  const selectors = [...roles.map(({ of }) => of), ...[...scopes, ...windows].map(({ only }) => only)];
  return protectedList.pools !== undefined || selectors.some((selector) => selector?.pools !== undefined);
}

function lostTags({ guests }: Inventory, derived: DerivedProtection): readonly Message[] {
  const there = new Set(guests.map(({ vmid }) => vmid));
  return [...(derived.tagged ?? [])].flatMap(([vmid, { tag, lost }]) => (lost && there.has(vmid) ? [lostWords(vmid, tag)] : []));
}

/** Guests get the addresses of their configuration, where an address is protected and could be theirs. */
async function withAddresses(
  resolved: readonly (Target | undefined)[],
  configured: ConfiguredCluster,
  context: ResolveContext,
): Promise<readonly Target[]> {
  const targets = resolved.filter((target) => target !== undefined);
  const needed = context.binds && context.deps.settings.protectedList.addresses.length > 0;
  if (!needed) return targets;
  return Promise.all(targets.map(async (target) => (target.kind === 'guest' ? addressed(target, configured, context.signal) : target)));
}

async function addressed(guest: GuestTarget, configured: ConfiguredCluster, signal: AbortSignal): Promise<GuestTarget> {
  // Fails closed: a configuration that cannot be read may hold a protected address.
  const config = await configured.access.api.guestConfig(guest, signal);
  return { ...guest, addresses: guestAddresses(config) };
}

function lostWords(vmid: number, tag: string): Message {
  return say`guest ${vmid} lost the protecting tag \`${tag}\` without a person’s consent; it is protected all the same (see \`banksman doctor\`)`;
}

interface ChosenCluster {
  readonly name?: string;
  readonly configured?: ConfiguredCluster;
}

/** The named cluster, or the only one. Tools that take none need none. */
function chooseCluster(state: Validated, clusters: DecidingDeps['clusters']): Step<ChosenCluster> {
  if (state.tool.group !== 'cluster' || !Object.hasOwn(state.tool.input.shape, 'cluster')) return goOn({});
  const named = state.input['cluster'];
  const names = [...clusters.keys()];
  if (names.length === 0) {
    return refuse({
      status: 'error',
      code: 'no_cluster',
      message: 'no Proxmox VE cluster is configured',
      next: 'a person adds one to `clusters` in the settings (banksman.clusters) or the configuration file',
    });
  }
  const name = typeof named === 'string' ? named : names.length === 1 ? names[0] : undefined;
  const configured = name === undefined ? undefined : clusters.get(name);
  if (name !== undefined && configured !== undefined) return goOn({ name, configured });
  const known = names.map((entry) => `\`${entry}\``).join(', ');
  const message =
    name === undefined
      ? `several clusters are configured; name one in \`cluster\`: ${known}`
      : `no cluster is named \`${name}\`; configured: ${known}`;
  return refuse({ status: 'error', code: 'unknown_cluster', message });
}

function aliasesFor(chosen: Step<ChosenCluster>, deps: DecidingDeps) {
  if (chosen.ok && chosen.state.configured !== undefined) return chosen.state.configured.aliases;
  // Which cluster is meant is not known: the names of all of them count.
  return new Map([...deps.clusters.values()].flatMap((cluster) => [...cluster.aliases]));
}

function clusterOf(chosen: ChosenCluster): { readonly cluster?: string } {
  return chosen.name === undefined ? {} : { cluster: chosen.name };
}

function livesInCluster(resource: Resource): boolean {
  return ['guest', 'new_guest', 'node', 'storage', 'tags', 'service'].includes(resource.kind);
}

function firstDenial(decisions: readonly Decision[]): Decision | undefined {
  return decisions.find((decision) => decision.effect === 'deny');
}

/** For `policy explain`: the stage's answer when nothing is refused. */
export const notProtected = allow('not_protected', 'no protected resource is touched');

// What a target holds that its name does not tell: the tags in a snapshot or archive, the backups that are left of a guest.
interface TargetSources {
  readonly api: ClusterPort;
  readonly inventory: Inventory;
  readonly signal: AbortSignal;
}

/** Fails closed: what cannot be read may hold what is protected. @throws {Fault} why it cannot be read */
async function withContents(
  target: Target | undefined,
  resource: Resource | undefined,
  sources: TargetSources,
): Promise<Target | undefined> {
  if (target === undefined || resource === undefined) return target;
  if (target.kind === 'guest' && resource.kind === 'guest') return withBackups(target, resource, sources);
  if (target.kind === 'tags' && resource.kind === 'tags') return { ...target, tags: await tagsOf(target, resource, sources) };
  if (target.kind === 'new_guest' && resource.kind === 'new_guest') return withOrigin(target, resource, sources);
  return target;
}

/** A storage that cannot be read is no reason to believe in a backup there, nor in none. */
async function withBackups(target: GuestTarget, { destroyed }: GuestResource, { api, signal }: TargetSources): Promise<GuestTarget> {
  if (destroyed !== true) return target;
  const backups = await api.guestBackups(target, signal).catch((thrown: unknown) => {
    if (thrown instanceof Fault && thrown.code === 'backups_unread') return undefined;
    throw thrown;
  });
  return { ...target, backups: backups?.length ?? 'unread' };
}

async function withOrigin(target: NewGuestTarget, { from }: NewGuestResource, sources: TargetSources): Promise<NewGuestTarget> {
  return from === undefined ? target : { ...target, from: { vmid: from.vmid, isSame: await isSameGuest(from, sources) } };
}

/** A number may be another guest's by now: what is drawn when a guest is made (its id, the addresses of its cards) is not. */
async function isSameGuest(
  { vmid, node, archive }: NonNullable<NewGuestResource['from']>,
  { api, inventory, signal }: TargetSources,
): Promise<boolean> {
  const guest = inventory.guests.find((row) => row.vmid === vmid);
  if (guest === undefined || !inventory.nodes.some((row) => row.node === node)) return false;
  const [now, then] = await Promise.all([
    api.guestConfig({ vmid, node: guest.node, guestType: guest.type }, signal).catch((): JsonObject => ({})),
    api.archivedConfig(node, archive, signal),
  ]);
  const marks = marksIn(Object.entries(now));
  return marksIn(linesOf(then)).some((mark) => marks.includes(mark));
}

function marksIn(values: readonly (readonly [key: string, value: unknown])[]): readonly string[] {
  return values.flatMap(([key, value]) => {
    const text = wordOf(value).toLowerCase();
    if (key === 'smbios1') return text.match(/\buuid=[0-9a-f-]{36}\b/g) ?? [];
    return /^net\d+$/.test(key) ? (text.match(/\b(?:[0-9a-f]{2}:){5}[0-9a-f]{2}\b/g) ?? []) : [];
  });
}

async function tagsOf(
  target: TagsTarget,
  { snapshot, archive, vmid }: TagsResource,
  { api, inventory, signal }: TargetSources,
): Promise<readonly string[]> {
  // What is not there is said of the node or guest itself.
  if (archive !== undefined && !inventory.nodes.some((row) => row.node === archive.node)) return target.tags;
  if (archive !== undefined) return archivedTags(await api.archivedConfig(archive.node, archive.volume, signal));
  const guest = inventory.guests.find((row) => row.vmid === vmid);
  if (snapshot === undefined || guest === undefined) return target.tags;
  const names = (await api.snapshots({ vmid, node: guest.node, guestType: guest.type }, signal)).map((row) => row['name']);
  if (!names.includes(snapshot) || snapshot === 'current') {
    throw new Fault('unknown_snapshot', say`guest ${vmid} has no snapshot \`${snapshot}\``, {
      audience: 'user',
      next: say`see get_guest with \`vmid\` ${vmid}`,
    });
  }
  const config = await api.record(
    { record: 'snapshot_config', guest: { vmid, node: guest.node, guestType: guest.type }, name: snapshot },
    signal,
  );
  return tagsIn(config['tags']);
}

/** The configuration as its file reads: `tags: prod;web` before the first section of a snapshot. */
function linesOf(config: string): readonly (readonly [key: string, value: string])[] {
  const [current = ''] = config.split(/^\[/m);
  return current.split('\n').flatMap((line) => {
    const [, key, value] = /^([\w-]+):\s*(.*)$/.exec(line) ?? [];
    return key === undefined || value === undefined ? [] : [[key, value] as const];
  });
}

function archivedTags(config: string): readonly string[] {
  return tagsIn(linesOf(config).find(([key]) => key === 'tags')?.[1]);
}
