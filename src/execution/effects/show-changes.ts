/** A plan's changes as people read them: each entry with what it is, and the difference of small texts. */
import { readFileSync } from 'node:fs';
import type { ShownChange, ShownChanges } from '#kernel/effects';
import { Fault } from '#kernel/errors';
import { unifiedDiff } from '#kernel/text/unified-diff';
import type { AttributeChange } from './directory-attributes.ts';
import { hasMark, type Plan, readApplied, readPlan, type Step } from './journal.ts';
import { directoryOf, inHand, type JournalGround, without } from './run-plan.ts';
import { linkText, look, readTree, type Stamp, stampOf, type Tree } from './stamp.ts';
import { changedSince } from './take-back.ts';

/** Where the two sides of a step lie; undefined: nothing is, or was, there. */
export interface Sides {
  readonly before?: string | undefined;
  readonly after?: string | undefined;
}

export interface ShowOptions {
  readonly sidesOf: (step: Step) => Sides;
  /** Show what was in deleted files, too: it may be a secret. */
  readonly withDeleted: boolean;
}

const mostChanges = 100;
const mostLines = 400;
const mostLinesOfOne = 200;
const mostColumns = 300;
const mostText = 65_536;

/** undefined where it is no plain UTF-8 text, cannot be read or is too long. */
export function textOf(file: string): string | undefined {
  try {
    const stats = look(file);
    if (!stats?.isFile() || stats.size > mostText) return undefined;
    const text = new TextDecoder('utf8', { fatal: true, ignoreBOM: true }).decode(readFileSync(file));
    return text.includes('\0') ? undefined : text;
  } catch {
    return undefined;
  }
}

/** What a run changed, from what is kept of it. @throws {Fault} `no_such_run`, `not_kept` */
export async function showRun(ground: JournalGround, id: string): Promise<ShownChanges> {
  const directory = directoryOf(ground, id);
  const plan = readPlan(directory);
  if (hasMark(directory, 'undone') || !hasMark(directory, 'applied'))
    throw new Fault('not_kept', 'the run is undone, so nothing of it is kept', { audience: 'user' });
  const done = without(plan, readApplied(directory).skipped);
  const changed = new Set((await inHand(ground, done, changedSince)).map(({ number }) => number));
  const sidesOf = ({ number, path, before, after }: Step) => ({
    before: before && `${directory}/kept/${number}`,
    after: after && !changed.has(number) ? `${plan.workspaceRoot}/${path}` : undefined,
  });
  return showChanges(done, { sidesOf, withDeleted: true });
}

export function textsOfRun(ground: JournalGround, id: string, path: string): { readonly now: string; readonly before: string } | undefined {
  const directory = directoryOf(ground, id);
  const { steps, workspaceRoot } = readPlan(directory);
  const step = steps.find((entry) => path === entry.path || path.startsWith(`${entry.path}/`));
  if (step === undefined) return undefined;
  const textAt = (file: string) => (look(file) === undefined ? '' : textOf(file));
  const now = textAt(`${workspaceRoot}/${path}`);
  const before = step.before === undefined ? '' : textAt(`${directory}/kept/${step.number}${path.slice(step.path.length)}`);
  return now === undefined || before === undefined ? undefined : { now, before };
}

export async function showChanges({ steps }: Pick<Plan, 'steps'>, options: ShowOptions): Promise<ShownChanges> {
  const entries: Entry[] = [];
  for (const step of steps) entries.push(...(await entriesOf(step, options.sidesOf(step))));
  let lines = mostLines;
  const changes = entries.slice(0, mostChanges).map((entry) => {
    const shown = shownOf(entry, options.withDeleted, lines);
    lines -= shown.diff?.length ?? 0;
    return shown;
  });
  return { changes, more: entries.length - changes.length };
}

/** A step, or what is in the directory that it puts somewhere. */
interface Entry extends Sides {
  readonly path: string;
  readonly kind: ShownChange['kind'];
  readonly was?: Stamp | undefined;
  readonly is?: Stamp | undefined;
  readonly why?: string;
  /** What goes with a directory that goes. */
  readonly tree?: Tree | undefined;
  readonly extended?: AttributeChange | undefined;
}

