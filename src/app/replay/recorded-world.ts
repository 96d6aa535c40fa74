/** What a recorded call is decided in: the settings of one side, and of the world what the record tells, or what is so now. */

import type { Decision, Effect } from '#kernel/decision';
import { allow, ask, deny } from '#kernel/decision';
import { Fault } from '#kernel/errors';
import { type JsonObject, textOf } from '#kernel/json';
import type { ReplayedDecision } from '#kernel/policy-view';
import type { ClusterPort, GuestRow, NodeRow } from '#kernel/ports/cluster';
import type { ViewStatus } from '#kernel/ports/command-runner';
import type { PathFacts } from '#kernel/ports/path-facts';
import type { CommandResource, PathUse, Target } from '#kernel/resource';
import { say } from '#kernel/text/message';
import type { Tool } from '#kernel/tool';
import { decideCall, passStages } from '#pipeline/decide-call';
import type { ConfiguredCluster, DecidingDeps, PolicySettings, WorkspaceJudge } from '#pipeline/deps';
import { validate } from '#pipeline/validate';
import type { LiveRule } from '#policy/auto-approve';
import { decideAgentShell } from '#policy/effects/decide-agent-shell';
import { decideCommand } from '#policy/effects/decide-command';
import { decidePath } from '#policy/paths/decide-path';
import type { NodeAliases } from '#policy/protected-resources';
import type { UserRule } from '#policy/user-rules';
import type { Config } from '../config/config.ts';
import type { RecordedCall } from './recorded-call.ts';

/** One of the two settings. */
export interface Side {
  readonly config: Pick<Config, 'commandRules' | 'hooks'>;
  readonly settings: PolicySettings;
}

/** What a cluster says now, each thing asked for once. @throws {Fault} why it does not */
export type ClusterReads = (cluster: string, method: string, values: readonly unknown[]) => Promise<unknown>;

export interface World {
  readonly tools: readonly Tool[];
  readonly clusters: readonly { readonly name: string; readonly aliases: NodeAliases }[];
  readonly reads: ClusterReads;
  /** Of this machine, now. */
  readonly view: ViewStatus | undefined;
  readonly workspaceRoot: string;
  readonly ownPrograms: readonly (readonly string[])[];
  /** What no settings change, worked out once for both sides. */
  readonly shared: SharedAnswers;
}

export type SharedAnswers = ReturnType<typeof createSharedAnswers>;

export function createSharedAnswers() {
  return {
    validate: lastOnce((call: RecordedCall, tool: Tool) => validate(tool, call.input, call.agent)),
    decideCommand: lastOnce((command: CommandResource, userRules: readonly UserRule[], view: ViewStatus | undefined) =>
      decideCommand(command, { userRules, view }),
    ),
  };
}

/** The last answer again for as long as the same is asked, the very same objects: the sides ask in turn. */
export function lastOnce<Given extends readonly unknown[], Answer>(work: (...given: Given) => Answer): (...given: Given) => Answer {
  let last: { readonly given: Given; readonly answer: Answer } | undefined;
  return (...given) => {
    if (last === undefined || given.some((one, index) => one !== last?.given[index])) last = { given, answer: work(...given) };
    return last.answer;
  };
}

export interface Verdict extends ReplayedDecision {
  /** The record and the settings do not tell: not judged, and `reason` says why. */
  readonly isUnknown?: true;
  /** With the help of what is so now. */
  readonly byNow: boolean;
  readonly targets: readonly Target[];
  readonly tier?: string;
}

const notRecorded = 'not_recorded';

/** @param spent changes so far, by agent's id @param rules others than those of the side */
export async function decideRecorded(call: RecordedCall, { side, world, spent, rules }: DecidedIn, signal: AbortSignal): Promise<Verdict> {
  const used = { now: false };
  const settings = rules === undefined ? side.settings : { ...side.settings, rules: async () => rules };
  const isBound = bindsClusters(settings);
  const deps: DecidingDeps = {
    ...{ tools: world.tools, settings, clock: { now: () => call.at, sleep: async () => undefined } },
    clusters: new Map(
      world.clusters.map(({ name, aliases }) => [name, clusterThen(name, { aliases, call, world, settings, isBound, used })]),
    ),
    judge: judgeThen(call, side, world, used),
    audit: { changesSince: async () => [...spent] },
  };
  const { tool, input, agent, isStep, code } = call;
  const asked = { tool: tool.name, input, agent, validate: (found: Tool) => world.shared.validate(call, found) };
  const given = { ...asked, ...(isStep ? { internal: true as const } : {}) };
  const restrict = code === 'untrusted_workspace' ? { restrict: 'green_only' as const } : {};
  let tier: string | undefined;
  let targets: readonly Target[] = [];
  try {
    const step = await passStages(decideCall({ ...given, ...restrict }, deps, signal), ({ state }) => {
      tier = state?.tier ?? tier;
      targets = state?.targets ?? targets;
    });
    const more = { byNow: used.now, targets, ...(tier === undefined ? {} : { tier }) };
    if (step.ok) return { ...step.state.decision, ...more };
    const { status, code: why, message, rules: by = [] } = step.refusal;
    return { effect: status === 'denied' ? 'deny' : 'error', code: why, reason: message, rules: by, ...more };
  } catch (thrown) {
    signal.throwIfAborted();
    if (!(thrown instanceof Fault)) throw thrown;
    return { effect: 'error', code: thrown.code, reason: thrown.message, rules: [], isUnknown: true, byNow: used.now, targets };
  }
}

