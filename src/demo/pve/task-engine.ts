/**
 * Tasks as state machines. A plan is a generator: it yields how long it waits and throws `TaskError` to fail. Nothing here owns a
 * timer: `advance` runs what is due by the clock, and everything that reads the cluster calls it first. So a test with a manual clock
 * decides when time passes, and a demo that nobody looks at does nothing.
 */
import type { TaskSeed } from './state.ts';
import { decodeUpid, encodeUpid, type Upid } from './upid.ts';

/** How a task fails; the message becomes `TASK ERROR: …` and the exit status. */
export class TaskError extends Error {}

/** Thrown into a plan when somebody stops the task (SIGTERM to the worker). */
export class TaskInterrupted extends TaskError {
  constructor() {
    super('received interrupt');
  }
}

/** What a plan may use while it runs. */
export interface TaskContext {
  log(line: string): void;
  /** The instant of this step, in ms: also right when `advance` catches up on a longer time. */
  now(): number;
}

/** Yields milliseconds to wait; returns how many warnings it gave (nothing: none). */
// biome-ignore lint/suspicious/noConfusingVoidType: a generator that falls off its end returns void
export type TaskSteps = Generator<number, number | void, undefined>;
export type TaskPlan = (task: TaskContext) => TaskSteps;

export interface TaskRecord extends Upid {
  readonly upid: string;
  readonly log: string[];
  /** Undefined while it runs: `OK`, `WARNINGS: n`, `unexpected status` or the error text. */
  exitstatus: string | undefined;
  /** Seconds since the epoch. */
  endtime: number | undefined;
}

export interface TaskStart {
  readonly node: string;
  readonly type: string;
  readonly id: string;
  readonly user: string;
}

interface Live {
  readonly record: TaskRecord | undefined;
  readonly steps: TaskSteps;
  due: number;
}

/** May replace what a new task does; undefined leaves it. */
export type PlanFilter = (start: TaskStart, plan: TaskPlan) => TaskPlan | undefined;

export class TaskEngine {
  private readonly clock: DemoClock;
  private readonly bootedAt: (node: string) => number;
  private readonly records = new Map<string, TaskRecord>();
  private live: Live[] = [];
  private nextPid = 0x4d2;
  private cursor: number;
  private advancing = false;
  private readonly filter: PlanFilter;

  constructor(clock: DemoClock, bootedAt: (node: string) => number, filter: PlanFilter) {
    this.clock = clock;
    this.bootedAt = bootedAt;
    this.filter = filter;
    this.cursor = clock.now();
  }

  /** Starts a worker and returns its UPID. What needs no time has happened when this returns. */
  start(start: TaskStart, plan: TaskPlan): string {
    const record = this.addRecord(start, this.stepTime());
    const context: TaskContext = { log: (line) => record.log.push(line), now: () => this.cursor };
    this.enlist(record, (this.filter(start, plan) ?? plan)(context));
    return record.upid;
  }

  /** Runs something later that is no task of its own (a guest that comes back, a node that boots). */
  background(plan: () => TaskSteps): void {
    this.enlist(undefined, plan());
  }

  /** Does everything that is due, in the order of time. */
  advance(): void {
    const now = this.clock.now();
    this.advancing = true;
    try {
      for (let next = this.nextDue(now); next !== undefined; next = this.nextDue(now)) {
        this.cursor = Math.max(this.cursor, next.due);
        this.step(next);
      }
    } finally {
      this.advancing = false;
    }
    this.cursor = Math.max(this.cursor, now);
  }

  /** Sends SIGTERM to a worker, and SIGKILL when it goes on. @returns whether it was running */
  interrupt(upid: string): boolean {
    const live = this.live.find((one) => one.record?.upid === upid);
    if (live?.record === undefined) return false;
    this.settle(live, () => live.steps.throw(new TaskInterrupted()));
    if (live.record.exitstatus === undefined) this.end(live, 'unexpected status');
    return true;
  }

  find(upid: string): TaskRecord | undefined {
    return this.records.get(upid);
  }

  /** All records, the newest start first. */
  list(): TaskRecord[] {
    return [...this.records.values()].reverse();
  }

