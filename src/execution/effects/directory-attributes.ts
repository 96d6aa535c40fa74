/**
 * Extended attributes and access lists of directories that were there: nothing but `setxattr(2)` takes one away, and of what a machine usually has
 * only Python knows it. Where there is none they are left as they were, and that is said. Source: xattr(7), acl(5), Python's `os` module.
 */
import type { HeldTree } from '#files/held-tree';
import { isJsonObject } from '#kernel/json';
import type { ProgramRunner } from '#kernel/ports/program-runner';
import { launcherEnvironment } from '../sandbox/clean-environment.ts';

/** By name; the values in base64. */
type Values = Readonly<Record<string, string>>;

/** Of one directory, before a run and after it. */
export interface AttributeChange {
  readonly from: Values;
  readonly to: Values;
}

const python = 'python3';
const common = `import os,sys,json,base64
def kept(n): return n.startswith('system.posix_acl_') or (n.startswith('user.') and not n.startswith('user.overlay.'))
def read(p,**how): return {n: base64.b64encode(os.getxattr(p,n,**how)).decode() for n in os.listxattr(p,**how) if kept(n)}
asked=json.load(sys.stdin)
`;
const readScript = `${common}
def both(p): return [read(os.path.join(root,p),follow_symlinks=False) for root in asked['roots']]
json.dump({p: both(p) for p in asked['paths']},sys.stdout)`;
/** Each directory is an open descriptor. What is neither as before nor as wished somebody else gave it, and stays. */
const giveScript = `${common}
for fd,one in enumerate(asked,3):
  p='/proc/self/fd/%d'%fd
  now=read(p)
  if now!=one['from']: continue
  os.chmod(p,one['mode']|0o700)
  for n in now.keys()-one['to'].keys(): os.removexattr(p,n)
  for n,v in one['to'].items():
    if now.get(n)!=v: os.setxattr(p,n,base64.b64decode(v))
  os.chmod(p,one['mode'])`;
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

/** @returns by path; nothing where they cannot be read */
export async function readAttributeChanges(
  programs: ProgramRunner,
  { upper, workspaceRoot, paths, laid }: ChangesOf,
): Promise<ReadonlyMap<string, AttributeChange>> {
  if (paths.length === 0) return new Map();
  const input = JSON.stringify({ roots: [workspaceRoot, upper], paths });
  const line = { program: python, args: ['-I', '-S', '-c', readScript], input, keepBytes: mostBytes, ...limits };
  const said = await programs.run(line, new AbortController().signal).catch(() => undefined);
  if (said?.exitCode !== 0 || said.truncated) return new Map();
  const found: unknown = JSON.parse(said.stdout);
  if (!isJsonObject(found)) return new Map();
  const both = Object.entries(found as Record<string, readonly [Values, Values]>);
  return new Map(both.map(([path, [from, to]]) => [path, { from, to: laid.has(path) ? { ...from, ...to } : to }]));
}

/** A directory, what it has, what it gets, and its mode then. */
export interface AttributeWish extends AttributeChange {
  readonly path: string;
  readonly mode: number;
}

/** Their directories are open at once. */
const atOnce = 100;

/** @throws where the system refuses one */
export async function giveAttributes(
  { tree, programs }: { readonly tree: Pick<HeldTree, 'hold'>; readonly programs: ProgramRunner },
  wishes: readonly AttributeWish[],
): Promise<void> {
  for (let start = 0; start < wishes.length; start += atOnce) {
    const held = wishes.slice(start, start + atOnce).flatMap((wish) => {
      const pin = tree.hold(wish.path);
      return pin === undefined ? [] : [{ wish, pin }];
    });
    try {
      const descriptors = held.map(({ pin: { at } }) => Number(at.slice(at.lastIndexOf('/') + 1)));
      const input = JSON.stringify(held.map(({ wish: { from, to, mode } }) => ({ from, to, mode })));
      const line = { program: python, args: ['-I', '-S', '-c', giveScript], input, descriptors, keepBytes: 4_096, ...limits };
      const { exitCode, stderr } = await programs.run(line, new AbortController().signal);
      if (exitCode !== 0) throw new Error(`extended attributes were not given: ${stderr.trim().split('\n').at(-1)}`);
    } finally {
      for (const { pin } of held) pin.close();
    }
  }
}
