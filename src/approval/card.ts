/** What a person reads before they decide. Built from the stored record alone; plain text for a native dialog. */
import { randomInt } from 'node:crypto';
import { canonicalJson, type JsonObject } from '#kernel/json';
import { type EffectiveAction, type RequestRecord, waitState } from '#kernel/request';
import { endInWords, expiryInWords } from '#kernel/request-end';
import { describeTarget, type Target } from '#kernel/resource';
import type { ReviewCard } from '#kernel/review-card';
import { clockTime, durationInWords, showPlainly } from '#kernel/text';
import { type Impact, impacts, type SecurityLevel } from '#kernel/tiers';
import { digestOf } from './digest.ts';

/** What the catalog says of an action, recomputed from the action; undefined for a tool it does not know. */
export type DescribeAction = (action: EffectiveAction) => { readonly title: string; readonly impact: Impact } | undefined;

export interface CardOptions {
  /** ms since the epoch. */
  readonly now: number;
  /** `strict`: disruptive actions have to be typed, too. Default `balanced`. */
  readonly level?: SecurityLevel;
  /** Absent: the title is only checked for naming every target. */
  readonly describe?: DescribeAction | undefined;
}

const impactInWords: Record<Impact, string> = {
  none: 'changes nothing',
  reversible: 'can be undone',
  disruptive: 'interrupts what runs there',
  irreversible: 'cannot be undone',
};

const nameFields: ReadonlyMap<unknown, string> = new Map([
  ['guest', 'vmid'],
  ['node', 'node'],
  ['service', 'service'],
]);
const maxArguments = 1200;
const maxFacts = 10;
/** Without 0/O, 1/I/L: read off a dialog and typed. */
const codeAlphabet = '23456789ABCDEFGHJKMNPQRSTUVWXYZ';

/**
 * The card of a record. A record that does not match its digest, or whose title names something else than its action does, is
 * `tampered`, and its title is replaced by one made from the action.
 * LIMIT: risk facts, reason and claim are outside the digest; they come from the store as they are and are labelled by who says so.
 */
export function reviewCard(record: RequestRecord, options: CardOptions): ReviewCard {
  const described = options.describe?.(record.action);
  const titleFits = options.describe ? described?.title === record.title : namesEveryTarget(record);
  const tampered = !isIntact(record) || !titleFits;
  const title = tampered ? titleFromAction(record.action) : record.title;
  const card = {
    id: record.id,
    title: `${showPlainly(title, 160)}?`,
    detail: detailOf(record, options.now, tampered),
    tampered,
    waits: waitState(record.wait, options.now).waits,
  };
  const impact = worse(record.impact, described?.impact ?? 'none');
  return mustBeTyped(impact, options.level) ? { ...card, typeToConfirm: `${nameToType(record.action)} ${randomCode()}` } : card;
}

/** Whether the record is what its digest says. */
export function isIntact(record: Pick<RequestRecord, 'action' | 'digest' | 'agent'>): boolean {
  try {
    return digestOf(record.action) === record.digest && record.action.agentId === record.agent.id;
  } catch {
    // No canonical form, so no digest was ever made of it.
    return false;
  }
}

function detailOf(record: RequestRecord, now: number, tampered: boolean): string {
  return [
    ...(tampered ? ['WARNING: this request was changed after it was made. It cannot be approved.', ''] : []),
    ...stakeLines(record),
    ...reportLines(record),
    '',
    ...actionLines(record),
    '',
    ...askerLines(record),
    ...waitLines(record, now),
    stateLine(record, now),
  ].join('\n');
}

/** What happens if it runs: that is what a person decides about. */
function stakeLines(record: RequestRecord): readonly string[] {
  const shown = record.risk.slice(0, maxFacts);
  return [
    `It ${impactInWords[record.impact]}.`,
    ...shown.map((fact) => `- ${showPlainly(fact)}`),
    ...moreLine(record.risk.length - shown.length, 'facts'),
    // That a red tool asks says nothing about this call.
    ...(record.code === 'confirmation_required' ? [] : [`Why it asks: ${showPlainly(record.reason)}`]),
  ];
}

function actionLines(record: RequestRecord): readonly string[] {
  const { action } = record;
  const targets = action.targets.map((target) => showPlainly(describe(target)));
  const shown = targets.slice(0, maxFacts);
  const where = action.cluster === null ? '' : `, cluster ${showPlainly(action.cluster, 100)}`;
  return [
    ...shown.map((target) => `Target: ${target}${where}`),
    ...moreLine(targets.length - shown.length, 'targets'),
    ...(action.workspace === undefined ? [] : [`Workspace: ${showPlainly(action.workspace)}`]),
    argumentsLine(action.tool, action.arguments),
  ];
}

