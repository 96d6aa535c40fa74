/**
 * Extended attributes and access lists of directories that were there: nothing but `setxattr(2)` takes one away, and of what a machine usually has
 * only Python knows it. Where there is none they are left as they were, and that is said. Source: xattr(7), acl(5), Python's `os` module.
 */
import type { DirectoryPin } from '#files/directory-pin';
import type { HeldTree } from '#files/held-tree';
import { isJsonObject } from '#kernel/json';
import type { ProgramRunner } from '#kernel/ports/program-runner';
import { launcherEnvironment } from '../sandbox/clean-environment.ts';
import type { Disk } from './disk.ts';
import { look, modeOf } from './stamp.ts';
import { isPrivileged } from './view.ts';

/** By name; the values in base64. */
type Values = Readonly<Record<string, string>>;

/** Of one directory, before a run and after it. */
export interface AttributeChange {
  readonly from: Values;
  readonly to: Values;
}

const python = 'python3';
const common = `import os,sys,json,base64,stat
def kept(n): return n.startswith('system.posix_acl_') or (n.startswith('user.') and not n.startswith('user.overlay.'))
def read(p,**how): return {n: base64.b64encode(os.getxattr(p,n,**how)).decode() for n in os.listxattr(p,**how) if kept(n)}
asked=json.load(sys.stdin)
`;
const readScript = `${common}
def both(p):
  try: return [read(os.path.join(root,p),follow_symlinks=False) for root in asked['roots']]
  except OSError: return None
json.dump({p: both(p) for p in asked['paths']},sys.stdout)`;
/** Each directory is an open descriptor. What is neither as before nor as wished somebody else gave it, and stays. A mode is the mask of an access list, and so comes last. */
const giveScript = `${common}
failed=''
def give(p,one):
  os.chmod(p,stat.S_IMODE(os.stat(p).st_mode)|0o700)
  now=read(p)
  if now!=one['from']: return
  for n in now.keys()-one['to'].keys(): os.removexattr(p,n)
  for n,v in one['to'].items():
    if now.get(n)!=v: os.setxattr(p,n,base64.b64decode(v))
for fd,one in enumerate(asked,3):
  p='/proc/self/fd/%d'%fd
  try:
    try: give(p,one)
    finally: os.chmod(p,one['mode'])
  except OSError as e: failed=str(e)
if failed: sys.exit(failed)`;
const limits = { cwd: '/', env: launcherEnvironment, timeoutMs: 120_000 };
const mostBytes = 4_000_000;

interface ChangesOf {
  readonly workspaceRoot: string;
  /** What lies over that. */
  readonly upper: string;
  readonly paths: readonly string[];
  /** Those of which the upper one only adds to what the other has. */
  readonly laid: ReadonlySet<string>;
}

/** `unread`: this user may not read those of this one. */
type ReadChange = AttributeChange | 'unread';

/**
 * In a user namespace of our own where need be: an owner may read those of a directory that is closed to him.
 * @returns by path; nothing where no Python is
 */
export async function readAttributeChanges(
  programs: ProgramRunner,
  { upper, workspaceRoot, paths, laid }: ChangesOf,
): Promise<ReadonlyMap<string, ReadChange>> {
  if (paths.length === 0) return new Map();
  const input = JSON.stringify({ roots: [workspaceRoot, upper], paths });
  const reader = [python, '-I', '-S', '-c', readScript];
  const [program = python, ...args] = isPrivileged() ? reader : ['unshare', '-U', '-r', ...reader];
  const line = { program, args, input, keepBytes: mostBytes, ...limits };
  const said = await programs.run(line, new AbortController().signal).catch(() => undefined);
  if (said?.exitCode !== 0 || said.truncated) return new Map();
  const found: unknown = JSON.parse(said.stdout);
  if (!isJsonObject(found)) return new Map();
  const both = Object.entries(found as Record<string, readonly [Values, Values] | null>);
  return new Map(
    both.map(([path, read]) => {
      const [from, to] = read ?? [];
      return [path, from === undefined || to === undefined ? 'unread' : { from, to: laid.has(path) ? { ...from, ...to } : to }];
    }),
  );
}

/** A directory, what it has, what it gets, and its mode then. */
export interface AttributeWish extends AttributeChange {
  readonly path: string;
  readonly mode: number;
}

/** Their directories are open at once. */
const atOnce = 100;

interface GiveHands {
  readonly tree: Pick<HeldTree, 'hold' | 'place'>;
  readonly programs: ProgramRunner;
  readonly disk: Pick<Disk, 'chmod'>;
}

/** @throws where the system refuses one, once all others have theirs */
export async function giveAttributes(hands: GiveHands, wishes: readonly AttributeWish[]): Promise<void> {
  const failed: string[] = [];
  for (let start = 0; start < wishes.length; start += atOnce) failed.push(...(await giveSome(hands, wishes.slice(start, start + atOnce))));
  if (failed.length > 0) throw new Error(`extended attributes were not given: ${failed[0]}`);
}

/** @returns why some did not get theirs */
async function giveSome(hands: GiveHands, wishes: readonly AttributeWish[]): Promise<readonly string[]> {
  const held = wishes.flatMap((wish) => {
    const pin = holdOpened(hands, wish.path);
    return pin === undefined ? [] : [{ wish, pin }];
  });
  try {
    const descriptors = held.map(({ pin: { at } }) => Number(at.slice(at.lastIndexOf('/') + 1)));
    const input = JSON.stringify(held.map(({ wish: { from, to, mode } }) => ({ from, to, mode })));
    const line = { program: python, args: ['-I', '-S', '-c', giveScript], input, descriptors, keepBytes: 4_096, ...limits };
    const { exitCode, stderr } = await hands.programs.run(line, new AbortController().signal);
    return exitCode === 0 ? [] : [stderr.trim().split('\n').at(-1) ?? ''];
  } finally {
    for (const { pin } of held) pin.close();
  }
}

/** What is closed to its owner is opened; it gets its mode with its attributes. */
function holdOpened({ tree, disk }: GiveHands, path: string): DirectoryPin | undefined {
  const place = tree.place(path);
  const stats = place === undefined ? undefined : look(place);
  if (place === undefined || stats?.isDirectory() !== true) return undefined;
  if ((modeOf(stats) & 0o700) !== 0o700) disk.chmod(place, modeOf(stats) | 0o700);
  return tree.hold(path);
}