async function entriesOf(step: Step, { before, after }: Sides): Promise<readonly Entry[]> {
  const { path, kind, before: was, after: is, act, held, extended } = step;
  const tree = was?.type === 'directory' && act !== 'set' && before !== undefined ? await readTree(before) : undefined;
  const top: Entry = { path, kind, was, is, before, after, ...(held === undefined ? {} : { why: held.why }), tree, extended };
  if (is?.type !== 'directory' || act === 'set' || after === undefined) return [top];
  const inside = (await readTree(after)).entries.map(
    (entry): Entry => ({ path: `${path}/${entry.path}`, kind: 'create', is: stampOf(entry.stats), after: `${after}/${entry.path}` }),
  );
  return [top, ...inside];
}

function shownOf(entry: Entry, withDeleted: boolean, lines: number): ShownChange {
  const { path, kind, was, is, why } = entry;
  const diff = kind === 'attributes' || (kind === 'delete' && !withDeleted) ? undefined : diffOf(entry, Math.min(lines, mostLinesOfOne));
  return {
    path: (is ?? was)?.type === 'directory' ? `${path === '' ? '.' : path}/` : path,
    kind,
    facts: factsOf(entry, diff !== undefined),
    ...(why === undefined ? {} : { why }),
    ...(diff === undefined ? {} : { diff }),
  };
}

function diffOf({ was, is, before, after }: Entry, lines: number): readonly string[] | undefined {
  const text = (stamp: Stamp | undefined, file: string | undefined) =>
    stamp === undefined || stamp.type === 'link' ? '' : file === undefined || stamp.type !== 'file' ? undefined : textOf(file);
  if (was?.type !== 'file' && is?.type !== 'file') return undefined;
  const [then, now] = [text(was, before), text(is, after)];
  if (then === undefined || now === undefined) return undefined;
  const diff = unifiedDiff(then, now).map((line) => (line.length > mostColumns ? `${line.slice(0, mostColumns).toWellFormed()}…` : line));
  return diff.length <= lines ? diff : [...diff.slice(0, lines), `… ${diff.length - lines} lines more, not shown`];
}

function factsOf(entry: Entry, hasDiff: boolean): readonly string[] {
  return [typeFact(entry), modeFact(entry), extendedFact(entry), treeFact(entry), hasDiff ? undefined : bytesFact(entry)]
    .filter((fact) => fact !== undefined)
    .flat();
}

function typeFact({ was, is, after }: Entry): readonly string[] {
  if (is === undefined) return [];
  const what = is.type === 'link' ? `link to ${(after === undefined ? undefined : linkText(after)) ?? 'somewhere'}` : is.type;
  const named = is.type === 'file' || is.type === 'directory' ? [] : [what];
  return was === undefined || was.type === is.type ? named : [...named, `was a ${was.type}`];
}

function modeFact({ was, is }: Entry): string | undefined {
  if (is === undefined || is.type === 'link') return undefined;
  if (is.type === 'file' && (is.mode & 0o7000) !== 0) return `mode ${octal(is.mode)}`;
  return was === undefined || was.type !== is.type || was.mode === is.mode ? undefined : `mode ${octal(was.mode)} to ${octal(is.mode)}`;
}

/** An access list is one of them, and says who may write there besides the mode. */
function extendedFact({ extended }: Entry): string | undefined {
  if (extended === undefined) return undefined;
  const { from, to } = extended;
  const names = Object.keys({ ...from, ...to }).filter((name) => from[name] !== to[name]);
  return `other extended attributes: ${names.map((name) => name.toWellFormed()).join(', ')}`;
}

function treeFact({ tree }: Entry): string | undefined {
  return tree && `${tree.entries.length} entries go with it, ${tree.bytes} bytes`;
}

function bytesFact({ kind, was, is, after }: Entry): string | undefined {
  if (kind === 'attributes') return undefined;
  if (is === undefined) return was?.type === 'file' ? `${was.size} bytes` : undefined;
  if (is.type !== 'file') return undefined;
  return after === undefined ? 'changed since, so not shown' : `${is.size} bytes that are no text, or too much of it`;
}

function octal(mode: number): string {
  return mode.toString(8).padStart(3, '0');
}
