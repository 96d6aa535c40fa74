/** Live rows as items of a quick pick. */

import type { Decision, Effect } from '#kernel/decision';
import { isJsonObject, type JsonObject } from '#kernel/json';
import type { ProtectedNames } from '#kernel/live';
import { type GuestRow, type NodeRow, offlineStatus } from '#kernel/ports/cluster';
import type { SandboxStatus } from '#kernel/ports/command-runner';
import type { GuestType } from '#kernel/resource';
import { showPlainly } from '#kernel/text/text';
import type { SecurityLevel } from '#kernel/tiers';
import type { ToolDescription } from '#kernel/tool';
import { reasonWords, saidWords } from '../fault-words.ts';
import { t } from '../l10n.ts';

export interface Pick {
  readonly label: string;
  readonly description: string;
  /** A codicon's name. */
  readonly icon: string;
  /** What the choice fills in. */
  readonly fills: Readonly<Record<string, string | number>>;
  /** Why the call would be refused or come to nothing. */
  readonly blocked?: string;
}

/** What the cluster says now. */
export interface LiveRows {
  readonly guests: readonly GuestRow[];
  readonly nodes: readonly NodeRow[];
  /** Empty for a call that protection does not bind. */
  readonly protected: ProtectedNames;
}

interface GuestFilter {
  readonly guestType?: GuestType;
  /** What the guest must be for the action to make sense; undefined: the call only looks. */
  readonly running?: boolean;
}

/**
 * By number, of the wanted kind. For an action templates and guests that are in that state already are left out; what is protected,
 * locked or on a node that is offline is marked. Partial rows (their node is offline) have no name.
 */
export function guestPicks(live: LiveRows, filter: GuestFilter): Pick[] {
  const offline = offlineNodes(live);
  return live.guests
    .filter((row) => filter.guestType === undefined || row.type === filter.guestType)
    .filter((row) => filter.running === undefined || isCandidate(row, filter.running, offline))
    .sort((a, b) => a.vmid - b.vmid)
    .map((row) => ({
      label: plainLabel(row.name === undefined ? String(row.vmid) : `${row.vmid}  ${row.name}`),
      description: plainLabel(`${offline.has(row.node) ? offlineStatus : row.status} on ${row.node}`),
      icon: guestIcon(row),
      fills: { vmid: row.vmid, node: row.node },
      ...blockedBy(filter.running === undefined ? undefined : guestBlock(row, live, offline)),
    }));
}

function offlineNodes({ nodes, guests }: LiveRows): ReadonlySet<string> {
  return new Set(
    [...nodes.filter((row) => row.status === 'offline'), ...guests.filter((row) => row.status === offlineStatus)].map((row) => row.node),
  );
}

/** What a guest on an offline node is doing is not known. */
function isCandidate(row: GuestRow, running: boolean, offline: ReadonlySet<string>): boolean {
  if (Number(row.raw['template'] ?? 0) === 1) return false;
  return offline.has(row.node) || (row.status === 'running') === running;
}

function guestBlock({ vmid, node, raw }: GuestRow, live: LiveRows, offline: ReadonlySet<string>): string | undefined {
  const { lock } = raw;
  return (
    live.protected.guests.get(vmid) ??
    (offline.has(node) ? t('node {0} is offline', node) : undefined) ??
    (typeof lock === 'string' && lock !== ''
      ? t('it is locked ({0}): an operation on it is running or was left unfinished', lock)
      : undefined)
  );
}

function guestIcon(row: GuestRow): string {
  if (row.status === offlineStatus) return 'question';
  if (row.type === 'lxc') return 'package';
  return row.status === 'running' ? 'vm-running' : 'vm-outline';
}

/** @param toWake the action is about nodes that are off: the others are marked, and otherwise those */
export function nodePicks(live: Omit<LiveRows, 'guests'>, toWake: boolean): Pick[] {
  const rank = (row: NodeRow) => Number((row.status === 'online') === toWake);
  return [...live.nodes]
    .sort((a, b) => rank(a) - rank(b) || a.node.localeCompare(b.node))
    .map((row) => ({
      label: plainLabel(row.node),
      description: plainLabel(row.status),
      icon: 'server',
      fills: { node: row.node },
      ...blockedBy(live.protected.nodes.get(row.node) ?? nodeBlock(row, toWake)),
    }));
}

function nodeBlock({ node, status }: NodeRow, toWake: boolean): string | undefined {
  if (toWake) return status === 'online' ? t('node {0} is online already', node) : undefined;
  return status === 'offline' ? t('node {0} is offline', node) : undefined;
}

function blockedBy(reason: string | undefined): Partial<Pick> {
  // A row has one line: the policy's reason, without what it says to those who are refused.
  return reason === undefined ? {} : { blocked: plainLabel(reason.split(';')[0] ?? reason) };
}

/** The editor draws `$(name)` in labels as an icon; a backslash before it shows the text. */
export function plainLabel(text: string, maxLength = 120): string {
  return showPlainly(text, maxLength).replace(/\$\([A-Za-z0-9-]+(?:~[A-Za-z]+)?\)/g, '\\$&');
}

/** A decision of the policy as rows that a person reads. */
interface DecisionItem {
  readonly label: string;
  readonly description?: string;
  readonly detail?: string;
}

const marks: Record<Effect, string> = {
  allow: `$(pass) ${t('allow')}`,
  ask: `$(question) ${t('ask')}`,
  deny: `$(circle-slash) ${t('deny')}`,
};