  /** Adds a task that ended before the demo started. */
  addFinished(seed: TaskSeed): void {
    const startedAt = this.clock.now() - seed.startedSecondsAgo * 1000;
    const record = this.addRecord(seed, startedAt);
    record.exitstatus = seed.status;
    record.endtime = record.starttime + seed.seconds;
    record.log.push(...(seed.log ?? []), lastLine(seed.status));
  }

  /** Takes over a task under its own UPID. @param status of a finished one; undefined: it runs until it is stopped */
  adopt(upid: string, status: string | undefined, log: readonly string[]): void {
    const facts = decodeUpid(upid);
    if (facts === undefined) return;
    const endtime = status === undefined ? undefined : facts.starttime + 1;
    const record: TaskRecord = { ...facts, upid, log: [...log], exitstatus: status, endtime };
    this.records.set(upid, record);
    if (status === undefined) this.enlist(record, forEver());
  }

  /** A task that another one starts begins in that one's time, which may lie behind the clock. */
  private stepTime(): number {
    return this.advancing ? this.cursor : Math.max(this.cursor, this.clock.now());
  }

  private addRecord(start: TaskStart, at: number): TaskRecord {
    const pid = this.nextPid;
    this.nextPid += 13;
    const pstart = Math.max(0, Math.floor((at - this.bootedAt(start.node)) / 10));
    const { node, type, id, user } = start;
    const facts: Upid = { node, type, id, user, pid, pstart, starttime: Math.floor(at / 1000) };
    const record: TaskRecord = { ...facts, upid: encodeUpid(facts), log: [], exitstatus: undefined, endtime: undefined };
    this.records.set(record.upid, record);
    return record;
  }

  private enlist(record: TaskRecord | undefined, steps: TaskSteps): void {
    const live: Live = { record, steps, due: this.stepTime() };
    this.cursor = live.due;
    this.live.push(live);
    this.step(live);
  }

  private nextDue(now: number): Live | undefined {
    let first: Live | undefined;
    for (const live of this.live) if (live.due <= now && (first === undefined || live.due < first.due)) first = live;
    return first;
  }

  private step(live: Live): void {
    this.settle(live, () => live.steps.next());
  }

  private settle(live: Live, resume: () => IteratorResult<number, unknown>): void {
    try {
      const result = resume();
      // Another step of the same plan may have ended it meanwhile (a task that stops itself by way of `interrupt`).
      if (result.done !== true) live.due = this.cursor + Math.max(1, result.value);
      else this.end(live, typeof result.value === 'number' && result.value > 0 ? `WARNINGS: ${result.value}` : 'OK');
    } catch (thrown) {
      if (!(thrown instanceof TaskError)) throw thrown;
      this.end(live, thrown.message);
    }
  }

  private end(live: Live, status: string): void {
    this.live = this.live.filter((one) => one !== live);
    if (live.record === undefined || live.record.exitstatus !== undefined) return;
    live.record.exitstatus = status;
    live.record.endtime = Math.floor(this.cursor / 1000);
    // A killed worker writes no last line; PVE then reads the log's last line and finds no status in it.
    if (status !== 'unexpected status') live.record.log.push(lastLine(status));
  }
}

function* forEver(): TaskSteps {
  yield Number.POSITIVE_INFINITY;
}

function lastLine(status: string): string {
  if (status === 'OK') return 'TASK OK';
  return status.startsWith('WARNINGS: ') ? `TASK ${status}` : `TASK ERROR: ${status}`;
}

/** The demo's only notion of time: it reads, it never waits. Tasks advance when somebody asks (see `pve/task-engine.ts`). */
export interface DemoClock {
  /** Milliseconds since the epoch. */
  now(): number;
}

export interface ManualClock extends DemoClock {
  /** Moves time forward, by milliseconds. */
  advance(ms: number): void;
}

/** A clock for tests: it stands still until told. */
export function createManualClock(start: number): ManualClock {
  let time = start;
  return {
    now: () => time,
    advance(ms) {
      time += ms;
    },
  };
}

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

/** Faults of tasks: one that never ends, one that fails or warns with a given text. Rules apply to tasks that start after them. */
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
