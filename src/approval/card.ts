/** What a person reads before they decide. Built from the stored record alone; plain text for a native dialog. */

import { randomInt } from 'node:crypto';
import { type ApprovalProgress, type CardSection, cardText, type ReviewCard } from '#kernel/approval/answer';
import { type EffectiveAction, type RequestRecord, waitState } from '#kernel/approval/request';
import { endInWords, expiryInWords } from '#kernel/approval/request-end';
import type { ApprovalSource } from '#kernel/approval/security';
import { applyHeldTool } from '#kernel/effects';
import { type Inverse, inverseWords } from '#kernel/guest-condition';
import { canonicalJson, isJsonObject, type JsonObject } from '#kernel/json';
import { applyPlanTool, endOf, foretoldWords, type Plan, type PlanStep } from '#kernel/plans/plan';
import { describeTarget, isTargetKind, type Target } from '#kernel/resource';
import { changeLines, changesIn, heldLinesOnCard } from '#kernel/text/shown-change';
import { clockTime, durationInWords, showPlainly } from '#kernel/text/text';
import { type ActionTier, type Impact, impactInWords, impacts, type SecurityLevel } from '#kernel/tiers';
import { digestOf } from './digest.ts';

export interface Stakes {
  readonly tier: ActionTier;
  readonly impact: Impact;
}

/** What the catalog says of an action, recomputed from the action; undefined for a tool it does not know. */
export type DescribeAction = (action: EffectiveAction) => ({ readonly title: string } & Stakes) | undefined;

interface CardOptions {
  /** ms since the epoch. */
  readonly now: number;
  /** `strict`: disruptive actions have to be typed, too. Default `balanced`. */
  readonly level?: SecurityLevel;
  /** Where it is shown: that names the way back, and who applies. */
  readonly via: ApprovalSource;
  /** Absent: the title is only checked for naming every target. */
  readonly describe?: DescribeAction | undefined;
  /** Absent: one person's approval is enough. */
  readonly progress?: ApprovalProgress;
}

const onePerson: ApprovalProgress = { needed: 1, people: [], outside: false };

