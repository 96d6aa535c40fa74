/** What a person reads before they decide. Built from the stored record alone; plain text for a native dialog, each line in the reader's language. */

import { randomInt } from 'node:crypto';
import { type ApprovalProgress, type CardSection, cardText, type ReviewCard, titleQuestion } from '#kernel/approval/answer';
import { type EffectiveAction, type RequestRecord, requestReason, requestRisk, requestTitle, waitState } from '#kernel/approval/request';
import { endInWords, expiryInWords } from '#kernel/approval/request-end';
import type { ApprovalSource } from '#kernel/approval/security';
import { applyHeldTool } from '#kernel/effects';
import { type Inverse, inverseWords } from '#kernel/guest-condition';
import { canonicalJson, isJsonObject, type JsonObject } from '#kernel/json';
import { applyPlanTool, endOf, foretoldWords, type Plan, type PlanStep } from '#kernel/plans/plan';
import { isTargetKind, type Target, targetWords } from '#kernel/resource';
import { asIs, asListed, durationWords, english, joined, type Message, plainly, say, timeOfDay, wordsOf } from '#kernel/text/message';
import { changeLines, changesIn, heldLinesOnCard } from '#kernel/text/shown-change';
import { showPlainly } from '#kernel/text/text';
import { type ActionTier, type Impact, impacts, type SecurityLevel } from '#kernel/tiers';
import { digestOf } from './digest.ts';

export interface Stakes {
  readonly tier: ActionTier;
  readonly impact: Impact;
}

/** What the catalog says of an action, recomputed from the action; undefined for a tool it does not know. */
export type DescribeAction = (action: EffectiveAction) => ({ readonly title: Message } & Stakes) | undefined;

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
  const titleFits = options.describe ? isTitleOf(described, record) : namesEveryTarget(record);
  const tampered = !isIntact(record) || !titleFits;
  const { needed, people, outside } = options.progress ?? onePerson;
  const title = plainly(tampered ? titleFromAction(record.action) : requestTitle(record, described?.title), 160);
  const sections = sectionsOf(record, options, tampered);
  const card = {
    id: record.id,
    record,
    title: english(titleQuestion(title)),
    titleWords: title,
    detail: cardText(sections, english),
    sections,
    progress: { needed, people, outside },
    tampered,
    waits: waitState(record.wait, options.now).waits,
  };
  const impact = worse(record.impact, described?.impact ?? 'none');
  return mustBeTyped(impact, options.level) ? { ...card, typeToConfirm: `${nameToType(record.action)} ${randomCode()}` } : card;
}

