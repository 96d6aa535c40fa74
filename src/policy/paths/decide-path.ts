/** The path policy: may a file tool read, write or list this path? */

import { allow, ask, type Decision, deny } from '#kernel/decision';
import type { Change } from '#kernel/effects';
import type { PathFact, PathFacts, Segments } from '#kernel/ports/path-facts';
import { asListed, type Message, say } from '#kernel/text/message';
import { judgeChange } from '../effects/judge-change.ts';
import { type Ground, locatePath } from './locate-path.ts';
import { isSecretPath } from './secret-files.ts';

/** A workspace as the policy sees it: where it is, and what its paths really are. Commands start in its root. */
export interface WorkspaceView {
  readonly ground: Ground;
  readonly facts: PathFacts;
  /** Places that the repositories on the way to a path name as hooks or as more configuration; left out: none. */
  readonly obeyed?: (segments: Segments) => readonly string[];
  /** `Change.repository` of a file that would be written; left out: none. */
  readonly repositoryOf?: (segments: Segments) => Pick<Change, 'repository'>;
}

export type PathUse = 'read' | 'write' | 'list';

/** Bytes of a file above which a tool does not open it. */
export const maxFileBytes = 50 * 1024 * 1024;

/** Decides one path; the answer of `facts` is part of it, so a later open must check again. */
export function decidePath(path: string, use: PathUse, view: WorkspaceView): Decision {
  const { ground, facts } = view;
  const located = locatePath(path, ground);
  if (!located.ok) return deny(located.code, say`${asListed(located.message)}; name a path in the workspace`, ['path.text']);
  // SECURITY: `link/../x` is `x` to us and beside the link's target to the kernel; where that is outside, it is refused.
  const byKernel = located.raw.includes('..') ? facts.look(located.raw) : undefined;
  if (byKernel?.kind === 'outside') return leadsOutside;
  const fact = facts.look(located.segments);
  const refused = refuseByFact(fact, use);
  if (refused !== undefined) return refused;
  const names = [located.segments, 'path' in fact ? fact.path : located.segments];
  const kind = fact.kind === 'missing' ? 'create' : 'modify';
  return (use === 'write' ? askAboutWrite(names, kind, view) : undefined) ?? decideByName(names, use);
}

const leadsOutside = deny('SYMLINK_OUTSIDE_WORKSPACE', 'a link on the way leads outside the workspace', ['path.links']);

const unreadableWords: Readonly<Record<string, Message>> = {
  ENOTDIR: say`a part of it is a file and no directory (ENOTDIR)`,
  EACCES: say`this user may not (EACCES)`,
};

function refuseByFact(fact: PathFact, use: PathUse): Decision | undefined {
  switch (fact.kind) {
    case 'outside':
      return leadsOutside;
    case 'loop':
      return deny('SYMLINK_LOOP', 'the links on the way form a circle', ['path.links']);
    case 'unreadable':
      return deny('PATH_UNREADABLE', say`the path cannot be looked at: ${unreadableWords[fact.reason] ?? fact.reason}`, ['path.facts']);
    case 'special':
      return deny('NOT_A_REGULAR_FILE', 'this is a device, socket or pipe', ['path.type']);
    case 'directory':
      return use === 'list' ? undefined : deny('NOT_A_REGULAR_FILE', 'this is a directory', ['path.type']);
    case 'file':
      return refuseFile(fact.size, use);
    case 'missing':
      return undefined;
  }
}

function refuseFile(size: number, use: PathUse): Decision | undefined {
  if (use === 'list') return deny('NOT_A_DIRECTORY', 'this is a file; read it instead', ['path.type']);
  if (use === 'write' || size <= maxFileBytes) return undefined;
  return deny(
    'FILE_TOO_LARGE',
    say`the file has ${size} bytes, more than ${maxFileBytes}; look at a part of it with run_command, for example \`tail\``,
    ['path.size'],
  );
}

/** The judge of what commands change decides here, too, before anything is written. */
function askAboutWrite(
  names: readonly Segments[],
  kind: 'create' | 'modify',
  { ground, obeyed, repositoryOf }: WorkspaceView,
): Decision | undefined {
  for (const segments of names) {
    const around = repositoryOf?.(segments) ?? {};
    const change = { path: segments.join('/'), kind, type: 'file', mode: 0o644, bytes: 0, byHand: true, ...around } as const;
    const { action, why } = judgeChange(change, { workspaceRoot: ground.roots[0] ?? '/', obeyed: obeyed?.(segments) ?? [] });
    if (action !== 'apply') return ask('CONTROL_FILE', say`${asListed(why)}; a person must agree`, ['path.control-files']);
  }
  return undefined;
}

/** By the name as written and by the name that links lead to; the stricter counts. */
function decideByName(names: readonly Segments[], use: PathUse): Decision {
  if (use !== 'list' && names.some(isSecretPath))
    return ask('SECRET_FILE', say`the name stands for a secret; a person must agree`, ['path.secret-files']);
  return allow('allowed', 'a path in the workspace', ['path.inside']);
}
