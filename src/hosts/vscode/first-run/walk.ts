/** Questions in a row: each can be gone back from, and left. */

/** The answer; `back`; undefined: the person left, and nothing of it counts. */
export type Went<T> = { readonly value: T } | 'back' | undefined;

/** Where a question stands in its row. */
export interface Frame {
  readonly title: string;
  readonly step: number;
  readonly totalSteps: number;
}

export interface Step<Draft> {
  /** Absent: always. */
  isDue?(draft: Draft): boolean;
  /** What it asks belongs to the step before it: who goes back passes it over. */
  readonly belongsBefore?: true;
  ask(draft: Draft, frame: Frame): Promise<Went<Draft>>;
}

/** What was answered in all; undefined: the person left. */
export async function walk<Draft>(title: string, steps: readonly Step<Draft>[], start: Draft): Promise<Draft | undefined> {
  let draft = start;
  let way: 1 | -1 = 1;
  let at = 0;
  for (let step = steps[0]; step !== undefined; step = steps[at]) {
    if (isDue(step, draft, way)) {
      const went = await step.ask(draft, { title, step: at + 1, totalSteps: steps.length });
      if (went === undefined) return undefined;
      way = went === 'back' ? -1 : 1;
      if (went !== 'back') draft = went.value;
    }
    // From the first there is no way back.
    if (at + way < 0) way = 1;
    else at += way;
  }
  return draft;
}

function isDue<Draft>({ isDue: due, belongsBefore }: Step<Draft>, draft: Draft, way: 1 | -1): boolean {
  if (way < 0 && belongsBefore === true) return false;
  return due === undefined || due(draft);
}
