/** What an agent may change of clusters at all: which things, how badly, how often. Pure. */

import { type Agent, osUserOf } from '#kernel/agent';
import { allow, type Decision, deny } from '#kernel/decision';
import { joined, type Message, say } from '#kernel/text/message';
import { type Impact, impacts, impactWords } from '#kernel/tiers';
import { asAgreed, matchesPattern, misfitOf, type Selectable, type Selector, selectorInWords } from './selector.ts';

export interface Scope {
  readonly name: string;
  /** Agents' ids with `*` and `?`; `host:chat` for all that come through a host, `user:alice` for all of an OS user. */
  readonly agents: readonly string[];
  /** The author's. */
  readonly reason: string;
  readonly only?: Selector;
  /** Guests of which a person knows that they lost a tag in `only`: nobody is told of it any more. They are out of the scope either way. */
  readonly except?: readonly number[];
  /** Guests that got a tag in `only` outside of Banksman, and that a person lets in by it. */
  readonly admits?: readonly number[];
  /** The worst that a call may do. */
  readonly impact?: Impact;
  /** In any 24 hours, by all agents of the scope together: a new chat is no new budget. */
  readonly changesPerDay?: number;
}

/** In ms. */
export const budgetSpan = 86_400_000;

/** All that name the agent hold, so another one never gives more. */
export function scopesOf(agent: Pick<Agent, 'id' | 'host'>, scopes: readonly Scope[]): readonly Scope[] {
  return scopes.filter(({ agents }) => agents.some((pattern) => names(pattern, agent)));
}

function names(pattern: string, { id, host }: Pick<Agent, 'id' | 'host'>): boolean {
  if (pattern === `host:${host}` || matchesPattern(pattern, id)) return true;
  const user = osUserOf(id);
  if (user === undefined) return userIn(id) !== undefined && pattern === `user:${userIn(id)}`;
  // `alice/mcp:ci` is `mcp:ci` of alice: a scope without a user is for everybody's.
  return pattern === `user:${user}` || matchesPattern(pattern, id.slice(user.length + 1));
}

/** On the command line and at the palette the id itself says whose it is. */
function userIn(id: string): string | undefined {
  return /^(?:cli|user):(.+)$/.exec(id)?.[1];
}

/** What a call is about. */
export interface ScopedCall {
  readonly impact: Impact;
  /** Guests and nodes that it changes: each has to be in the scope whole. */
  readonly changed: readonly Selectable[];
  /** Where it puts something: only the scope's clusters and nodes count. */
  readonly places: readonly Selectable[];
  /** Changes so far, by agent's id. */
  readonly spent: ReadonlyMap<string, number>;
}

export function decideScopes(agent: Pick<Agent, 'id' | 'host'>, scopes: readonly Scope[], call: ScopedCall): Decision {
  const own = scopesOf(agent, scopes);
  for (const scope of own) {
    const decision = refusedBy(scope, call);
    if (decision !== undefined) return decision;
  }
  const words = own.length === 0 ? 'no scope limits this agent' : say`it is within ${joined(own.map(nameOf))}`;
  return allow(own.length === 0 ? 'no_scope' : 'in_scope', words, own.map(ruleOf));
}

/** What one scope says to the agents that it names. @param spent as it is told; a call that changes nothing spends none */
export function decideScope(scope: Scope, call: ScopedCall, spent = call.spent): Decision {
  return refusedBy(scope, call) ?? allow('in_scope', scopeInWords(scope, spent), [ruleOf(scope)]);
}

function refusedBy(scope: Scope, call: ScopedCall): Decision | undefined {
  return tooBad(scope, call) ?? notIn(scope, call) ?? usedUp(scope, call);
}

function tooBad(scope: Scope, { impact }: ScopedCall): Decision | undefined {
  if (scope.impact === undefined || impacts.indexOf(impact) <= impacts.indexOf(scope.impact)) return undefined;
  return refuse(
    'out_of_scope',
    say`what is ${impact} (it ${impactWords[impact]}) is more than ${nameOf(scope)} lets its agents do: at most ${scope.impact}`,
    scope,
  );
}