function isTitleOf(described: { readonly title: Message } | undefined, { title }: RequestRecord): boolean {
  return described !== undefined && english(described.title) === title;
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

function sectionsOf(
  record: RequestRecord,
  { now, via, describe: catalog, progress = onePerson }: CardOptions,
  tampered: boolean,
): readonly CardSection[] {
  const sections: readonly CardSection[] = [
    { kind: 'warning', lines: tampered ? [say`WARNING: this request was changed after it was made. It cannot be approved.`] : [] },
    { kind: 'effect', lines: stakeLines(record, via) },
    { kind: 'report', lines: reportLines(record) },
    { kind: 'changes', lines: heldLines(record.action) },
    { kind: 'plan', lines: planLines(record.action, catalog) },
    { kind: 'call', lines: actionLines(record) },
    { kind: 'asker', lines: askerLines(record) },
    { kind: 'rules', lines: ruleLines(record, progress) },
    { kind: 'wait', lines: waitLines(record, now, via) },
    { kind: 'state', lines: [stateLine(record, now)] },
  ];
  return sections.filter(({ lines }) => lines.length > 0);
}

function ruleLines(record: RequestRecord, { needed, people, outside }: ApprovalProgress): readonly Message[] {
  if (record.reported !== undefined) return [];
  const names = people.map((person) => showPlainly(person, 60));
  const soFar =
    names.length === 0
      ? say`${needed} people have to approve it; so far 0 of ${needed}.`
      : say`${needed} people have to approve it; so far ${names.length} of ${needed}: ${joined(names)}.`;
  return [
    ...(needed > 1 ? [soFar] : []),
    ...(outside
      ? [
          say`It counts only when approved on a display outside the agents’ account (a phone, or another user’s browser): one inside it can be made to show another card.`,
        ]
      : []),
    ...(record.grants ?? []).map(({ payload: { approver, display } }) => {
      const who = showPlainly(approver, 100);
      return display === 'outside' ? say`Approved by ${who} outside the account.` : say`Approved by ${who} in the account.`;
    }),
  ];
}

/** What happens if it runs: that is what a person decides about. */
function stakeLines(record: RequestRecord, via: ApprovalSource): readonly Message[] {
  const risk = requestRisk(record);
  const shown = risk.slice(0, maxFacts);
  return [
    wayBack(record, via) ?? impactSentences[record.impact],
    ...shown.map((fact) => say`Note: ${plainly(fact)}`),
    ...more(risk.length - shown.length, (count) => say`(and ${count} more facts, not shown)`),
    // That a red tool asks says nothing about this call.
    ...(record.code === 'confirmation_required' ? [] : [say`Why it asks: ${plainly(requestReason(record))}`]),
  ];
}

const impactSentences: Readonly<Record<Impact, Message>> = {
  none: say`It changes nothing.`,
  reversible: say`It can be undone.`,
  disruptive: say`It interrupts what runs there.`,
  irreversible: say`It cannot be undone.`,
};

function wayBack({ action, impact }: RequestRecord, via: ApprovalSource): Message | undefined {
  if (action.tool !== applyHeldTool || impact !== 'reversible') return undefined;
  return via === 'editor' ? say`It can be undone: “Banksman: Undo This Run…”.` : say`It can be undone: banksman runs undo.`;
}

function actionLines(record: RequestRecord): readonly Message[] {
  const { action } = record;
  if (planLines(action).length > 0) return [];
  const ofHeld = isPlainlyHeld(action);
  const targets = ofHeld ? [] : action.targets.map((target) => plainly(describe(target)));
  const shown = targets.slice(0, maxFacts);
  const cluster = action.cluster === null ? undefined : showPlainly(action.cluster, 100);
  return [
    ...shown.map((target) => (cluster === undefined ? say`Target: ${target}` : say`Target: ${target}, cluster ${cluster}`)),
    ...more(targets.length - shown.length, (count) => say`(and ${count} more targets, not shown)`),
    ...(action.workspace === undefined ? [] : [say`Workspace: ${showPlainly(action.workspace)}`]),
    ...(ofHeld ? [] : [argumentsLine(action.tool, action.arguments)]),
  ];
}

/** The changes stand above, and the rest is a name that says nothing to a person. SECURITY: anything beside that name is shown. */
function isPlainlyHeld({ tool, cluster, targets, arguments: values }: EffectiveAction): boolean {
  const [target, ...others] = targets;
  if (tool !== applyHeldTool || target?.kind !== 'held' || others.length > 0 || cluster !== null) return false;
  return changesIn(targets).length > 0 && Object.keys(values).join() === 'held' && values['held'] === target.id;
}

function argumentsLine(tool: string, values: JsonObject): Message {
  const text = showPlainly(canonicalJsonOrNothing(values), maxArguments);
  const name = showPlainly(tool, 100);
  return text.length <= maxArguments
    ? say`Call: ${name} ${text}`
    : say`Call (NOT SHOWN IN FULL: read the rest before you approve): ${name} ${text}`;
}

/** The pattern is for people, and this is where they read it. It is outside the digest: what a store's writer made of it proves nothing. */
function reportLines({ reported }: RequestRecord): readonly Message[] {
  if (reported === undefined) return [];
  const { reason, destination, pattern } = reported;
  return [
    say`Reported: ${reason} at ${showPlainly(destination)}`,
    ...(pattern === undefined ? [] : [say`The detector matched: ${showPlainly(pattern, 500)}`]),
  ];
}

/** What is held, with its differences: each in the digest, so that it is what is applied. Every line escaped; other actions: none. */
function heldLines({ targets }: Pick<EffectiveAction, 'targets'>): readonly Message[] {
  const lines = changesIn(targets).flatMap(changeLines);
  if (lines.length === 0) return [];
  const rest = targets.reduce((sum, { more: others }) => sum + (typeof others === 'number' ? others : 0), 0);
  const hidden = lines.length - heldLinesOnCard;
  const shown =
    hidden > 0
      ? [...lines.slice(0, heldLinesOnCard), say`(and ${hidden} more lines, NOT SHOWN HERE: read the rest before you approve)`]
      : lines;
  return [...shown, ...more(rest, (count) => say`(and ${count} more changes, not shown)`)];
}

function more(count: number, words: (count: number) => Message): readonly Message[] {
  return count > 0 ? [words(count)] : [];
}

function askerLines(record: RequestRecord): readonly Message[] {
  const { agent } = record;
  const who = say`Asked by ${showPlainly(agent.id, 100)} through ${agent.host}`;
  const withModel = agent.model === undefined ? who : say`${who}, model ${showPlainly(agent.model, 80)}`;
  return [
    agent.label === undefined ? withModel : say`${withModel}, calls itself "${showPlainly(agent.label, 80)}"`,
    ...(record.claim === undefined ? [] : [say`It claims (nobody checked this): "${showPlainly(record.claim, 500)}"`]),
  ];
}

/** An answer is heard by a call that waits; without one, an approval alone starts nothing. */
function waitLines(record: RequestRecord, now: number, via: ApprovalSource): readonly Message[] {
  if (record.status !== 'pending' || record.reported !== undefined) return [];
  const state = waitState(record.wait, now);
  if (state.waits) return [say`The call waits for your answer until ${timeOfDay(state.until, now)}.`];
  // A window knows whether it can apply them, and says so below the card.
  if (record.action.tool === applyHeldTool) return via === 'editor' ? [] : [appliedWords()];
  const nobody =
    state.since === undefined
      ? say`No call waits for the answer.`
      : say`No call has waited for the answer since ${timeOfDay(state.since, now)}.`;
  return [say`${nobody} Approved once, the agent may run it within five minutes, when it asks again.`];
}

/** At a terminal. */
function appliedWords(): Message {
  return say`Approved here, it is applied at once where this workspace is on this machine; else by a process that has it open there, within five minutes or not at all.`;
}

function stateLine(record: RequestRecord, now: number): Message {
  if (record.status === 'expired') return say`Request ${record.id} has expired: ${expiryInWords(record, now)}`;
  if (record.status !== 'pending') return say`Request ${record.id}: ${endInWords(record)}`;
  return say`Request ${record.id} can be answered for ${durationWords(record.expiresAt - now)}.`;
}

function describe(target: JsonObject): Message {
  return isTargetKind(target.kind) ? targetWords(target as unknown as Target) : asIs(canonicalJsonOrNothing(target));
}

function canonicalJsonOrNothing(value: JsonObject): string {
  try {
    return canonicalJson(value);
  } catch {
    return '(unreadable)';
  }
}

function titleFromAction(action: EffectiveAction): Message {
  return joined([action.tool, ...action.targets.slice(0, 2).map(describe)], ': ');
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
function planLines(action: EffectiveAction, catalog?: DescribeAction): readonly Message[] {
  if (action.tool !== applyPlanTool || !isPlan(action.arguments)) return [];
  const { cluster, steps, blast, unknown } = action.arguments as unknown as Plan;
  return [
    say`On cluster ${showPlainly(cluster, 100)}, one after the other; it stops at the first step that fails or whose guest is not as foretold:`,
    ...steps.flatMap((step, index) => {
      const described = catalog?.({ ...action, tool: step.tool, arguments: step.input, targets: step.targets })?.title;
      return stepLines(step, index + 1, plainly(wordsOf(step.title, described), 200));
    }),
    ...blast.map((fact) => say`To know: ${plainly(asListed(fact))}`),
    ...endOf(steps).map((guest) => say`Afterwards: ${plainly(foretoldWords(guest))}`),
    ...unknown.map((fact) => say`Not foretold: ${plainly(asListed(fact))}`),
  ];
}

function stepLines({ tool, input, impact, undo, wait_seconds: waits }: PlanStep, number: number, what: Message): readonly Message[] {
  const { cluster: _shown, ...own } = input;
  const text = showPlainly(canonicalJson(own), maxStepArguments);
  const name = showPlainly(tool, 60);
  return [
    waits === undefined ? say`${number}. ${what}` : say`${number}. ${what}, ${waits} s after the step before`,
    text.length <= maxStepArguments
      ? say`   ${name} ${text}`
      : say`   ${name} ${text} (NOT SHOWN IN FULL: read the rest before you approve)`,
    say`   ${effectWords(impact as Impact, undo)}`,
  ];
}

/** That it can be undone, or not, says the way back. */
function effectWords(impact: Impact, undo: Inverse): Message {
  const back = plainly(inverseWords(undo));
  return impact === 'disruptive' ? say`It interrupts what runs there; it ${back}` : say`It ${back}`;
}

function isPlan(values: JsonObject): boolean {
  const { cluster, steps, blast, unknown } = values;
  const texts = (list: unknown) => Array.isArray(list) && list.every((item) => typeof item === 'string');
  if (typeof cluster !== 'string' || !texts(blast) || !texts(unknown) || !Object.keys(values).every((key) => known.has(key))) return false;
  return Array.isArray(steps) && steps.every((step) => isJsonObject(step) && isStep(step));
}

function isStep({ tool, input, title, impact, undo, wait_seconds: waits, ...end }: JsonObject): boolean {
  const isCall = typeof tool === 'string' && typeof title === 'string' && isJsonObject(input);
  const pauses = waits === undefined || typeof waits === 'number';
  return isCall && pauses && impacts.includes(impact as Impact) && isUndo(undo) && isEnd(end);
}

function isEnd({ after, sets = [] }: JsonObject): boolean {
  return Array.isArray(after) && after.every(isGuest) && Array.isArray(sets) && sets.every(isSettings);
}

function isSettings(one: unknown): boolean {
  return isJsonObject(one) && isJsonObject(one['values']) && Object.values(one['values']).every((value) => typeof value === 'string');
}

function isUndo(undo: unknown): boolean {
  if (!isJsonObject(undo)) return false;
  const { none, tool, loses } = undo;
  return 'none' in undo ? typeof none === 'string' : typeof tool === 'string' && (loses === undefined || typeof loses === 'string');
}

function isGuest(guest: unknown): boolean {
  if (!isJsonObject(guest) || typeof guest['vmid'] !== 'number') return false;
  const { snapshots } = guest;
  return snapshots === undefined || (Array.isArray(snapshots) && snapshots.every((name) => typeof name === 'string'));
}
