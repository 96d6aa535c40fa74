/** The steps of a plan as rows: what each does and waits for, how it stands, and what can be undone. */
import { inverseWords } from '#kernel/guest-condition';
import { canonicalJson, isJsonObject, type JsonObject, textOf } from '#kernel/json';
import type { PlanProgress, StepProgress, StepState } from '#kernel/plans/plan-progress';
import { showPlainly } from '#kernel/text/text';
import { inWords, t } from '../l10n.ts';

export interface StepRow {
  /** From 1. */
  readonly number: number;
  readonly label: string;
  /** `restart_vm · 10 s later`, `done`, `not run: its node changed`. */
  readonly description: string;
  /** Plain text. */
  readonly tooltip: string;
  readonly spoken: string;
  readonly icon: string;
  readonly iconColor?: string;
}

export type StepWord = 'waits' | 'to-come' | 'running' | 'done' | 'failed' | 'not-run' | 'not-known';

const looks: Readonly<Record<StepWord, Pick<StepRow, 'icon' | 'iconColor'>>> = {
  waits: { icon: 'circle-outline' },
  'to-come': { icon: 'circle-outline' },
  running: { icon: 'sync~spin', iconColor: 'charts.blue' },
  done: { icon: 'pass', iconColor: 'charts.green' },
  failed: { icon: 'error', iconColor: 'list.errorForeground' },
  'not-run': { icon: 'circle-slash', iconColor: 'list.warningForeground' },
  'not-known': { icon: 'question', iconColor: 'list.errorForeground' },
};

/** For people. */
export const stepNames: Readonly<Record<StepWord, string>> = {
  waits: t('waits'),
  'to-come': t('to come'),
  running: t('running'),
  done: t('done'),
  failed: t('failed'),
  'not-run': t('not run'),
  'not-known': t('not known'),
};

export const standingNames: Readonly<Record<PlanProgress['standing'], string>> = {
  waiting: t('waiting'),
  approved: t('approved'),
  running: t('running'),
  paused: t('paused'),
  stopped: t('stopped'),
  done: t('done'),
  over: t('over'),
};

const words: Readonly<Record<StepState, StepWord>> = {
  not_done: 'to-come',
  running: 'running',
  done: 'done',
  failed: 'failed',
  refused: 'not-run',
  unknown: 'not-known',
};

/** How a step stands, in a word; `waits`: nobody has approved the plan. */
export function stepWord({ state }: Pick<StepProgress, 'state'>, { standing }: Pick<PlanProgress, 'standing'>): StepWord {
  if (standing === 'waiting') return 'waits';
  return state === 'not_done' && (standing === 'stopped' || standing === 'over') ? 'not-run' : words[state];
}

/** SECURITY: a store's writer can put anything into a request: what is no step in every part that is shown is left out of it. */
export interface ShownStep {
  readonly title: string;
  readonly tool: string;
  /** Its arguments as one line. */
  readonly call: string;
  /** `after step 1 has ended, and 10 s more`. */
  readonly waitsFor: string;
  readonly waitSeconds?: number;
  /** `can be taken back by …`, `cannot be taken back: …`. */
  readonly undo: string;
}

const longestCall = 2_000;

/** @param plan the arguments of the plan's request */
export function shownSteps({ steps }: JsonObject): readonly ShownStep[] {
  if (!Array.isArray(steps)) return [];
  return steps.map((step, index) => shownStep(isJsonObject(step) ? step : {}, index));
}

function shownStep({ title, tool, input, undo, wait_seconds: seconds }: JsonObject, index: number): ShownStep {
  const more = typeof seconds === 'number' ? seconds : undefined;
  const before = index === 0 ? '' : t('after step {0} has ended', index);
  const pause = more === undefined ? '' : before === '' ? t('{0} s more', more) : t(', and {0} s more', more);
  return {
    title: showPlainly(textOf(title) ?? '?', 200),
    tool: showPlainly(textOf(tool) ?? '?', 60),
    call: showPlainly(isJsonObject(input) ? canonicalJson({ ...input, cluster: undefined }) : '', longestCall),
    waitsFor: before + pause,
    ...(more === undefined ? {} : { waitSeconds: more }),
    undo: showPlainly(undoIn(undo), 300),
  };
}

function undoIn(undo: unknown): string {
  if (!isJsonObject(undo)) return t('nothing says whether it can be taken back');
  const none = textOf(undo['none']);
  if (none !== undefined) return inWords(inverseWords({ none }));
  const loses = textOf(undo['loses']);
  return inWords(inverseWords({ tool: textOf(undo['tool']) ?? '?', input: {}, ...(loses === undefined ? {} : { loses }) }));
}

/** @param progress absent: it waits for a person */
export function stepRows(plan: JsonObject, progress: PlanProgress | undefined): readonly StepRow[] {
  return shownSteps(plan).map((step, index) => {
    const now = progress?.steps[index];
    const word = progress === undefined || now === undefined ? 'waits' : stepWord(now, progress);
    return stepRow(step, { number: index + 1, word, why: word === 'done' ? undefined : now?.message });
  });
}

interface Standing {
  readonly number: number;
  readonly word: StepWord;
  readonly why: string | undefined;
}

function stepRow({ title, tool, call, waitsFor, waitSeconds, undo }: ShownStep, { number, word, why }: Standing): StepRow {
  const later = waitSeconds === undefined ? '' : ` · ${t('{0} s later', waitSeconds)}`;
  const state = word === 'waits' ? '' : `${stepNames[word]}${why === undefined ? '' : `: ${showPlainly(why, 300)}`}`;
  const facts = [`${number}. ${title}`, `${tool} ${call}`, waitsFor === '' ? '' : t('Begins {0}.', waitsFor), t('It {0}.', undo), state];
  return {
    number,
    label: `${number}. ${title}`,
    description: state === '' ? `${tool}${later}` : `${state} · ${tool}`,
    tooltip: facts.filter((fact) => fact !== '').join('\n'),
    spoken: t('Step {0}: {1}, {2}', number, title, state === '' ? `${tool}${waitsFor === '' ? '' : `, ${waitsFor}`}` : state),
    ...looks[word],
  };
}
