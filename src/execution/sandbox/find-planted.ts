/** What a run left behind for others: the difference between the workspace before and after. */
import { showPlainly } from '#kernel/text';
import type { FindingKind, Scan, ScanFinding } from './scan-workspace.ts';

/** The kernel stamps changes with its tick's time, which may be some ms before the clock's. */
const tickMs = 20;
const mostShown = 50;

const words: Readonly<Record<Exclude<FindingKind, 'secret'>, string>> = {
  git_directory: 'a git repository',
  git_point: 'git runs or obeys it',
  control: 'another program runs or obeys it',
  link_out: 'a link that leads out of the workspace',
  socket: 'a socket',
  fifo: 'a FIFO',
  device: 'a device',
  set_id: 'set-user-id or set-group-id',
};

/**
 * Edits of package.json, a Makefile or sources are no findings: they are the work itself, a diff shows them, and their next run asks like
 * this one.
 * @param before taken right before the run. @param startedAt ms since the epoch
 * @returns `path (what)`, sorted; a last line says how many more there are
 */
export function findPlanted(before: Scan, after: Scan, startedAt: number): readonly string[] {
  const known = new Map(before.findings.map((finding) => [keyOf(finding), finding]));
  const isNew = (finding: ScanFinding) => {
    const former = known.get(keyOf(finding));
    if (former !== undefined) return isAnother(finding, former);
    // SECURITY: a directory that is moved into place brings files whose own times are old.
    return (before.complete && finding.always) || finding.changedAt >= startedAt - tickMs;
  };
  const planted = after.findings.filter((finding) => counts(finding) && isNew(finding)).map(describe);
  const sorted = [...new Set(planted)].sort();
  if (sorted.length <= mostShown) return sorted;
  return [...sorted.slice(0, mostShown), `and ${sorted.length - mostShown} more`];
}

/** Of directories only repositories: what is in the others counts by itself, and an empty one means nothing. */
function counts({ kind, directory }: ScanFinding): boolean {
  return kind !== 'secret' && (!directory || kind === 'git_directory');
}

/** Working in a repository changes its directory; only another one in its place is news. */
function isAnother(finding: ScanFinding, former: ScanFinding): boolean {
  return finding.directory ? inodeOf(former) !== inodeOf(finding) : former.stamp !== finding.stamp;
}

function describe({ path, kind }: ScanFinding): string {
  return kind === 'secret' ? path : `${showPlainly(path)} (${words[kind]})`;
}

function keyOf({ kind, path }: ScanFinding): string {
  return `${kind} ${path}`;
}

function inodeOf({ stamp }: ScanFinding): string {
  return stamp.slice(0, stamp.indexOf(':'));
}
