/** Puts each unit before the judge, entry by entry, and takes apart what is applied, held and refused. */

import { readlinkSync } from 'node:fs';
import { posix } from 'node:path';
import type { Change, EffectJudge, JudgeGround, LeftOut, Verdict } from '#kernel/effects';
import type { ProgramRunner } from '#kernel/ports/program-runner';
import { repositoriesAround } from '../sandbox/git-directory.ts';
import type { Difference, MarkedDirectory } from './difference.ts';
import { listIndex } from './git-parts.ts';
import { nameOf } from './make-plan.ts';
import { textOf } from './show-changes.ts';
import { linkText, look, modeOf, typeOf, walk } from './stamp.ts';
import type { NewEntry, Unit } from './unit.ts';
import { upperOf, type View } from './view.ts';

export interface Sorted {
  readonly apply: readonly Unit[];
  readonly held: readonly Unit[];
  readonly leftOut: readonly LeftOut[];
}

interface JudgeRequest {
  readonly difference: Difference;
  readonly view: View;
  readonly judge: EffectJudge;
  readonly ground: JudgeGround;
  /** Places of our own, below the workspace: nothing in or above them is replaced, moved or taken away. */
  readonly own: readonly string[];
}

/** Old links that a directory brought along are looked for only where something is held: that costs by what is there. */
export async function judgeUnits(request: JudgeRequest): Promise<Sorted> {
  const { units } = request.difference;
  const entries = units.flatMap(({ after, inside }) => (after === undefined ? [] : [after, ...inside]));
  const repositoryOf = repositoriesAround(request.view.workspaceRoot, new Set(entries.map(({ path: at }) => at)));
  const first = judgeAll({ ...request, repositoryOf, ledOut: new Set() });
  const ledOut = first.held.length === 0 ? new Set<string>() : await placesLedTo(entries, request);
  return splitNames(ledOut.size === 0 ? first : judgeAll({ ...request, repositoryOf, ledOut }));
}

/** Where only one of two names may get what was written to their file, the other one keeps the old file. */
function splitNames({ apply, held, leftOut }: Sorted): Sorted {
  const applied = new Set(apply.map(({ path: at }) => at));
  const isSplit = ({ path: at, after }: Unit) => after?.nameOf !== undefined && !(applied.has(at) && applied.has(after.nameOf));
  const split = [...apply, ...held].filter(isSplit);
  if (split.length === 0) return { apply, held, leftOut };
  const names = new Set(split.map(({ path: at }) => at));
  const said = split.map(({ path: at, kind, after }): LeftOut => {
    const why = `it was another name of \`${after?.nameOf}\`, and only one of the two may be changed, so it keeps the old file`;
    return { path: at, kind, reason: 'refused', rule: 'other_name', why };
  });
  const rest = (units: readonly Unit[]) => units.filter((unit) => !isSplit(unit));
  return { apply: rest(apply), held: rest(held), leftOut: [...leftOut.filter(({ path: at }) => !names.has(at)), ...said] };
}

function judgeAll(asked: Asked): Sorted {
  const parts = asked.difference.units.map((unit) => judgeUnit(unit, asked));
  return {
    apply: parts.flatMap(({ apply }) => apply),
    held: parts.flatMap(({ held }) => held),
    leftOut: [
      ...parts.flatMap(({ leftOut }) => leftOut),
      ...asked.difference.odd.map(oddName),
      ...asked.difference.marked.map(markedDirectory),
    ],
  };
}

function oddName(directory: string): LeftOut {
  const why = 'a name in it is no text (UTF-8), so nobody could be shown what it is';
  return { path: directory === '' ? '.' : directory, kind: 'create', reason: 'refused', rule: 'odd_name', why };
}

const whyNotMarked: Readonly<Record<MarkedDirectory['why'], string>> = {
  'no python': 'extended attributes and access lists of a directory that was there need `python3`, which this machine has not',
  unread: 'this user may not read its extended attributes and access lists, so they were left as they are',
};