export interface DecidedIn {
  readonly side: Side;
  readonly world: World;
  readonly spent: ReadonlyMap<string, number>;
  readonly rules?: readonly LiveRule[];
}

/** Whether the settings go by what a cluster says of the things in it. */
export function bindsClusters({ protectedList, scopes, windows }: PolicySettings): boolean {
  const { nodes, guests, services, addresses, tags, pools, names, deleteUnsaved } = protectedList;
  const lists = [nodes, guests, services, addresses, tags ?? [], pools ?? [], names ?? [], scopes, windows];
  return lists.some((list) => list.length > 0) || deleteUnsaved === true;
}

interface ClusterThen {
  readonly aliases: NodeAliases;
  readonly call: RecordedCall;
  readonly world: World;
  readonly settings: PolicySettings;
  readonly isBound: boolean;
  readonly used: { now: boolean };
}

function clusterThen(name: string, { aliases, call, world, settings, isBound, used }: ClusterThen): ConfiguredCluster {
  const own = call.targets.filter(({ cluster }) => cluster === name);
  const read = async (method: string, values: readonly unknown[]) => {
    used.now = true;
    return world.reads(name, method, values);
  };
  const known: Partial<Record<keyof ClusterPort, () => Promise<unknown>>> = {
    guests: async () => guestsThen(own, isBound ? ((await read('guests', [])) as readonly GuestRow[]) : [], settings, isBound),
    nodes: async () => nodesThen(own, isBound ? ((await read('nodes', [])) as readonly NodeRow[]) : []),
    clusterStatus: async () => (isBound ? read('clusterStatus', []) : []),
  };
  // Sound: each method is a read of the same name, answered by the cluster itself; the stages call no other.
  const api = new Proxy({} as ClusterPort, {
    get: (_target, key) => {
      if (key === 'name') return name;
      const method = String(key) as keyof ClusterPort;
      return (
        known[method] ??
        ((...values: readonly unknown[]) =>
          read(
            method,
            values.filter((value) => !(value instanceof AbortSignal)),
          ))
      );
    },
  });
  const never = () => Promise.reject(new Fault(notRecorded, 'nothing is run by a replay', { audience: 'bug' }));
  return { aliases, access: { api, shell: { exec: never }, waker: { wake: never } } };
}

/** Where a guest was, and which ones there were that the call names, stands in the record; the rest is as it is now. */
function guestsThen(own: readonly JsonObject[], now: readonly GuestRow[], settings: PolicySettings, isBound: boolean): readonly GuestRow[] {
  const made = new Set(own.filter(({ kind }) => kind === 'new_guest').map(({ vmid }) => vmid));
  const rows = new Map(now.filter(({ vmid }) => !made.has(vmid)).map((row) => [row.vmid, row]));
  for (const { kind, vmid, node, guestType, name } of own) {
    if (kind !== 'guest' || typeof vmid !== 'number' || typeof node !== 'string') continue;
    const row = rows.get(vmid);
    if (row === undefined && isBound && goesByTagsOrPools(settings))
      throw new Fault(notRecorded, 'a guest that is gone: what tags it had, and which pool, is not kept');
    const type = guestType === 'lxc' ? ('lxc' as const) : ('qemu' as const);
    const then = { vmid, node, type, ...(typeof name === 'string' ? { name } : {}) };
    rows.set(vmid, { status: 'unknown', raw: {}, ...row, ...then });
  }
  return [...rows.values()];
}

function nodesThen(own: readonly JsonObject[], now: readonly NodeRow[]): readonly NodeRow[] {
  const named = own.flatMap(({ node }) => (typeof node === 'string' ? [node] : []));
  const gone = [...new Set(named)].filter((node) => !now.some((row) => row.node === node));
  return [...now, ...gone.map((node) => ({ node, status: 'online', raw: {} }))];
}