function notIn(scope: Scope, { changed, places }: ScopedCall): Decision | undefined {
  const { only } = scope;
  if (only === undefined) return undefined;
  const { clusters, nodes } = only;
  const wide: Selector = { ...(clusters === undefined ? {} : { clusters }), ...(nodes === undefined ? {} : { nodes }) };
  for (const [selector, things] of [
    [only, changed],
    [wide, places],
  ] as const) {
    for (const thing of things) {
      const found = misfitOf(selector, asAgreed(thing, scope.admits));
      if (found !== undefined)
        return refuse(
          'out_of_scope',
          say`${thing.words} ${found.why}${tagWords(thing, scope)}, and ${nameOf(scope)} is for ${selectorInWords(only)}`,
          scope,
        );
    }
  }
  return undefined;
}

/** What a scope allows by a tag is allowed no more without it, whoever took it, and not yet by one that nobody agreed to. */
function tagWords({ vmid, lost, gained, brought }: Selectable, { only = {}, except = [], admits = [] }: Scope): Message | string {
  const isAmong = (guests: readonly number[]) => vmid !== null && guests.includes(vmid);
  const ofScope = (tags: readonly string[] = []) => tags.find((one) => only.tags?.includes(one));
  const given = isAmong(admits) ? undefined : ofScope(gained);
  if (given !== undefined) return givenWords(given, brought?.includes(given) === true);
  const taken = isAmong(except) ? undefined : ofScope(lost);
  return taken === undefined ? '' : say` (it lost the tag \`${taken}\`, which somebody took away outside of Banksman)`;
}

/** @param isOwn an agent's clone or restore brings it, which is under way, or of which nobody saw a good end */
function givenWords(tag: string, isOwn: boolean): Message {
  const admit = say`a person writes the guest into \`admits\` of the scope`;
  return isOwn
    ? say` (it has the tag \`${tag}\` of what an agent makes or made it of, which counts once that is seen to have ended well, or ${admit})`
    : say` (somebody gave it the tag \`${tag}\` outside of Banksman, which counts once ${admit})`;
}

/** How many changes the agents of a scope have made. */
export function spentOf({ agents }: Scope, spent: ReadonlyMap<string, number>): number {
  const all = [...spent].filter(([id]) => agents.some((pattern) => names(pattern, { id, host: hostIn(id) })));
  return all.reduce((sum, [, count]) => sum + count, 0);
}

/** A record keeps the id; the host is its first word. */
function hostIn(id: string): Agent['host'] {
  const word = /^(?:[^/:]+\/)?([a-z]+):/.exec(id)?.[1];
  return word === 'user' ? 'palette' : word === 'cli' || word === 'mcp' || word === 'hook' ? word : 'chat';
}

function usedUp(scope: Scope, { spent }: ScopedCall): Decision | undefined {
  const { changesPerDay: budget } = scope;
  const used = budget === undefined ? 0 : spentOf(scope, spent);
  if (budget === undefined || used < budget) return undefined;
  return refuse('over_budget', say`${used} of ${budget} changes in 24 hours are made, and ${nameOf(scope)} allows no more`, scope);
}

function nameOf({ name }: Pick<Scope, 'name'>): Message {
  return say`scope \`${name}\``;
}

function ruleOf({ name }: Scope): string {
  return `scopes.${name}`;
}

function refuse(code: string, why: Message, scope: Scope): Decision {
  return deny(code, say`${why}; the reason given: ${scope.reason}`, [ruleOf(scope)]);
}

/** For people and for the agent itself. */
export function scopeInWords(scope: Scope, spent: ReadonlyMap<string, number>): Message {
  const parts = [
    ...(scope.only === undefined ? [] : [say`only ${selectorInWords(scope.only)}`]),
    ...(scope.impact === undefined ? [] : [say`at most ${scope.impact}`]),
    ...(scope.changesPerDay === undefined ? [] : [say`${spentOf(scope, spent)} of ${scope.changesPerDay} changes made in 24 hours`]),
  ];
  return say`${nameOf(scope)}: ${parts.length === 0 ? say`no limits` : joined(parts)}; the reason given: ${scope.reason}`;
}