function markedDirectory({ path: directory, why: reason }: MarkedDirectory): LeftOut {
  const why = whyNotMarked[reason];
  return { path: `${directory}/`, kind: 'attributes', reason: 'refused', rule: 'attributes', why };
}

const rootMode: Verdict = {
  action: 'refuse',
  rule: 'root_mode',
  why: 'to let others into the workspace, or shut its owner out, is for the user',
};

/** Of the workspace itself. */
function opensRoot({ path: at, before, after }: Unit): boolean {
  const [was, is] = [before?.stamp.mode ?? 0, after === undefined ? 0 : modeOf(after.stats)];
  return at === '' && ((is & ~was & 0o7077) !== 0 || (is & 0o700) !== 0o700);
}

interface Asked extends JudgeRequest {
  /** Outside of the workspace: what links that were in it before led to. */
  readonly ledOut: ReadonlySet<string>;
  readonly repositoryOf: ReturnType<typeof repositoriesAround>;
}

function judgeUnit(unit: Unit, request: Asked): Sorted {
  const whole = opensRoot(unit) ? rootMode : wholeVerdict(unit, request);
  return whole.action === 'apply' ? takeOut(unit, request) : allOut(unit, whole);
}

function allOut(unit: Unit, verdict: Verdict): Sorted {
  return {
    apply: [],
    held: verdict.action === 'hold' ? [{ ...unit, held: verdict }] : [],
    leftOut: [leftOutOf(nameOf(unit), unit, verdict)],
  };
}

/** Of what is there at the place, and of what goes: a part of a deletion is none. */
function wholeVerdict(unit: Unit, request: Asked): Verdict {
  const { judge, ground, difference } = request;
  if (isOwnPlace(unit, request)) return ownPlace;
  const secret = difference.lostSecrets.find(
    ({ path: at, from }) => at === unit.path || (unit.before !== undefined && isWithin(from, unit.path)),
  );
  if (secret !== undefined) return lostSecret;
  const first = verdictOf(unit, request);
  if (first.action !== 'apply') return first;
  const stays = entriesThatStay(unit, request);
  for (const { path: below, stats } of unit.before?.tree?.entries ?? []) {
    if (stays.has(below)) continue;
    const verdict = judge({ ...goneChange(`${unit.path}/${below}`, stats), goneWith: unit.path }, ground);
    if (verdict.action !== 'apply') return { ...verdict, why: `\`${below}\` in it: ${verdict.why}` };
  }
  return first;
}

/** Of what is there at the place, and of the same at the other names of its file: what says no first. */
function verdictOf(unit: Unit, request: Asked): Verdict {
  const { judge, ground, repositoryOf } = request;
  const change = topChange(unit, request);
  const first = judge(change, ground);
  const { otherNames = [] } = unit;
  if (otherNames === 'unknown') return first.action === 'apply' ? unknownNames : first;
  for (const path of first.action === 'apply' ? otherNames : []) {
    const verdict = judge({ ...change, path, ...repositoryOf(path) }, ground);
    if (verdict.action !== 'apply') return { ...verdict, why: `\`${path}\`, another name of it: ${verdict.why}` };
  }
  return first;
}

const unknownNames: Verdict = { action: 'hold', rule: 'other_name', why: 'its file has other names that could not all be looked for' };

/** Of a directory that was made anew what is in it as before: nobody took that away. */
function entriesThatStay({ path: top, before, inside }: Unit, { view }: JudgeRequest): ReadonlySet<string> {
  if (before?.tree === undefined) return new Set();
  const same = inside.filter((entry) => isSameFile(entry, `${view.workspaceRoot}/${entry.path}`));
  return new Set(same.map((entry) => entry.path.slice(top.length + 1)));
}

/** SECURITY: of a renamed directory the copy holds what was covered, so none is taken over once such a place moved. */
function isOwnPlace(unit: Unit, { own, difference, view }: JudgeRequest): boolean {
  const touches = ({ path: at, kind }: Unit) => own.some((place) => isWithin(at, place) || (kind !== 'attributes' && isWithin(place, at)));
  const isRenamed = [unit.after, ...unit.inside].some((entry) => entry?.source.startsWith(`${view.directory}/copied/`));
  return touches(unit) || (isRenamed && difference.units.some(touches));
}