function argumentsLine(tool: string, values: JsonObject): string {
  const text = showPlainly(canonicalJsonOrNothing(values), maxArguments);
  const whole = text.length <= maxArguments;
  return `Call${whole ? '' : ' (NOT SHOWN IN FULL: read the rest before you approve)'}: ${showPlainly(tool, 100)} ${text}`;
}

/** The pattern is for people, and this is where they read it. It is outside the digest: what a store's writer made of it proves nothing. */
function reportLines({ reported }: RequestRecord): readonly string[] {
  if (reported === undefined) return [];
  const { reason, destination, pattern } = reported;
  return [
    `Reported: ${reason} at ${showPlainly(destination)}`,
    ...(pattern === undefined ? [] : [`The detector matched: ${showPlainly(pattern, 500)}`]),
  ];
}

function moreLine(count: number, what: string): readonly string[] {
  return count > 0 ? [`(and ${count} more ${what}, not shown)`] : [];
}

function askerLines(record: RequestRecord): readonly string[] {
  const { agent } = record;
  const model = agent.model === undefined ? '' : `, model ${showPlainly(agent.model, 80)}`;
  const label = agent.label === undefined ? '' : `, calls itself "${showPlainly(agent.label, 80)}"`;
  return [
    `Asked by ${showPlainly(agent.id, 100)} through ${agent.host}${model}${label}`,
    ...(record.claim === undefined ? [] : [`It claims (nobody checked this): "${showPlainly(record.claim, 500)}"`]),
  ];
}

/** An answer is heard by a call that waits; without one, an approval alone starts nothing. */
function waitLines(record: RequestRecord, now: number): readonly string[] {
  if (record.status !== 'pending' || record.reported !== undefined) return [];
  const state = waitState(record.wait, now);
  if (state.waits) return ['', `The call waits for your answer until ${clockTime(state.until, now)}.`];
  const nobody =
    state.since === undefined ? 'No call waits for the answer.' : `No call has waited for the answer since ${clockTime(state.since, now)}.`;
  return ['', `${nobody} Approved once, the agent may run it within five minutes, when it asks again.`];
}

function stateLine(record: RequestRecord, now: number): string {
  if (record.status === 'expired') return `Request ${record.id} has expired: ${expiryInWords(record, now)}`;
  if (record.status !== 'pending') return `Request ${record.id}: ${endInWords(record)}`;
  return `Request ${record.id} can be answered for ${durationInWords(record.expiresAt - now)}.`;
}

function describe(target: JsonObject): string {
  const known: readonly unknown[] = ['guest', 'node', 'service', 'command', 'path', 'destination'];
  return known.includes(target.kind) ? describeTarget(target as unknown as Target) : canonicalJsonOrNothing(target);
}

function canonicalJsonOrNothing(value: JsonObject): string {
  try {
    return canonicalJson(value);
  } catch {
    return '(unreadable)';
  }
}

function titleFromAction(action: EffectiveAction): string {
  return [action.tool, ...action.targets.slice(0, 2).map(describe)].join(': ');
}

/** Weaker than `describe`: the title must at least hold the name of whatever the action touches. */
function namesEveryTarget(record: RequestRecord): boolean {
  const words = new Set(record.title.split(/[^\p{L}\p{N}._@:-]+/u));
  return record.action.targets.every((target) => {
    const name = targetName(target);
    return name === undefined || words.has(name) || words.has(name.replace(/\.service$/, ''));
  });
}

/** What identifies a target; undefined for kinds that have no short name, and for a forged value of another type. */
function targetName(target: JsonObject | undefined): string | undefined {
  const field = nameFields.get(target?.kind);
  const value = field === undefined ? undefined : target?.[field];
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
}

function worse(a: Impact, b: Impact): Impact {
  return impacts.indexOf(a) >= impacts.indexOf(b) ? a : b;
}

function mustBeTyped(impact: Impact, level: SecurityLevel | undefined): boolean {
  return impact === 'irreversible' || (impact === 'disruptive' && level === 'strict');
}

/** A guest's name where it is plain enough to type, else whatever identifies the target. */
function nameToType(action: EffectiveAction): string {
  const [target] = action.targets;
  const name = target?.kind === 'guest' ? target.name : undefined;
  return typeof name === 'string' && /^[\w.-]{1,63}$/.test(name) ? name : showPlainly(targetName(target) ?? action.tool, 63);
}

function randomCode(): string {
  return Array.from({ length: 4 }, () => codeAlphabet[randomInt(codeAlphabet.length)]).join('');
}
