/** scope and times: what this agent may change of clusters, and when anybody may. Both by what the cluster says of the things now. */

import type { Agent } from '#kernel/agent';
import type { ChainPoint } from '#kernel/audit-event';
import { allow, type Decision, deny } from '#kernel/decision';
import { describeTarget, type Target } from '#kernel/resource';
import { asListed, english, say } from '#kernel/text/message';
import { showPlainly } from '#kernel/text/text';
import { impactOf, type Tool } from '#kernel/tool';
import { effectiveTier } from '#policy/classify';
import type { Inventory } from '#policy/resolve-target';
import { budgetSpan, decideScope, decideScopes, scopeInWords, scopesOf } from '#policy/scopes/scopes';
import type { Selectable } from '#policy/scopes/selector';
import { decideWindows, windowsAhead, windowsInWords } from '#policy/scopes/windows';
import type { CallDeps, DecidingDeps, MadeGuest, PolicySettings } from './deps.ts';
import { guestThing } from './inventory.ts';
import type { Resolved } from './stage.ts';

const notPaused = allow('not_paused', 'agents are not paused');

/** A person at the palette confirms each call in a dialog that no program can press, and may have to mend what agents did. */
export function pauseDecision(tool: Tool, agent: Agent, { paused, tiers }: Pick<PolicySettings, 'paused' | 'tiers'>): Decision {
  if (paused === undefined || agent.host === 'palette') return notPaused;
  if (effectiveTier(tool.name, tool.tier, tiers) === 'green') return allow('not_paused', 'agents are paused, and it only reads');
  const when = paused.at === 0 ? '' : say` since ${new Date(paused.at).toISOString()}`;
  const why = paused.reason === undefined ? '' : say`; the reason given: ${showPlainly(paused.reason, 300)}`;
  const against = paused.warning === undefined ? '' : say`; ${asListed(paused.warning)}`;
  return deny('agents_paused', say`all agents are paused${when} by ${showPlainly(paused.by, 100)}: they change nothing${why}${against}`, [
    'agents:paused',
  ]);
}

const notBound = allow('not_bound', 'it changes no cluster');

/** Scopes and windows are about clusters; the workspace has its sandbox, its view and its journal. What begins a plan is held by the plan itself. */
function binds({ tool, tier }: Resolved): boolean {
  return bindsTool(tool, tier);
}

function bindsTool(tool: Tool, tier: Resolved['tier']): boolean {
  return tool.group === 'cluster' && tier !== 'green' && tool.onGrant !== true;
}

/** What looks at a node over ssh is yellow, and changes nothing: a scope holds it, windows and budgets do not. */
export function changes(state: Resolved): boolean {
  return binds(state) && impactOf(state.tool, state.targets, state.input) !== 'none';
}

/** @throws {Fault} `store_…`: a budget that cannot be counted may be used up */
export async function scopeDecision(state: Resolved, agent: Agent, deps: DecidingDeps): Promise<Decision> {
  if (!binds(state)) return notBound;
  const tags = decidingTags(state, deps);
  if (tags !== undefined) return tags;
  const own = scopesOf(agent, deps.settings.scopes);
  return decideScopes(agent, own, {
    impact: impactOf(state.tool, state.targets, state.input),
    changed: [...changedThings(state), ...restoredThings(state)],
    places: state.targets.filter(isPlace).map((target) => placeThing(target)),
    spent: changes(state) ? await spentBy(own, deps) : new Map(),
  });
}

/** The same of a tool whose targets nobody knows yet: only how badly it changes things is said. */
export function toolScopeDecision(tool: Tool, agent: Agent, { scopes, tiers }: Pick<PolicySettings, 'scopes' | 'tiers'>): Decision {
  if (!bindsTool(tool, effectiveTier(tool.name, tool.tier, tiers))) return notBound;
  return decideScopes(agent, scopesOf(agent, scopes), { impact: tool.impact, changed: [], places: [], spent: new Map() });
}

/** What every scope says of a tool to the agents that it names, whatever it is given; and which of them name this one. */
export async function scopesOfTools(agent: Pick<Agent, 'id' | 'host'>, deps: Pick<DecidingDeps, 'settings' | 'audit' | 'clock'>) {
  const { scopes, tiers } = deps.settings;
  const own = scopesOf(agent, scopes);
  const spent = await spentBy(scopes, deps);
  return {
    scopes: scopes.map((scope) => ({ name: scope.name, agents: scope.agents, isOwn: own.includes(scope) })),
    answers: (tool: Tool): readonly Decision[] => {
      const { impact } = tool;
      const isBound = bindsTool(tool, effectiveTier(tool.name, tool.tier, tiers));
      const call = { impact, changed: [], places: [], spent: impact === 'none' ? new Map<string, number>() : spent };
      return scopes.map((scope) => (isBound ? decideScope(scope, call, spent) : notBound));
    },
  };
}