const ownPlace: Verdict = { action: 'refuse', rule: 'own_place', why: 'Banksman keeps files of its own there' };

const lostSecret: Verdict = {
  action: 'refuse',
  rule: 'hidden_secret',
  why: 'the command was not shown the content of this secret, so it cannot have moved or rewritten it',
};

function isWithin(inner: string, outer: string): boolean {
  return inner === outer || inner.startsWith(`${outer}/`);
}

/** Of a new directory the outermost entries that may not go in. */
function takeOut(unit: Unit, request: Asked): Sorted {
  const out: { readonly entry: NewEntry; readonly verdict: Verdict }[] = [];
  for (const entry of unit.inside) {
    if (out.some((found) => isWithin(entry.path, found.entry.path))) continue;
    const isSecret = request.difference.lostSecrets.some(({ path: at }) => at === entry.path);
    const verdict = isSecret ? lostSecret : request.judge(newChange(entry, 'create', { request, unit }), request.ground);
    if (verdict.action === 'apply') continue;
    const whole = [unit.after, ...unit.inside].find((other) => other?.path === verdict.whole) ?? entry;
    const why = whole === entry ? verdict.why : `\`${entry.path.slice(whole.path.length + 1)}\` in it: ${verdict.why}`;
    // What a directory replaces would be gone without it.
    if (whole === unit.after || wasThere(unit, whole)) return allOut(unit, { ...verdict, why });
    out.push({ entry: whole, verdict: { ...verdict, why } });
  }
  const inside = unit.inside.filter(({ path: at }) => !out.some(({ entry }) => isWithin(at, entry.path)));
  const units = out.map(({ entry, verdict }) => ({ ...partOf(unit, entry), held: verdict }));
  return {
    apply: [{ ...unit, inside }],
    held: units.filter((_unit, index) => out[index]?.verdict.action === 'hold'),
    leftOut: out.map(({ verdict }, index) => leftOutOf(nameOf(units[index] ?? unit), units[index] ?? unit, verdict)),
  };
}

function wasThere({ path: top, before }: Unit, { path: at }: NewEntry): boolean {
  return before?.tree?.entries.some(({ path: below }) => `${top}/${below}` === at) === true;
}

function partOf(unit: Unit, after: NewEntry): Unit {
  return { path: after.path, kind: 'create', after, inside: unit.inside.filter((entry) => entry.path.startsWith(`${after.path}/`)) };
}

function leftOutOf(name: string, { kind }: Unit, { action, rule, why }: Verdict): LeftOut {
  return { path: name, kind, reason: action === 'hold' ? 'held' : 'refused', rule, why };
}

function topChange(unit: Unit, request: Asked): Change {
  const { before, after, kind } = unit;
  if (after !== undefined) return { ...newChange(after, kind, { request, unit }), ...timesAlone(unit) };
  const { type = 'file', mode = 0, size = 0 } = before?.stamp ?? {};
  return {
    path: unit.path,
    kind,
    type,
    mode,
    bytes: size,
    ...(type === 'directory' ? { goneWith: unit.path } : {}),
    ...request.repositoryOf(unit.path),
  };
}

function timesAlone({ kind, before, after, extended }: Unit): Pick<Change, 'timesAlone'> {
  return kind === 'attributes' && after !== undefined && extended === undefined && modeOf(after.stats) === before?.stamp.mode
    ? { timesAlone: true }
    : {};
}

function goneChange(at: string, stats: NewEntry['stats']): Change {
  return { path: at, kind: 'delete', type: typeOf(stats), mode: modeOf(stats), bytes: stats.isFile() ? Number(stats.size) : 0 };
}

interface ChangeGround {
  readonly request: Asked;
  readonly unit: Pick<Unit, 'inside'>;
}