function goesByTagsOrPools({ protectedList, roles, scopes, windows }: PolicySettings): boolean {
  const selectors = [...roles.map(({ of }) => of), ...[...scopes, ...windows].map(({ only }) => only)];
  return [protectedList, ...selectors].some((from) => from?.tags !== undefined || from?.pools !== undefined);
}

/** The workspace as the record tells of it. */
function judgeThen(call: RecordedCall, { config, settings }: Side, world: World, used: { now: boolean }): WorkspaceJudge {
  const { commandRules: userRules, hooks } = config;
  return {
    decideCommand: async (command) => {
      if (command.surface === 'agent_shell' || command.surface === 'agent_run')
        return decideAgentShell(command.text, command.surface === 'agent_run', {
          userRules,
          mode: hooks.shell,
          ownPrograms: world.ownPrograms,
        });
      return world.shared.decideCommand(command, userRules, viewThen(call, command, world, used));
    },
    decidePath: async (name, use) => pathThen(call, { name, use, root: world.workspaceRoot }),
    sandbox: async () => {
      const { sandbox } = call;
      if (sandbox === 'enforced' || sandbox === 'degraded' || sandbox === 'unavailable')
        return { state: sandbox, reason: 'as it was recorded' };
      throw new Fault(notRecorded, 'whether the sandbox held then is not recorded');
    },
    held: async () => {
      throw new Fault(notRecorded, say`what was held then is not kept (level ${settings.securityLevel})`);
    },
  };
}

const judgedView: ViewStatus = { judged: true };
const noView: ViewStatus = { judged: false, reason: 'as it was recorded', better: '' };

/** What went ahead unasked in a sandbox that held did so over a view; where a person was asked for another reason, it is as now. */
function viewThen(
  { sandbox, rules }: RecordedCall,
  { unsandboxed }: CommandResource,
  world: World,
  used: { now: boolean },
): ViewStatus | undefined {
  if (unsandboxed === true || sandbox !== 'enforced') return undefined;
  if (rules.includes('workspace.no-view')) return noView;
  if (rules.includes('effects.judged')) return judgedView;
  used.now = true;
  return world.view;
}

interface PathAsked {
  readonly name: string;
  readonly use: PathUse;
  readonly root: string;
}

/** Links, kinds and sizes were looked at then: what came of that stands in the record. */
function pathThen(call: RecordedCall, asked: PathAsked): { readonly decision: Decision; readonly real?: string } {
  const { rules, status, code, message } = call;
  if (rules[0]?.startsWith('path.') === true && status === 'denied') return { decision: deny(code, message, rules) };
  const found = call.targets.find(({ kind, path }) => kind === 'path' && path === asked.name);
  if (found === undefined) throw new Fault(notRecorded, 'what was at its path then is not recorded');
  const { agreed } = found;
  const real = textOf(found['real']);
  const decision =
    agreed === true ? agreedPath(call, real ?? asked.name, asked) : allow('allowed', 'a path in the workspace', ['path.inside']);
  return { decision, ...(real === undefined ? {} : { real }) };
}

/** Why a person had to agree: the name says it, or the record does. */
function agreedPath({ rules }: RecordedCall, name: string, { use, root }: PathAsked): Decision {
  const lists = use === 'list' || use === 'search';
  const facts: PathFacts = { look: (path) => ({ kind: lists ? 'directory' : 'file', path, size: 0 }) };
  const byName = decidePath(name, lists ? 'list' : use, { ground: { roots: [root], platform: 'posix' }, facts });
  if (byName.effect === 'ask') return byName;
  const [rule = ''] = rules;
  if (rule.startsWith('path.')) return ask(ruleCode[rule] ?? 'CONTROL_FILE', say`a person had to agree to this path`, rules);
  throw new Fault(notRecorded, 'why a person had to agree to its path is not recorded');
}

const ruleCode: Readonly<Record<string, string>> = { 'path.secret-files': 'SECRET_FILE', 'path.control-files': 'CONTROL_FILE' };

const strictness: Readonly<Record<Effect, number>> = { allow: 0, ask: 1, deny: 2 };

/** undefined: both are as strict. */
export function directionOf(before: ReplayedDecision, after: ReplayedDecision): 'looser' | 'tighter' | 'other' | undefined {
  if (before.effect === 'error' || after.effect === 'error') return before.effect === after.effect ? undefined : 'other';
  if (before.effect === after.effect) return undefined;
  return strictness[after.effect] < strictness[before.effect] ? 'looser' : 'tighter';
}