async function spentBy(
  own: CallDeps['settings']['scopes'],
  deps: Pick<DecidingDeps, 'audit' | 'clock'>,
  upTo?: ChainPoint,
): Promise<ReadonlyMap<string, number>> {
  const counts = own.some(({ changesPerDay }) => changesPerDay !== undefined);
  return new Map(counts ? await deps.audit.changesSince(deps.clock.now() - budgetSpan, upTo) : []);
}

/**
 * Once more when the change is written down (`intent`): of two processes that both saw room for one more, each has written before it counts, so
 * that the later one sees both. Never more run than the budget has.
 */
export async function budgetLeft(state: Resolved, agent: Agent, deps: CallDeps, intent: ChainPoint): Promise<Decision> {
  const own = scopesOf(agent, deps.settings.scopes).filter(({ changesPerDay }) => changesPerDay !== undefined);
  if (!changes(state) || own.length === 0) return notBound;
  const spent = await spentBy(own, deps, intent);
  const raised = own.map(({ changesPerDay = 0, name, agents, reason }) => ({ name, agents, reason, changesPerDay: changesPerDay + 1 }));
  return decideScopes(agent, raised, { impact: 'none', changed: [], places: [], spent });
}

export function timesDecision(state: Resolved, deps: Pick<CallDeps, 'settings' | 'clock'>): Decision {
  return changes(state) ? decideWindows(deps.settings.windows, timedThings(state), deps.clock.now()) : notBound;
}

/** For how long a plan is told which windows will hold its steps, in ms: it has an hour to be answered, and lasts as long as its tasks do. */
const aheadMs = 86_400_000;

export function timesAhead(state: Resolved, deps: Pick<CallDeps, 'settings' | 'clock'>): readonly string[] {
  const now = deps.clock.now();
  return changes(state) ? windowsAhead(deps.settings.windows, timedThings(state), now, now + aheadMs) : [];
}

/** What is done to a node is done to what runs on it. */
function timedThings(state: Resolved): readonly Selectable[] {
  const { inventory } = state;
  const hosted = state.targets.flatMap((target) =>
    actsOnNode(target) && inventory !== undefined ? inventory.guests.filter(({ node }) => node === target.node) : [],
  );
  const guests = inventory === undefined ? [] : hosted.map((guest) => guestThing(guest, inventory));
  const places = state.targets.filter(isPlace).map((target) => placeThing(target));
  return [...changedThings(state), ...guests, ...places];
}

/** For whoever asks how calls are handled. */
export async function limitsInWords(agent: Agent, deps: Pick<DecidingDeps, 'settings' | 'audit' | 'clock'>): Promise<readonly string[]> {
  const own = scopesOf(agent, deps.settings.scopes);
  const spent = await spentBy(own, deps);
  const { paused } = deps.settings;
  return [
    ...(paused === undefined
      ? []
      : [`all agents are paused by ${showPlainly(paused.by, 100)}: they change nothing until a person resumes them`]),
    ...own.map((scope) => english(scopeInWords(scope, spent))),
    ...windowsInWords(deps.settings.windows, deps.clock.now()).map(({ words }) => english(words)),
  ];
}

/** SECURITY: who could give or take such a tag could put a guest into a scope, out of a freeze, or away from what serves it. */
function decidingTags({ targets, inventory }: Resolved, { settings }: Pick<CallDeps, 'settings'>): Decision | undefined {
  const entries = [...settings.scopes, ...settings.windows].map(({ only }) => only);
  const deciding = [...entries, ...settings.roles.map(({ of }) => of)].flatMap((selector) => selector?.tags ?? []);
  // A guest that is made from another, or from an archive, is as that was.
  if (deciding.length === 0 || targets.some(({ kind }) => kind === 'new_guest')) return undefined;
  for (const target of targets) {
    if (target.kind !== 'tags') continue;
    const has = inventory?.guests.find(({ vmid }) => vmid === target.vmid)?.tags ?? [];
    const touched = deciding.find((tag) => target.tags.includes(tag) !== has.includes(tag));
    if (touched === undefined) continue;
    const why = say`scopes, windows or roles go by the tag \`${touched}\`, so only people give or take it; name it among the tags where the guest has it`;
    return deny('tag_decides', why, [`scopes.tags:${touched}`]);
  }
  return undefined;
}

