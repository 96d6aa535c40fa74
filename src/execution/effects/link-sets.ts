/**
 * Files with several names. Over an overlay each name gets a copy of its own as soon as it is written to; on the disk what is written through one
 * name is seen through all of them. So the other names get the new file, too, as far as they lie in the workspace.
 */
import { launcherEnvironment } from '../sandbox/clean-environment.ts';
import type { Before, DifferenceRequest, NewEntry, Unit } from './difference.ts';
import { look, stampOf } from './stamp.ts';
import { upperOf } from './view.ts';

type LinkGround = Pick<DifferenceRequest, 'view' | 'programs'>;

interface Changed extends Unit {
  readonly before: Before;
  readonly after: NewEntry;
}

/** Beyond these names are not looked for, and files are split. */
const mostSets = 200;

/** @param units of files as each name alone tells */
export async function withLinkSets(units: readonly Unit[], ground: LinkGround): Promise<readonly Unit[]> {
  const isFile = (unit: Unit): unit is Changed => unit.before !== undefined && unit.after?.stats.isFile() === true;
  const sets = Map.groupBy(units.filter(isFile), ({ before }) => before.stamp.inode);
  const setOf = (unit: Changed) => sets.get(unit.before.stamp.inode) ?? [unit];
  const written = units.filter(isFile).filter((unit) => unit.writtenThrough === true && setOf(unit).length === 1);
  // Of one file there is one mode and one time: the last.
  const settled = units.map((unit): Unit => {
    if (unit.kind !== 'attributes' || !isFile(unit)) return unit;
    return { ...unit, after: { ...setOf(unit).reduce(newer).after, path: unit.path } };
  });
  return [...settled, ...(await otherNames(written, settled, ground))];
}

function newer(one: Changed, other: Changed): Changed {
  return other.after.stats.ctimeNs > one.after.stats.ctimeNs ? other : one;
}

/** Of what was written those names at which nothing else happened. */
async function otherNames(written: readonly Changed[], units: readonly Unit[], ground: LinkGround): Promise<readonly Unit[]> {
  if (written.length === 0 || written.length > mostSets) return [];
  const { workspaceRoot } = ground.view;
  const upper = upperOf(ground.view);
  const gone = new Set(units.filter(({ kind }) => kind !== 'attributes').map(({ path }) => path));
  const isTouched = (name: string) =>
    look(`${upper}/${name}`) !== undefined || name.split('/').some((_part, index, parts) => gone.has(parts.slice(0, index + 1).join('/')));
  const found: Unit[] = [];
  for (const name of await namesOf(written, ground)) {
    const stats = look(`${workspaceRoot}/${name}`);
    const one = written.find(({ before }) => before.stamp.inode === String(stats?.ino));
    if (stats === undefined || one === undefined || one.path === name || isTouched(name)) continue;
    const before = { stamp: stampOf(stats), newest: stats.ctimeNs };
    found.push({ path: name, kind: 'modify', before, after: { ...one.after, path: name, pure: true, nameOf: one.path }, inside: [] });
  }
  return found;
}

const limits = { timeoutMs: 60_000, keepBytes: 1_000_000 };

/** Below the workspace, on its own file system; none where there are too many. */
async function namesOf(written: readonly Changed[], { view, programs }: LinkGround): Promise<readonly string[]> {
  const numbers = written.flatMap(({ before }, index) => [...(index === 0 ? [] : ['-o']), '-inum', before.stamp.inode]);
  const skip = view.concealed === undefined ? [] : ['-path', `./${view.concealed}`, '-prune', '-o'];
  const args = ['.', '-xdev', ...skip, '-type', 'f', '(', ...numbers, ')', '-print0'];
  const line = { program: 'find', args, cwd: view.workspaceRoot, env: launcherEnvironment, ...limits };
  const { stdout, truncated } = await programs.run(line, new AbortController().signal);
  return truncated ? [] : stdout.split('\0').flatMap((name) => (name === '' ? [] : [name.slice('./'.length)]));
}