function newChange(entry: NewEntry, kind: Change['kind'], { request, unit }: ChangeGround): Change {
  const { path: at, stats, source } = entry;
  const type = typeOf(stats);
  return {
    path: at,
    kind,
    type,
    mode: modeOf(stats),
    ...request.repositoryOf(at),
    bytes: type === 'file' ? Number(stats.size) : 0,
    newWith: (name) => unit.inside.some((other) => posix.basename(other.path) === name && isWithin(at, posix.dirname(other.path))),
    ...(type === 'link' ? linkFacts(at, source, request) : {}),
    sameAs: (other) => isSameFile({ stats, source }, `${request.view.workspaceRoot}/${other}`),
    ...(type === 'file' ? { texts: () => textsOf(source, `${request.view.workspaceRoot}/${at}`) } : {}),
  };
}

function isSameFile({ stats, source }: Pick<NewEntry, 'stats' | 'source'>, other: string): boolean {
  const there = look(other);
  if (there === undefined || typeOf(there) !== typeOf(stats)) return false;
  if (stats.isDirectory()) return true;
  const isRun = (mode: number) => (mode & 0o111) !== 0;
  if (!stats.isFile() || isRun(modeOf(there)) !== isRun(modeOf(stats)) || there.size !== stats.size) return false;
  const text = textOf(source);
  return text !== undefined && text === textOf(other);
}

function textsOf(after: string, before: string): { readonly before: string; readonly after: string } | undefined {
  const [now, then] = [textOf(after), look(before) === undefined ? '' : textOf(before)];
  return now === undefined || then === undefined ? undefined : { before: then, after: now };
}

function linkFacts(at: string, source: string, { view, ledOut }: Asked): Pick<Change, 'leadsTo' | 'ledBefore'> {
  const to = leadsTo(at, readlinkSync(source), view);
  return { leadsTo: to, ...(to !== undefined && ledOut.has(to) ? { ledBefore: true } : {}) };
}

/** Of a larger workspace a person is asked about old links, too. */
const mostWalked = 200_000;

async function placesLedTo(entries: readonly NewEntry[], { view }: JudgeRequest): Promise<ReadonlySet<string>> {
  const isOut = (to: string | undefined) => to !== undefined && to !== view.workspaceRoot && !isWithin(to, view.workspaceRoot);
  const isNew = ({ path: at, stats, source }: NewEntry) => stats.isSymbolicLink() && isOut(leadsTo(at, readlinkSync(source), view));
  const found = new Set<string>();
  if (!entries.some(isNew)) return found;
  const before = { workspaceRoot: view.workspaceRoot };
  let walked = 0;
  for await (const { path: at, stats } of walk(view.workspaceRoot, new Set(), view.concealed)) {
    walked += 1;
    if (walked > mostWalked) break;
    const text = stats.isSymbolicLink() ? linkText(`${view.workspaceRoot}/${at}`) : undefined;
    const to = text === undefined ? undefined : leadsTo(at, text, before);
    if (to !== undefined && isOut(to)) found.add(to);
  }
  return found;
}

const mostLinks = 40;

/** As the workspace is (`scratch` left out), or as it would be with the difference. */
type Seen = Pick<View, 'workspaceRoot'> & Partial<Pick<View, 'scratch'>>;

/** Where a link leads: text alone does not tell, for `..` behind a link goes to the real parent. SECURITY: `/proc/self` is another one for whoever follows it. */
function leadsTo(at: string, text: string, view: Seen): string | undefined {
  const root = view.workspaceRoot.split('/').slice(1);
  const open = text.split('/');
  let here = text.startsWith('/') ? [] : [...root, ...at.split('/').slice(0, -1)];
  let links = 0;
  for (let name = open.shift(); name !== undefined; name = open.shift()) {
    if (['', '.'].includes(name)) continue;
    if (here[0] === 'proc') return posix.join('/', ...here, name);
    const target = name === '..' ? undefined : linkAt([...here, name], root, view);
    if (target === undefined) {
      here = name === '..' ? here.slice(0, -1) : [...here, name];
      continue;
    }
    links += 1;
    if (links > mostLinks) return undefined;
    open.unshift(...target.split('/'));
    if (target.startsWith('/')) here = [];
  }
  return posix.join('/', ...here);
}