/** The decision with its reason, then each rule behind it, the deciding one first. */
export function decisionItems(decision: Decision): DecisionItem[] {
  const { effect, code, rules } = decision;
  const why = reasonWords(decision);
  const ofRules = rules.map((rule, order) => ({
    label: `$(law) ${plainLabel(rule)}`,
    description: order === 0 ? t('the rule that decided') : t('also applied'),
  }));
  const byDefault = [{ label: `$(law) ${t('no rule')}`, description: t('nothing matched, so the default applied') }];
  return [{ label: marks[effect], description: code, detail: plainLabel(why, 400) }, ...(rules.length === 0 ? byDefault : ofRules)];
}

/** Where a text that is only tested would run, in this window. */
export interface TestedIn {
  readonly surface: 'ssh' | 'workspace_command' | 'readonly_bash' | 'path';
  readonly op?: 'read' | 'write' | 'list';
  readonly level: SecurityLevel;
  readonly sandbox: SandboxStatus;
}

/** What the decision on a text leaves open: what follows once it runs, and what else a call goes through. */
export function testedItems({ effect }: { readonly effect: Effect }, where: TestedIn): DecisionItem[] {
  const { surface, op, level, sandbox } = where;
  const isCommand = surface === 'workspace_command' || surface === 'readonly_bash';
  const isContained = sandbox.state === 'enforced';
  const looksOnly = surface === 'path' && op !== 'write';
  const contained = t('the OS sandbox is {0}, so every command asks or is refused: {1}', sandbox.state, saidWords(sandbox.reason));
  const onTop = looksOnly
    ? t('tiers and auto-approve rules that this window has are not looked at')
    : t('tiers and auto-approve rules that this window has are not looked at; at level strict each such call asks');
  return [
    ...(isCommand && isContained && effect === 'allow' ? [{ label: `$(arrow-right) ${t('then')}`, detail: followsIn(where) }] : []),
    ...(isCommand && !isContained ? [{ label: `$(warning) ${t('no sandbox')}`, detail: plainLabel(contained, 400) }] : []),
    { label: `$(info) ${t('judged as at level balanced')}`, description: t('this window: {0}', level), detail: onTop },
  ];
}

function followsIn({ surface, sandbox: { view } }: TestedIn): string {
  const isReadOnly = surface === 'readonly_bash';
  if (view?.judged !== true) return isReadOnly ? t('it can only look') : t('what it changes counts at once and cannot be undone');
  return isReadOnly
    ? t('everything it changes is dropped')
    : t('ordinary changes count and can be undone; changes that other programs obey wait for a person');
}

/** What to ask a person for before a tool runs from the palette, derived from its schema. */
export type ArgumentStep =
  | { readonly kind: 'cluster' }
  /** Fills `vmid` and `node` from the live list. `running`: keep only (false: not) running guests. */
  | { readonly kind: 'guest'; readonly guestType?: GuestType; readonly running?: boolean }
  | { readonly kind: 'node'; readonly offlineFirst: boolean }
  | (Asked & { readonly kind: 'choice'; readonly values: readonly string[] })
  | (Asked & { readonly kind: 'text'; readonly pattern?: string });

/** Other than a text. */
export type ArgumentType = 'integer' | 'boolean' | 'list';

interface Asked {
  readonly name: string;
  readonly prompt: string;
  readonly required: boolean;
  readonly type?: ArgumentType;
}

/** For models only: a person pages in the result's document, and needs to give themselves no reason. */
const skipped = new Set(['limit', 'cursor', 'filter', 'reason']);

/** @param known names of arguments that are not asked for */
export function argumentPlan(tool: ToolDescription, known: readonly string[] = []): readonly ArgumentStep[] {
  const properties = isJsonObject(tool.inputSchema.properties) ? tool.inputSchema.properties : {};
  const required = new Set(Array.isArray(tool.inputSchema.required) ? tool.inputSchema.required : []);
  const names = Object.keys(properties).filter(
    (name) => !skipped.has(name) && !known.includes(name) && !(name === 'node' && 'vmid' in properties),
  );
  // The cluster first: the live lists depend on it.
  const ordered = [...names].sort((a, b) => Number(b === 'cluster') - Number(a === 'cluster'));
  return ordered.map((name) => stepFor(tool, name, { schema: properties[name], required: required.has(name) }));
}

function stepFor(
  tool: ToolDescription,
  name: string,
  { schema, required }: { readonly schema: unknown; readonly required: boolean },
): ArgumentStep {
  if (name === 'cluster') return { kind: 'cluster' };
  if (name === 'vmid') return guestStep(tool.name);
  if (name === 'node') return { kind: 'node', offlineFirst: tool.name === 'wake_node' };
  const field = isJsonObject(schema) ? schema : {};
  const prompt = typeof field.description === 'string' ? field.description : name;
  if (Array.isArray(field.enum)) return { kind: 'choice', name, prompt, values: field.enum.map(String), required };
  if (field.type === 'boolean') return { kind: 'choice', name, prompt, values: ['yes', 'no'], required, type: 'boolean' };
  return { kind: 'text', name, prompt, required, ...textShape(field) };
}

const typedAs: Readonly<Record<string, ArgumentType>> = { integer: 'integer', array: 'list' };

function textShape({ pattern, type }: JsonObject): { readonly pattern?: string; readonly type?: ArgumentType } {
  const own = typeof type === 'string' ? typedAs[type] : undefined;
  return { ...(typeof pattern === 'string' ? { pattern } : {}), ...(own === undefined ? {} : { type: own }) };
}

function guestStep(tool: string): ArgumentStep {
  const [, verb, kind] = /^(start|stop|restart|shutdown)_(vm|container)$/.exec(tool) ?? [];
  return {
    kind: 'guest',
    ...(kind === undefined ? {} : { guestType: kind === 'vm' ? ('qemu' as const) : ('lxc' as const) }),
    ...(verb === undefined ? {} : { running: verb !== 'start' }),
  };
}
