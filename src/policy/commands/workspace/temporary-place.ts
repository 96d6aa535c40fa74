/**
 * `/tmp` as a command sees it: a directory in memory of its own, empty when the command starts and gone when it ends (`systemRoot` of the
 * sandbox). Where no sandbox is enforced a person is asked about every command.
 */
import type { Decision } from '#kernel/decision';
import { askFor } from './findings.ts';
import { freshPlace } from './fresh-place.ts';
import { everyName } from './listed-names.ts';

export interface PathUse {
  readonly text: string;
  readonly glob: boolean;
  readonly offset: number;
  readonly action: 'list' | 'read' | 'write' | 'remove';
  /** Where a relative path starts. */
  readonly directory: string;
}

export interface TemporaryGround {
  /** Of the workspace. */
  readonly roots: readonly string[];
  /** What the line has made below `/tmp`; is added to. */
  readonly made: Set<string>;
}

/** What speaks against a path in `/tmp`; undefined: it is not one, or no place of the command's own. */
export function judgeTemporary(use: PathUse, { roots, made }: TemporaryGround): readonly Decision[] | undefined {
  const { text, action, directory } = use;
  const whole = text.startsWith('/') ? text : `${directory}/${text}`;
  const names = whole.split('/').filter((name) => name !== '' && name !== '.');
  if (names[0] !== 'tmp' || names.includes('..')) return undefined;
  if (whole.startsWith(freshPlace)) return [];
  // SECURITY: below such a workspace's parents are other people's files, and the sandbox shows the workspace there.
  if (roots.some((root) => /^\/tmp(?:\/|$)/.test(root))) return undefined;
  // Of the directory as a whole only what was put there matters.
  const isKnown = names.length > 1 || (action === 'write' ? text.endsWith('/') : action !== 'remove' && made.size > 0);
  return isKnown ? judgeOwn(`/${names.join('/')}`, use, made) : undefined;
}

function judgeOwn(whole: string, { glob, text, offset, action }: PathUse, made: Set<string>): readonly Decision[] {
  const isChange = action === 'write' || action === 'remove';
  const isPattern = glob || whole.includes(everyName);
  if (isChange && !isPattern) {
    made.add(whole);
    return [];
  }
  if (isMade(isPattern ? whole.replace(/\/?[^/]*[*?[].*$/, '') : whole, made)) return [];
  return [
    askFor('PATH_OUTSIDE_WORKSPACE', offset, `\`${text.slice(0, 100)}\`: \`/tmp\` is empty when a command starts; nothing is there yet`),
  ];
}

/** Whether the line has made it, something in it, or a directory around it. */
function isMade(whole: string, made: ReadonlySet<string>): boolean {
  return [...made].some((place) => place === whole || place.startsWith(`${whole}/`) || whole.startsWith(`${place}/`));
}
