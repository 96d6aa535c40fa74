/** Puts each unit before the judge, entry by entry, and takes apart what is applied, held and refused. */
import { readFileSync, readlinkSync } from 'node:fs';
import path from 'node:path';
import type { Change, EffectJudge, JudgeGround, LeftOut, Verdict } from '#kernel/effects';
import type { Difference, NewEntry, Unit } from './difference.ts';
import { nameOf } from './make-plan.ts';
import { look, modeOf, typeOf } from './stamp.ts';
import type { View } from './view.ts';

export interface Sorted {
  readonly apply: readonly Unit[];
  readonly held: readonly Unit[];
  readonly leftOut: readonly LeftOut[];
}

export interface JudgeRequest {
  readonly difference: Difference;
  readonly view: View;
  readonly judge: EffectJudge;
  readonly ground: JudgeGround;
  /** Places of our own, below the workspace: nothing in or above them is replaced, moved or taken away. */
  readonly own: readonly string[];
}

export function judgeUnits(request: JudgeRequest): Sorted {
  const parts = request.difference.units.map((unit) => judgeUnit(unit, request));
  return {
    apply: parts.flatMap(({ apply }) => apply),
    held: parts.flatMap(({ held }) => held),
    leftOut: [...parts.flatMap(({ leftOut }) => leftOut), ...request.difference.odd.map(oddName)],
  };
}

function oddName(directory: string): LeftOut {
  const why = 'a name in it is no text (UTF-8), so nobody could be shown what it is';
  return { path: directory === '' ? '.' : directory, kind: 'create', reason: 'refused', rule: 'odd_name', why };
}

function judgeUnit(unit: Unit, request: JudgeRequest): Sorted {
  const whole = wholeVerdict(unit, request);
  if (whole.action !== 'apply') {
    return { apply: [], held: whole.action === 'hold' ? [unit] : [], leftOut: [leftOutOf(nameOf(unit), unit, whole)] };
  }
  return takeOut(unit, request);
}

/** Of what is there at the place, and of what goes: a part of a deletion is none. */
function wholeVerdict(unit: Unit, request: JudgeRequest): Verdict {
  const { judge, ground, difference } = request;
  if (isOwnPlace(unit, request)) return ownPlace;
  const secret = difference.lostSecrets.find(
    ({ path: at, from }) => at === unit.path || (unit.before !== undefined && isWithin(from, unit.path)),
  );
  if (secret !== undefined) return lostSecret;
  const first = judge(topChange(unit, request), ground);
  if (first.action !== 'apply') return first;
  for (const { path: below, stats } of unit.before?.tree?.entries ?? []) {
    const verdict = judge(goneChange(`${unit.path}/${below}`, stats), ground);
    if (verdict.action !== 'apply') return { ...verdict, why: `\`${below}\` in it: ${verdict.why}` };
  }
  return first;
}