/** In the workspace as it would be, outside as it is. */
function linkAt(place: readonly string[], root: readonly string[], { scratch }: Seen): string | undefined {
  const isBelow = root.every((name, index) => place[index] === name) && place.length > root.length;
  const inUpper = scratch === undefined ? undefined : `${upperOf({ scratch })}/${place.slice(root.length).join('/')}`;
  const upper = isBelow && inUpper !== undefined ? look(inUpper) : undefined;
  const file = upper === undefined || inUpper === undefined ? `/${place.join('/')}` : inUpper;
  if (upper !== undefined && !upper.isSymbolicLink()) return undefined;
  // No text: no link, or nothing that this user may look at.
  return linkText(file);
}

// What git's index names and a person decides about is held with all of the run: half a checkout would read as files that somebody deleted.
const together: Pick<Verdict, 'rule' | 'why'> = {
  rule: 'git.together',
  why: 'it goes with what is held, for the index of git names that',
};

/** More names than these are not asked for one by one. */
const mostAsked = 200;

/**
 * Where the run gave an index other entries for what is held, all of the run is. Where something is refused nobody could approve the whole, so
 * that the rest is applied. An index that cannot be read counts as one with other entries.
 */
export async function holdTogether(sorted: Sorted, request: JudgeRequest, programs: ProgramRunner): Promise<Sorted> {
  const isPart = sorted.leftOut.some(({ reason }) => reason === 'refused');
  if (isPart || sorted.held.length === 0 || !(await namesHeld(sorted, request, programs))) return sorted;
  const reasonOf = ({ path }: Unit) => sorted.held.find((part) => part.path === path || part.path.startsWith(`${path}/`))?.held;
  const { units } = request.difference;
  const rest = units.filter((unit) => reasonOf(unit) === undefined).map((unit) => ({ ...unit, held: together }));
  const named = units.flatMap((unit) => {
    const held = reasonOf(unit);
    return held === undefined ? [] : [{ ...unit, held }];
  });
  const leftOut = rest.map((unit) => ({ path: nameOf(unit), kind: unit.kind, reason: 'held' as const, ...together }));
  // A person reads first what made it wait.
  return { apply: [], held: [...named, ...rest], leftOut: [...sorted.leftOut, ...leftOut] };
}

async function namesHeld({ apply, held }: Sorted, { view }: JudgeRequest, programs: ProgramRunner): Promise<boolean> {
  const inside = apply.flatMap((unit) => unit.inside.map(({ path }) => path));
  if ([...inside, ...apply.map(({ path }) => path)].some((path) => belongsToHeld(path, held, inside.includes(path)))) return true;
  for (const { path } of apply) {
    const top = topOf(path);
    const names = top === undefined ? [] : namesBelow(top, held);
    if (top === undefined || names.length === 0) continue;
    const asked = names.length > mostAsked ? ['.'] : names;
    const entriesIn = (index: string) => listIndex(programs, { index, asked, cwd: `${view.workspaceRoot}/${top}` });
    const [before, after] = [await entriesIn(`${view.workspaceRoot}/${path}`), await entriesIn(`${upperOf(view)}/${path}`)];
    if (after === undefined || before !== after) return true;
  }
  return false;
}

/** The index of a repository that is new, or of a worktree: what is held beside it came with it, and git is not asked. */
function belongsToHeld(path: string, held: readonly Unit[], isNew: boolean): boolean {
  if (/(?:^|\/)\.git\/worktrees\/[^/]+\/index$/.test(path)) return held.some((unit) => !unit.path.split('/').includes('.git'));
  const top = isNew ? topOf(path) : undefined;
  return top !== undefined && namesBelow(top, held).length > 0;
}

/** Of an index: the directory of its repository, with a `/` at its end. */
function topOf(path: string): string | undefined {
  return /(?:^|\/)\.git\/index$/.test(path) ? path.slice(0, -'.git/index'.length) : undefined;
}

function namesBelow(top: string, held: readonly Unit[]): readonly string[] {
  return held.filter(({ path }) => path.startsWith(top)).map(({ path }) => path.slice(top.length));
}
