/** protect: literal arguments first, then what they turn out to be. */
import { allow, type Decision } from '#kernel/decision';
import { Fault } from '#kernel/errors';
import type { GuestTarget, Resource, Target } from '#kernel/resource';
import { effectiveTier } from '#policy/classify';
import { type DerivedProtection, deriveProtection, protectionApplies, protectLiteral, protectTarget } from '#policy/protected-resources';
import { guestAddresses, type Inventory, type Resolution, resolveTarget } from '#policy/resolve-target';
import type { CallDeps, ConfiguredCluster } from './deps.ts';
import { takeInventory } from './inventory.ts';
import { goOn, type Resolved, refuse, refuseBy, type Step, type Validated } from './stage.ts';

/** What protection says of a call, and what its resources are. Rejects with a `Fault` when the cluster cannot be asked. */
export async function protect(state: Validated, deps: CallDeps, signal: AbortSignal): Promise<Step<Resolved>> {
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
  readonly deps: CallDeps;
  readonly signal: AbortSignal;
}

async function resolveAll(state: Validated & Pick<Resolved, 'tier'>, context: ResolveContext): Promise<Step<Resolved>> {
  const { name, configured } = context.cluster;
  if (name === undefined || configured === undefined)
    throw new Fault('no_cluster', 'no cluster is configured', { next: 'add one to `clusters`' });
  const needsAddresses = context.binds && context.deps.settings.protectedList.addresses.length > 0;
  const inventory = await takeInventory(name, configured, { needsAddresses, signal: context.signal });
  const resolutions = state.resources.map((resource) => resolveTarget(resource, inventory));
  const targets = await withAddresses(resolutions, configured, context);
  const refused = context.binds
    ? firstDenial(targets.map((target) => protectTarget(target, context.deps.settings.protectedList, derived(inventory, context))))
    : undefined;
  if (refused !== undefined) return refuseBy(refused);
  const problem = resolutions.find((resolution) => resolution.problem !== undefined)?.problem;
  if (problem !== undefined) return refuse({ status: 'error', ...problem });
  return goOn({ ...state, cluster: name, targets });
}

function derived(inventory: Inventory, context: ResolveContext): DerivedProtection {
  return deriveProtection(inventory, context.deps.settings.protectedList);
}

/** Guests get the addresses of their configuration, where an address is protected and could be theirs. */
async function withAddresses(
  resolutions: readonly Resolution[],
  configured: ConfiguredCluster,
  context: ResolveContext,
): Promise<readonly Target[]> {
  const targets = resolutions.map((resolution) => resolution.target).filter((target) => target !== undefined);
  const needed = context.binds && context.deps.settings.protectedList.addresses.length > 0;
  if (!needed) return targets;
  return Promise.all(targets.map(async (target) => (target.kind === 'guest' ? addressed(target, configured, context.signal) : target)));
}

async function addressed(guest: GuestTarget, configured: ConfiguredCluster, signal: AbortSignal): Promise<GuestTarget> {
  // Fails closed: a configuration that cannot be read may hold a protected address.
  const config = await configured.access.api.guestConfig(guest, signal);
  return { ...guest, addresses: guestAddresses(config) };
}

interface ChosenCluster {
  readonly name?: string;
  readonly configured?: ConfiguredCluster;
}

/** The named cluster, or the only one. Tools outside the cluster group need none. */
function chooseCluster(state: Validated, clusters: CallDeps['clusters']): Step<ChosenCluster> {
  if (state.tool.group !== 'cluster') return goOn({});
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

function aliasesFor(chosen: Step<ChosenCluster>, deps: CallDeps) {
  if (chosen.ok && chosen.state.configured !== undefined) return chosen.state.configured.aliases;
  // Which cluster is meant is not known: the names of all of them count.
  return new Map([...deps.clusters.values()].flatMap((cluster) => [...cluster.aliases]));
}

function clusterOf(chosen: ChosenCluster): { readonly cluster?: string } {
  return chosen.name === undefined ? {} : { cluster: chosen.name };
}

function livesInCluster(resource: Resource): boolean {
  return resource.kind === 'guest' || resource.kind === 'node' || resource.kind === 'service';
}

function firstDenial(decisions: readonly Decision[]): Decision | undefined {
  return decisions.find((decision) => decision.effect === 'deny');
}

/** For `policy explain`: the stage's answer when nothing is refused. */
export const notProtected = allow('not_protected', 'no protected resource is touched');
