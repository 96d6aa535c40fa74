/** What a run changed, as a model is told: in a few lines. */
import { applyHeldTool, type ChangeList, type LeftOut, type RunEffects } from '#kernel/effects';
import type { JsonObject } from '#kernel/json';
import { showPlainly } from '#kernel/text/text';

const mostNamed = 40;

function list(name: string, paths: readonly string[]): JsonObject {
  return {
    ...(paths.length === 0 ? {} : { [name]: paths.slice(0, mostNamed).map((path) => showPlainly(path)) }),
    ...(paths.length > mostNamed ? { [`${name}_left_out`]: paths.length - mostNamed } : {}),
  };
}

export function namedPaths({ created, changed, deleted }: ChangeList): JsonObject {
  return { ...list('created', created), ...list('changed', changed), ...list('deleted', deleted) };
}

/** `1 created, 2 deleted`; empty where nothing changed. */
export function changeCounts({ created, changed, deleted }: ChangeList): string {
  const counts = { created, changed, deleted };
  return Object.entries(counts)
    .flatMap(([word, { length }]) => (length === 0 ? [] : [`${length} ${word}`]))
    .join(', ');
}

export function changesOf({ runId, dropped, leftOut, nothingApplied, ...lists }: RunEffects): JsonObject {
  const out = leftOut.map(({ path, reason, why }) => `${showPlainly(path)} (${reason}: ${showPlainly(why)})`);
  return {
    ...(runId === undefined ? {} : { run_id: runId }),
    ...namedPaths(lists),
    ...list('not_applied', out),
    ...(dropped ? { dropped } : {}),
    ...(nothingApplied === undefined ? {} : { nothing_applied: nothingApplied }),
  };
}

/** The rest of a sentence about the run; empty where nothing changed. */
export function effectsWords(effects: RunEffects): string {
  const { leftOut, dropped, nothingApplied } = effects;
  const waits = leftOut.some(isTogether) ? '; nothing of it is applied yet, for the index of git names what is held' : '';
  if (nothingApplied !== undefined) return `; ${nothingApplied}`;
  const counts = changeCounts(effects);
  const done = counts === '' ? '' : `; ${dropped ? 'it may only look, so dropped: ' : ''}${counts}`;
  const [first] = leftOut;
  if (first === undefined) return done;
  const more = leftOut.length === 1 ? '' : ` and ${leftOut.length - 1} more, see \`not_applied\``;
  const refused = first.reason === 'refused' ? 'refused, and nobody is asked: ' : '';
  const rest = effects.runId === undefined ? '' : '; all else is applied';
  return `${done}; not applied: \`${showPlainly(first.path)}\` (${refused}${showPlainly(first.why)})${more}${rest}${waits}`;
}

function isTogether({ rule }: LeftOut): boolean {
  return rule === 'git.together';
}

/** What to do about what nobody is asked about. */
export function adviceOnLeftOut({ leftOut, instead, runId, changed }: RunEffects): readonly string[] {
  // The index is applied with the rest, and may name what is not.
  const ofGit = changed.some((path) => /(?:^|\/)\.git\/index$/.test(path))
    ? '; `git status` may show it as deleted: do not commit that'
    : '';
  const advice = leftOut.flatMap(({ reason, rule }) => {
    // Nobody misses a socket that a server left behind.
    if (reason === 'refused' && runId !== undefined && !['hidden_secret', 'special.socket'].includes(rule))
      return [`go on without what was refused: it is not there, and another try is refused too${ofGit}`];
    if (rule === 'hidden_secret') return ['change a secret with write_file or edit_file: a person is asked'];
    if (reason === 'conflict' && instead === undefined) return ['look at what is there now, and do it again where it is still wanted'];
    return [];
  });
  return [...new Set([...(instead === undefined ? [] : [instead]), ...advice])];
}

/** Nothing of what it wrote is there, and nothing waits. A socket that it left is not what it was for. */
export function leftNothing({ nothingApplied, leftOut, runId, heldId, dropped }: RunEffects): boolean {
  const isMissed = leftOut.some(({ reason, rule }) => reason === 'conflict' || rule === 'hidden_secret');
  return nothingApplied !== undefined || (isMissed && runId === undefined && heldId === undefined && !dropped);
}

/** What a tool's answer asks for where something is held: a person decides about it. */
export function askForHeld({ heldId, leftOut }: Pick<RunEffects, 'heldId' | 'leftOut'>) {
  if (heldId === undefined) return {};
  // What waits for the sake of another one is no reason to do it in another way.
  const named = leftOut.filter((part) => part.reason === 'held' && !isTogether(part));
  const paths = named.map(({ path }) => `\`${showPlainly(path, 80)}\``);
  const some = `${paths.slice(0, 3).join(', ')}${paths.length > 3 ? ` and ${paths.length - 3} more` : ''}`;
  return { asks: { tool: applyHeldTool, input: { held: heldId }, instead: `do it in another way that does not touch ${some}` } };
}