/** SECURITY: of a renamed directory the copy holds what was covered, so none is taken over once such a place moved. */
function isOwnPlace(unit: Unit, { own, difference }: JudgeRequest): boolean {
  const touches = ({ path: at, kind }: Unit) => own.some((place) => isWithin(at, place) || (kind !== 'attributes' && isWithin(place, at)));
  return touches(unit) || (unit.renamed === true && difference.units.some(touches));
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
function takeOut(unit: Unit, request: JudgeRequest): Sorted {
  const inside: NewEntry[] = [];
  const out: { readonly entry: NewEntry; readonly verdict: Verdict }[] = [];
  const names = namesOf(unit);
  for (const entry of unit.inside) {
    if (out.some((found) => isWithin(entry.path, found.entry.path))) continue;
    const isSecret = request.difference.lostSecrets.some(({ path: at }) => at === entry.path);
    const verdict = isSecret ? lostSecret : request.judge(newChange(entry, 'create', { request, names }), request.ground);
    if (verdict.action === 'apply') inside.push(entry);
    else out.push({ entry, verdict });
  }
  const units = out.map(({ entry }) => partOf(unit, entry));
  return {
    apply: [{ ...unit, inside }],
    held: units.filter((_unit, index) => out[index]?.verdict.action === 'hold'),
    leftOut: out.map(({ verdict }, index) => leftOutOf(nameOf(units[index] ?? unit), units[index] ?? unit, verdict)),
  };
}

function partOf(unit: Unit, after: NewEntry): Unit {
  return { path: after.path, kind: 'create', after, inside: unit.inside.filter((entry) => entry.path.startsWith(`${after.path}/`)) };
}

function leftOutOf(name: string, { kind }: Unit, { action, rule, why }: Verdict): LeftOut {
  return { path: name, kind, reason: action === 'hold' ? 'held' : 'refused', rule, why };
}

/** Directly in a new directory. */
function namesOf({ path: top, inside, after }: Unit): readonly string[] {
  if (after?.stats.isDirectory() !== true) return [];
  return inside.map((entry) => entry.path.slice(top.length + 1)).filter((below) => !below.includes('/'));
}

function topChange(unit: Unit, request: JudgeRequest): Change {
  const { before, after, kind } = unit;
  if (after !== undefined) return newChange(after, kind, { request, names: namesOf(unit) });
  return { path: unit.path, kind, type: before?.stamp.type ?? 'file', mode: before?.stamp.mode ?? 0, bytes: before?.stamp.size ?? 0 };
}

function goneChange(at: string, stats: NewEntry['stats']): Change {
  return { path: at, kind: 'delete', type: typeOf(stats), mode: modeOf(stats), bytes: stats.isFile() ? Number(stats.size) : 0 };
}

interface ChangeGround {
  readonly request: JudgeRequest;
  readonly names: readonly string[];
}

function newChange(entry: NewEntry, kind: Change['kind'], { request, names }: ChangeGround): Change {
  const { path: at, stats, source } = entry;
  const type = typeOf(stats);
  return {
    path: at,
    kind,
    type,
    mode: modeOf(stats),
    bytes: type === 'file' ? Number(stats.size) : 0,
    ...(names.length === 0 ? {} : { newWith: names }),
    ...(type === 'link' ? { leadsTo: leadsTo(at, readlinkSync(source), request) } : {}),
    ...(type === 'file' ? { texts: () => textsOf(source, `${request.view.workspaceRoot}/${at}`) } : {}),
  };
}

const mostText = 65_536;

function textsOf(after: string, before: string): { readonly before: string; readonly after: string } | undefined {
  const [now, then] = [textOf(after), look(before) === undefined ? '' : textOf(before)];
  return now === undefined || then === undefined ? undefined : { before: then, after: now };
}

function textOf(file: string): string | undefined {
  try {
    const stats = look(file);
    if (!stats?.isFile() || stats.size > mostText) return undefined;
    return new TextDecoder('utf8', { fatal: true }).decode(readFileSync(file));
  } catch {
    return undefined;
  }
}

const mostLinks = 40;

/** Where a link would lead once the difference is there: text alone does not tell, for `..` behind a link goes to the real parent. */
function leadsTo(at: string, text: string, { view }: JudgeRequest): string | undefined {
  const root = view.workspaceRoot.split('/').slice(1);
  const open = text.split('/');
  let here = text.startsWith('/') ? [] : [...root, ...at.split('/').slice(0, -1)];
  let links = 0;
  for (let name = open.shift(); name !== undefined; name = open.shift()) {
    if (name === '' || name === '.') continue;
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
  return path.posix.join('/', ...here);
}

/** In the workspace as it would be, outside as it is. */
function linkAt(place: readonly string[], root: readonly string[], { directory }: View): string | undefined {
  const isBelow = root.every((name, index) => place[index] === name) && place.length > root.length;
  const upper = isBelow ? look(`${directory}/upper/${place.slice(root.length).join('/')}`) : undefined;
  const file = upper === undefined ? `/${place.join('/')}` : `${directory}/upper/${place.slice(root.length).join('/')}`;
  const stats = upper ?? look(file);
  return stats?.isSymbolicLink() ? readlinkSync(file) : undefined;
}
