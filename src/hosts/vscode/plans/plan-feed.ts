/** Plans under way, step by step: looked at often while there are any, and told about when one ends. */
import type { App } from '#kernel/app';
import type { JsonObject } from '#kernel/json';
import { type PlanProgress, planIn } from '#kernel/plans/plan-progress';
import type { AppSession } from '../app-session.ts';
import { Rereader } from '../approvals-view/rereader.ts';
import { type StepRow, stepRows } from './step-rows.ts';

/** Steps are records in the trail, of which nobody is told. In ms. */
const looksMs = { running: 1_500, idle: 30_000 } as const;

export interface PlanUnderWay {
  readonly progress: PlanProgress;
  readonly steps: readonly StepRow[];
}

interface PlanFeedOptions {
  readonly session: AppSession;
  onError(error: unknown): void;
  /** One that this window saw running has ended. */
  onEnd(plan: PlanProgress): void;
}

export class PlanFeed {
  readonly #options: PlanFeedOptions;
  readonly #listeners = new Set<() => void>();
  readonly #rereader: Rereader;
  #plans: readonly PlanUnderWay[] = [];

  constructor(options: PlanFeedOptions) {
    const { session, onError } = options;
    this.#options = options;
    this.#rereader = new Rereader({
      ...{ session, onError },
      everyMs: () => (this.#plans.length > 0 ? looksMs.running : looksMs.idle),
      follow: (app, changed) => app.approvals.onChange(changed),
      read: async (app) => this.#publish(app === undefined ? [] : await underWay(app), app),
    });
  }

  /** Newest first. */
  get plans(): readonly PlanUnderWay[] {
    return this.#plans;
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  again(): void {
    this.#rereader.again();
  }

  dispose(): void {
    this.#rereader.dispose();
  }

  async #publish(plans: readonly PlanUnderWay[], app: App | undefined): Promise<void> {
    const gone = this.#plans.filter(({ progress }) => !plans.some((plan) => plan.progress.id === progress.id));
    this.#plans = plans;
    for (const listener of [...this.#listeners]) listener();
    for (const { progress } of gone) {
      const ended = await app?.plans.get(progress.id);
      if (ended?.standing === 'done' || ended?.standing === 'stopped') this.#options.onEnd(ended);
    }
  }
}

async function underWay({ plans, approvals }: App): Promise<readonly PlanUnderWay[]> {
  const running = await plans.underWay();
  return Promise.all(
    running.map(async (progress) => {
      const record = await approvals.get(progress.id);
      const plan = (record && planIn(record)) ?? { steps: [] };
      return { progress, steps: stepRows(plan as unknown as JsonObject, progress) };
    }),
  );
}
