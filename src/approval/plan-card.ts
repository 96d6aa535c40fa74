/** A plan as a person reads it: every step with its exact arguments, what comes back and what not, and how it ends. All of it is in the digest. */

import type { EffectiveAction } from '#kernel/approval/request';
import { type Inverse, inverseWords } from '#kernel/guest-condition';
import { canonicalJson, isJsonObject, type JsonObject } from '#kernel/json';
import { applyPlanTool, endOf, foretoldWords, type Plan, type PlanStep } from '#kernel/plans/plan';
import { showPlainly } from '#kernel/text/text';
import { type Impact, impactInWords, impacts } from '#kernel/tiers';

const maxArguments = 400;
const known: ReadonlySet<string> = new Set(['cluster', 'steps', 'touches', 'blast', 'unknown', 'undoes']);

/** None for any other action. SECURITY: a store's writer can put anything there; what is not a plan in every part is shown as the call that it is. */
export function planLines(action: Pick<EffectiveAction, 'tool' | 'arguments'>): readonly string[] {
  if (action.tool !== applyPlanTool || !isPlan(action.arguments)) return [];
  const { cluster, steps, blast, unknown } = action.arguments as unknown as Plan;
  const list = (label: string, lines: readonly string[]) => lines.map((line) => `${label}: ${showPlainly(line, 300)}`);
  return [
    `On cluster ${showPlainly(cluster, 100)}, one after the other; it stops at the first step that fails or whose guest is not as foretold:`,
    ...steps.flatMap((step, index) => stepLines(step, index + 1)),
    ...list('Takes along', blast),
    ...list('Afterwards', endOf(steps).map(foretoldWords)),
    ...list('Not foretold', unknown),
  ];
}

function stepLines({ tool, input, title, impact, undo, wait_seconds: waits }: PlanStep, number: number): readonly string[] {
  const { cluster: _shown, ...own } = input;
  const text = showPlainly(canonicalJson(own), maxArguments);
  const whole = text.length <= maxArguments ? '' : ' (NOT SHOWN IN FULL: read the rest before you approve)';
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