type Place = Extract<Target, { kind: 'node' | 'storage' }>;

function isPlace(target: Target): target is Place {
  return target.kind === 'storage' || (target.kind === 'node' && target.place === true);
}

function actsOnNode(target: Target): target is Extract<Target, { kind: 'node' | 'service' }> {
  return target.kind === 'service' || (target.kind === 'node' && target.place !== true);
}

function placeThing(target: Place): Selectable {
  return { ...nothing, words: wordsOf(target), cluster: target.cluster, node: target.node };
}

const nothing = { vmid: null, tags: [], pool: null, name: null } as const;

function changedThings({ targets, inventory }: Resolved): readonly Selectable[] {
  return targets.flatMap((target): Selectable[] => {
    if (target.kind === 'guest')
      return [guestThing(inventory?.guests.find(({ vmid }) => vmid === target.vmid) ?? target, inventory ?? target)];
    if (target.kind === 'new_guest') return [newGuest(target, targets, inventory)];
    return actsOnNode(target) ? [{ ...nothing, words: wordsOf(target), cluster: target.cluster, node: target.node }] : [];
  });
}

/**
 * SECURITY: what is in a backup is what that guest is. Who could restore any backup into a pool of theirs could read every guest. One that is
 * gone, its number another's or nobody's, was in a pool that nobody knows any more.
 */
function restoredThings({ targets, inventory }: Resolved): readonly Selectable[] {
  return targets.flatMap((target): Selectable[] => {
    if (target.kind !== 'new_guest' || target.from === undefined) return [];
    const { cluster } = target;
    const { vmid, isSame } = target.from;
    const row = isSame ? inventory?.guests.find((one) => one.vmid === vmid) : undefined;
    const thing =
      row === undefined
        ? { ...nothing, vmid, node: undefined, tags: undefined, pool: undefined, name: undefined }
        : guestThing(row, inventory ?? { cluster });
    return [{ ...thing, cluster, words: `the backed up guest ${vmid}` }];
  });
}

/** It has the pool and name that it is to get, the tags of what it is made from, and is where that is if no node is named. */
function newGuest(
  { cluster, vmid, pool, name }: Extract<Target, { kind: 'new_guest' }>,
  targets: readonly Target[],
  inventory: Inventory | undefined,
): Selectable {
  const source = targets.find((target) => target.kind === 'guest');
  const place = targets.find((target) => target.kind === 'node' && target.place === true);
  const node = place?.kind === 'node' ? place.node : source?.kind === 'guest' ? source.node : undefined;
  const own = { words: `the new guest ${vmid}`, cluster, vmid, node, pool: pool ?? null, name };
  return { ...own, ...tagsFrom(source?.vmid, targets, inventory) };
}

/** Of what it is made from: a guest, or an archive. */
function tagsFrom(
  vmid: number | undefined,
  targets: readonly Target[],
  inventory: Inventory | undefined,
): Pick<Selectable, 'tags' | 'gained' | 'brought'> {
  const row = inventory?.guests.find((one) => one.vmid === vmid);
  const given = targets.find((target) => target.kind === 'tags');
  const of = (map: Inventory['gained']) => (row && map?.get(row.vmid)) ?? [];
  return { tags: given?.kind === 'tags' ? given.tags : row?.tags, gained: of(inventory?.gained), brought: of(inventory?.brought) };
}

/** A guest that the call makes, and the tags that it has from one that a person lets bear them. */
export function madeGuests({ targets, inventory }: Resolved): readonly MadeGuest[] {
  return targets.flatMap((target) => {
    if (target.kind !== 'new_guest') return [];
    const source = targets.find((one) => one.kind === 'guest')?.vmid ?? (target.from?.isSame === true ? target.from.vmid : undefined);
    const row = inventory?.guests.find(({ vmid }) => vmid === source);
    const tags = row?.tags?.filter((tag) => inventory?.gained?.get(row.vmid)?.includes(tag) !== true) ?? [];
    return [{ vmid: target.vmid, tags }];
  });
}

function wordsOf(target: Target): string {
  return showPlainly(describeTarget(target), 120);
}
