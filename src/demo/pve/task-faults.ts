/** Faults of tasks: one that never ends, one that fails or warns with a given text. Rules apply to tasks that start after them. */
import { type PlanFilter, TaskError, type TaskPlan, type TaskStart } from './task-engine.ts';

/** Which tasks; absent keys match all. */
export interface TaskMatch {
  /** `qmstart`, `qmstop`, `vzstart`, `srvrestart`, … */
  readonly type?: string;
  readonly node?: string;
  /** The guest or service. */
  readonly id?: string | number;
}

type Effect =
  | { readonly kind: 'never-ends' }
  | { readonly kind: 'fails'; readonly text: string }
  | { readonly kind: 'warns'; readonly lines: readonly string[] };

export class TaskFaults {
  private rules: { readonly match: TaskMatch; readonly effect: Effect }[] = [];
  private readonly delayMs: number;

  constructor(delayMs: number) {
    this.delayMs = delayMs;
  }

  /** Adds a rule; the one added last wins. */
  add(match: TaskMatch, effect: Effect): void {
    this.rules.unshift({ match, effect });
  }

  clear(): void {
    this.rules = [];
  }

  readonly filter: PlanFilter = (start, plan) => {
    const rule = this.rules.find((one) => matches(one.match, start));
    return rule === undefined ? undefined : planFor(rule.effect, plan, this.delayMs);
  };
}

function matches(match: TaskMatch, start: TaskStart): boolean {
  const wanted = { ...match, ...(match.id === undefined ? {} : { id: String(match.id) }) };
  return (['type', 'node', 'id'] as const).every((key) => wanted[key] === undefined || wanted[key] === start[key]);
}

function planFor(effect: Effect, plan: TaskPlan, delayMs: number): TaskPlan {
  if (effect.kind === 'never-ends') {
    return function* () {
      yield Number.POSITIVE_INFINITY;
    };
  }
  if (effect.kind === 'fails') {
    return function* () {
      yield delayMs;
      throw new TaskError(effect.text);
    };
  }
  return function* (task) {
    const warnings = yield* plan(task);
    for (const line of effect.lines) task.log(`WARN: ${line}`);
    return (warnings ?? 0) + effect.lines.length;
  };
}