const nameFields: ReadonlyMap<unknown, string> = new Map([
  ['guest', 'vmid'],
  ['node', 'node'],
  ['service', 'service'],
]);
/** More would push who asks, and whether anybody waits, out of the dialog. */
const maxArguments = 600;
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
  const { needed, people, outside } = options.progress ?? onePerson;
  const title = tampered ? titleFromAction(record.action) : record.title;
  const sections = sectionsOf(record, options, tampered);
  const card = {
    id: record.id,
    record,
    title: `${showPlainly(title, 160)}?`,
    detail: cardText(sections),
    sections,
    progress: { needed, people, outside },
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

function sectionsOf(record: RequestRecord, { now, via, progress = onePerson }: CardOptions, tampered: boolean): readonly CardSection[] {
  const sections: readonly CardSection[] = [
    { kind: 'warning', lines: tampered ? ['WARNING: this request was changed after it was made. It cannot be approved.'] : [] },
    { kind: 'effect', lines: stakeLines(record, via) },
    { kind: 'report', lines: reportLines(record) },
    { kind: 'changes', lines: heldLines(record.action) },
    { kind: 'plan', lines: planLines(record.action) },
    { kind: 'call', lines: actionLines(record) },
    { kind: 'asker', lines: askerLines(record) },
    { kind: 'rules', lines: ruleLines(record, progress) },
    { kind: 'wait', lines: waitLines(record, now, via) },
    { kind: 'state', lines: [stateLine(record, now)] },
  ];
  return sections.filter(({ lines }) => lines.length > 0);
}

function ruleLines(record: RequestRecord, { needed, people, outside }: ApprovalProgress): readonly string[] {
  if (record.reported !== undefined) return [];
  const names = people.length === 0 ? '' : `: ${people.map((person) => showPlainly(person, 60)).join(', ')}`;
  return [
    ...(needed > 1 ? [`${needed} people have to approve it; so far ${people.length} of ${needed}${names}.`] : []),
    ...(outside
      ? [
          'It counts only when approved on a display outside the agents’ account (a phone, or another user’s browser): one inside it can be made to show another card.',
        ]
      : []),
    ...(record.grants ?? []).map(
      ({ payload }) =>
        `Approved by ${showPlainly(payload.approver, 100)} ${payload.display === 'outside' ? 'outside the account' : 'in the account'}.`,
    ),
  ];
}

/** What happens if it runs: that is what a person decides about. */
function stakeLines(record: RequestRecord, via: ApprovalSource): readonly string[] {
  const shown = record.risk.slice(0, maxFacts);
  return [
    `It ${impactInWords[record.impact]}${wayBack(record, via)}.`,
    ...shown.map((fact) => `Note: ${showPlainly(fact)}`),
    ...moreLine(record.risk.length - shown.length, 'facts'),
    // That a red tool asks says nothing about this call.
    ...(record.code === 'confirmation_required' ? [] : [`Why it asks: ${showPlainly(record.reason)}`]),
  ];
}

function wayBack({ action, impact }: RequestRecord, via: ApprovalSource): string {
  if (action.tool !== applyHeldTool || impact !== 'reversible') return '';
  return via === 'editor' ? ': “Banksman: Undo This Run…”' : ': banksman runs undo';
}

function actionLines(record: RequestRecord): readonly string[] {
  const { action } = record;
  if (planLines(action).length > 0) return [];
  const ofHeld = isPlainlyHeld(action);
  const targets = ofHeld ? [] : action.targets.map((target) => showPlainly(describe(target)));
  const shown = targets.slice(0, maxFacts);
  const where = action.cluster === null ? '' : `, cluster ${showPlainly(action.cluster, 100)}`;
  return [
    ...shown.map((target) => `Target: ${target}${where}`),
    ...moreLine(targets.length - shown.length, 'targets'),
    ...(action.workspace === undefined ? [] : [`Workspace: ${showPlainly(action.workspace)}`]),
    ...(ofHeld ? [] : [argumentsLine(action.tool, action.arguments)]),
  ];
}

/** The changes stand above, and the rest is a name that says nothing to a person. SECURITY: anything beside that name is shown. */
function isPlainlyHeld({ tool, cluster, targets, arguments: values }: EffectiveAction): boolean {
  const [target, ...others] = targets;
  if (tool !== applyHeldTool || target?.kind !== 'held' || others.length > 0 || cluster !== null) return false;
  return changesIn(targets).length > 0 && Object.keys(values).join() === 'held' && values['held'] === target.id;
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

/** What is held, with its differences: each in the digest, so that it is what is applied. Every line escaped; other actions: none. */
function heldLines({ targets }: Pick<EffectiveAction, 'targets'>): readonly string[] {
  const lines = changesIn(targets).flatMap(changeLines);
  if (lines.length === 0) return [];
  const rest = targets.reduce((sum, { more }) => sum + (typeof more === 'number' ? more : 0), 0);
  const hidden = lines.length - heldLinesOnCard;
  const shown =
    hidden > 0
      ? [...lines.slice(0, heldLinesOnCard), `(and ${hidden} more lines, NOT SHOWN HERE: read the rest before you approve)`]
      : lines;
  return [...shown, ...moreLine(rest, 'changes')];
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

/** At a terminal. A window knows whether it can apply them, and says so below the card. */
const appliedWords =
  'Approved here, it is applied at once where this workspace is on this machine; else by a process that has it open there, within five minutes or not at all.';

/** An answer is heard by a call that waits; without one, an approval alone starts nothing. */
function waitLines(record: RequestRecord, now: number, via: ApprovalSource): readonly string[] {
  if (record.status !== 'pending' || record.reported !== undefined) return [];
  const state = waitState(record.wait, now);
  if (state.waits) return [`The call waits for your answer until ${clockTime(state.until, now)}.`];
  if (record.action.tool === applyHeldTool) return via === 'editor' ? [] : [appliedWords];
  const nobody =
    state.since === undefined ? 'No call waits for the answer.' : `No call has waited for the answer since ${clockTime(state.since, now)}.`;
  return [`${nobody} Approved once, the agent may run it within five minutes, when it asks again.`];
}

function stateLine(record: RequestRecord, now: number): string {
  if (record.status === 'expired') return `Request ${record.id} has expired: ${expiryInWords(record, now)}`;
  if (record.status !== 'pending') return `Request ${record.id}: ${endInWords(record)}`;
  return `Request ${record.id} can be answered for ${durationInWords(record.expiresAt - now)}.`;
}

function describe(target: JsonObject): string {
  return isTargetKind(target.kind) ? describeTarget(target as unknown as Target) : canonicalJsonOrNothing(target);
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

export function worse(a: Impact, b: Impact): Impact {
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

// A plan as a person reads it: every step with its exact arguments, what comes back and what not, and how it ends. All of it is in the digest.
const maxStepArguments = 400;
const known: ReadonlySet<string> = new Set(['cluster', 'steps', 'touches', 'blast', 'unknown', 'undoes']);

/** None for any other action. SECURITY: a store's writer can put anything there; what is not a plan in every part is shown as the call that it is. */
function planLines(action: Pick<EffectiveAction, 'tool' | 'arguments'>): readonly string[] {
  if (action.tool !== applyPlanTool || !isPlan(action.arguments)) return [];
  const { cluster, steps, blast, unknown } = action.arguments as unknown as Plan;
  const list = (label: string, lines: readonly string[]) => lines.map((line) => `${label}: ${showPlainly(line, 300)}`);
  return [
    `On cluster ${showPlainly(cluster, 100)}, one after the other; it stops at the first step that fails or whose guest is not as foretold:`,
    ...steps.flatMap((step, index) => stepLines(step, index + 1)),
    ...list('To know', blast),
    ...list('Afterwards', endOf(steps).map(foretoldWords)),
    ...list('Not foretold', unknown),
  ];
}

function stepLines({ tool, input, title, impact, undo, wait_seconds: waits }: PlanStep, number: number): readonly string[] {
  const { cluster: _shown, ...own } = input;
  const text = showPlainly(canonicalJson(own), maxStepArguments);
  const whole = text.length <= maxStepArguments ? '' : ' (NOT SHOWN IN FULL: read the rest before you approve)';
  const pause = waits === undefined ? '' : `, ${waits} s after the step before`;
  return [
    `${number}. ${showPlainly(title, 200)}${pause}`,
    `   ${showPlainly(tool, 60)} ${text}${whole}`,
    `   ${effectWords(impact as Impact, undo)}`,
  ];
}

/** That it can be undone, or not, says the way back. */
function effectWords(impact: Impact, undo: Inverse): string {
  const back = showPlainly(inverseWords(undo), 300);
  return impact === 'disruptive' ? `It ${impactInWords[impact]}; it ${back}` : `It ${back}`;
}

function isPlan(values: JsonObject): boolean {
  const { cluster, steps, blast, unknown } = values;
  const texts = (list: unknown) => Array.isArray(list) && list.every((item) => typeof item === 'string');
  if (typeof cluster !== 'string' || !texts(blast) || !texts(unknown) || !Object.keys(values).every((key) => known.has(key))) return false;
  return Array.isArray(steps) && steps.every((step) => isJsonObject(step) && isStep(step));
}

function isStep({ tool, input, title, impact, undo, after, wait_seconds: waits }: JsonObject): boolean {
  const isCall = typeof tool === 'string' && typeof title === 'string' && isJsonObject(input);
  const pauses = waits === undefined || typeof waits === 'number';
  return isCall && pauses && impacts.includes(impact as Impact) && isUndo(undo) && Array.isArray(after) && after.every(isGuest);
}

function isUndo(undo: unknown): boolean {
  return isJsonObject(undo) && (typeof undo['none'] === 'string' || typeof undo['tool'] === 'string');
}

function isGuest(guest: unknown): boolean {
  if (!isJsonObject(guest) || typeof guest['vmid'] !== 'number') return false;
  const { snapshots } = guest;
  return snapshots === undefined || (Array.isArray(snapshots) && snapshots.every((name) => typeof name === 'string'));
}
