/**
 * Files of a repository that decide what git runs or where it looks: each is judged by what it says. Source: `gitrepository-layout(5)`,
 * `githooks(5)`, `git-worktree(1)`, `git-rebase(1)`.
 */
import type { Change, JudgeGround } from '#kernel/effects';
import { splitNames } from '#kernel/text/text';
import { whyHeldSettings } from './git-settings.ts';

/** Directly in the directory of a repository, of a submodule's or of a worktree's: why its text is a person's decision. */
const points: Readonly<Record<string, (file: GitFile) => string | undefined>> = {
  config: ({ texts }) => whyHeldSettings(texts),
  'config.worktree': ({ texts }) => whyHeldSettings(texts),
  commondir: ({ texts, inGit }) =>
    inGit.length === 3 && inGit[0] === 'worktrees' && texts.after.trim() === '../..' ? undefined : 'it leads git to other configuration',
  gitdir: ({ texts, root }) => {
    const place = texts.after.trim();
    return place.startsWith('/') && isBelow(resolvePath('', place), root) && place.endsWith('/.git') ? undefined : leadsOut(place);
  },
  'objects/info/alternates': ({ texts, root, directory }) => {
    const places = texts.after.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    const out = places.find((place) => !isBelow(resolvePath(`${directory}/objects`, place), root));
    return out === undefined ? undefined : leadsOut(out);
  },
  'info/attributes': () => 'it names filters that git runs',
};

/** As the kernel would go, links aside. */
export function resolvePath(directory: string, place: string): string {
  const names: string[] = [];
  for (const name of `${place.startsWith('/') ? '' : directory}/${place}`.split('/')) {
    if (name === '..') names.pop();
    else if (name !== '' && name !== '.') names.push(name);
  }
  return `/${names.join('/')}`;
}

const leadsOut = (place: string) => `it leads out of the workspace, to \`${place}\``;
const isBelow = (place: string, root: string) => place.startsWith(`${root}/`);

/** `remotes` and `branches`, the old way to say where a push goes, count where the configuration says nothing. */
const folders: ReadonlySet<string> = new Set(['hooks', 'remotes', 'branches']);
const todoFiles: ReadonlySet<string> = new Set(
  splitNames(`rebase-merge/git-rebase-todo rebase-merge/git-rebase-todo.backup
  rebase-apply/git-rebase-todo sequencer/todo`),
);

interface GitFile {
  readonly texts: { readonly before: string; readonly after: string };
  readonly inGit: readonly string[];
  /** Of the workspace, absolute. */
  readonly root: string;
  /** Absolute: the repository's own, a submodule's or a worktree's. */
  readonly directory: string;
}

/** Below the repository's directory; of a submodule or a worktree below its own, whatever its name is. */
function pointOf(inGit: readonly string[]): { readonly name: string; readonly depth: number } | undefined {
  for (let depth = 0; depth < inGit.length; depth += 1) {
    if (depth > 0 && !['modules', 'worktrees'].includes(inGit[0] ?? '')) break;
    const rest = inGit.slice(depth);
    const joined = rest.join('/');
    if (folders.has(rest[0] ?? '')) return { name: rest[0] ?? '', depth };
    if (Object.hasOwn(points, joined) || todoFiles.has(joined)) return { name: joined, depth };
  }
  return undefined;
}

export function isTodo(inGit: readonly string[]): boolean {
  return todoFiles.has(pointOf(inGit)?.name ?? '');
}

/** @param inGit names behind the repository's directory; undefined: the change is ordinary work of git */
export function whyHeldInGit(change: Change, inGit: readonly string[], { workspaceRoot: root }: JudgeGround): string | undefined {
  const point = pointOf(inGit);
  if (point === undefined || todoFiles.has(point.name)) return undefined;
  if (folders.has(point.name)) return whyHeldInFolder(change, point.name);
  if (change.kind === 'delete') return point.name.startsWith('config') ? 'settings of a repository go' : undefined;
  const texts = textsOf(change);
  if (texts === undefined) return 'git outside of the sandbox obeys it';
  const names = change.path.split('/');
  const directory = [root, ...names.slice(0, names.length - inGit.length + point.depth)].join('/');
  return points[point.name]?.({ texts, inGit, root, directory });
}

function textsOf({ type, kind, texts }: Change) {
  return type === 'file' && kind !== 'attributes' ? texts?.() : undefined;
}

function linkText(change: Change): string {
  return textsOf(change)?.after ?? '';
}

/** What is in a directory that goes is judged by itself. */
function whyHeldInFolder({ type, kind, path }: Change, folder: string): string | undefined {
  const isEmpty = type === 'directory' && kind !== 'replace';
  const isSample = type === 'file' && path.endsWith('.sample');
  if (isEmpty || isSample) return undefined;
  return folder === 'hooks' ? 'git runs it' : 'it decides where git pushes to';
}

/** Of `.git` itself: a repository is judged by what is in it, a link to one by where it leads. */
export function whyHeldGitLink(change: Change, { workspaceRoot: root }: JudgeGround): string | undefined {
  const { kind, type, path } = change;
  if (kind === 'replace') return 'another repository would be in the place of the one that was there';
  if (kind === 'attributes' || kind === 'delete' || type === 'directory') return undefined;
  const [, place] = /^gitdir: ([^\n]+)\n?$/.exec(linkText(change)) ?? [];
  if (place === undefined) return 'git obeys what it leads to';
  const directory = resolvePath(`${root}/${path}/..`, place);
  if (!isBelow(directory, root)) return leadsOut(place);
  const isPart = /\/\.git\/(?:worktrees|modules)\//.test(directory.slice(root.length));
  return isPart ? undefined : 'it makes a repository of a directory that is none by its name';
}

/** Commands of a todo list that run nothing. */
const plainCommands: ReadonlySet<string> = new Set(
  splitNames('pick p reword r edit e squash s fixup f drop d label l reset t merge m update-ref u break b noop revert'),
);

export function isPlainTodo(text: string): boolean {
  return text.split('\n').every((line) => {
    const word = line.trim().split(/\s/, 1)[0] ?? '';
    return word === '' || word.startsWith('#') || plainCommands.has(word);
  });
}
