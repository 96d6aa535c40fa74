/**
 * The judge of a difference: kind of change and place → apply, hold, refuse. The rules are one table, each with examples that a test runs; the
 * strictest that matches decides. Pure: what must be read from the disk comes with the change.
 */
import type { Change, EffectJudge, JudgeGround, Verdict } from '#kernel/effects';
import { foldName } from '../paths/secret-files.ts';
import { controlRowOf } from './control-places.ts';
import { isHarmlessGitConfig, isPlainTodo } from './git-texts.ts';

/** An example: the change with defaults for what its rule does not look at. */
export type Example = Pick<Change, 'path'> & Partial<Omit<Change, 'texts'>> & { readonly before?: string; readonly after?: string };

export interface EffectRule {
  readonly id: string;
  readonly action: 'hold' | 'refuse';
  /** For people and models, about the entry. */
  readonly why: string | ((change: Change) => string);
  readonly matches: (change: Change, place: Place, ground: JudgeGround) => boolean;
  readonly match: readonly Example[];
  readonly notMatch: readonly Example[];
}

/** The path, taken apart. */
export interface Place {
  /** Folded: one spelling for what some file system takes for the same. */
  readonly names: readonly string[];
  readonly name: string;
  /** Names behind the last `.git`, or undefined outside of one. */
  readonly inGit: readonly string[] | undefined;
  /** Installed packages: made elsewhere, and obeyed by nobody where they lie, but for repositories. */
  readonly inPackages: boolean;
}

const packageFolders: ReadonlySet<string> = new Set(['node_modules', '.venv', 'venv', 'site-packages', 'bower_components']);

export function placeOf(path: string): Place {
  const names = path.split('/').map(foldName);
  const git = names.lastIndexOf('.git');
  return {
    names,
    name: names.at(-1) ?? '',
    inGit: git < 0 ? undefined : names.slice(git + 1),
    inPackages: names.slice(0, -1).some((name) => packageFolders.has(name)),
  };
}

const gone = (change: Change) => change.kind === 'delete';
/** Programs and libraries of the system, and the sink: what a link leads to there is nobody's secret, and only root writes it. */
const systemPlaces = ['/usr/', '/bin/', '/sbin/', '/lib/', '/lib64/', '/opt/', '/nix/store/'];
const isSystem = (file: string) => file === '/dev/null' || systemPlaces.some((place) => file.startsWith(place));
const isIn = (file: string, root: string) => file === root || file.startsWith(`${root}/`);

/** Directly in the directory of a repository, of a submodule's or of a worktree's. `githooks(5)`, `gitrepository-layout(5)`. */
const gitControl: ReadonlySet<string> = new Set([
  'config',
  'config.worktree',
  'commondir',
  'gitdir',
  'hooks',
  'info/attributes',
  'objects/info/alternates',
]);
const todoFiles: ReadonlySet<string> = new Set([
  'rebase-merge/git-rebase-todo',
  'rebase-merge/git-rebase-todo.backup',
  'rebase-apply/git-rebase-todo',
  'sequencer/todo',
]);

/** Below `.git`; of a submodule or a worktree below its own directory, whatever its name is. */
function gitPoint(inGit: readonly string[]): string | undefined {
  for (let start = 0; start < inGit.length; start += 1) {
    if (start > 0 && !['modules', 'worktrees'].includes(inGit[0] ?? '')) break;
    const rest = inGit.slice(start);
    if (rest[0] === 'hooks') return 'hooks';
    const joined = rest.join('/');
    if (gitControl.has(joined) || todoFiles.has(joined)) return joined;
  }
  return undefined;
}

const isTodo = ({ inGit }: Place) => inGit !== undefined && todoFiles.has(gitPoint(inGit) ?? '');

export const effectRules: readonly EffectRule[] = [
  {
    id: 'special.device',
    action: 'refuse',
    why: 'a device is no file of a project',
    matches: (change) => change.type === 'device' && !gone(change),
    match: [{ path: 'x', type: 'device' }],
    notMatch: [
      { path: 'x', type: 'fifo' },
      { path: 'x', type: 'device', kind: 'delete' },
    ],
  },
  {
    id: 'special.socket',
    action: 'refuse',
    why: 'nobody listens on the socket any more',
    matches: (change) => change.type === 'socket' && !gone(change),
    match: [{ path: 'tmp/server.sock', type: 'socket' }],
    notMatch: [{ path: 'tmp/server.sock', type: 'file' }],
  },
  {
    id: 'special.fifo',
    action: 'hold',
    why: 'whoever opens the pipe waits for somebody at its other end',
    matches: (change) => change.type === 'fifo' && !gone(change),
    match: [{ path: 'pipe', type: 'fifo' }],
    notMatch: [{ path: 'pipe' }, { path: 'pipe', type: 'fifo', kind: 'delete' }],
  },
  {
    id: 'mode.set_id',
    action: 'hold',
    why: 'it would run with its owner’s rights, whoever starts it',
    matches: (change) => !gone(change) && change.type === 'file' && (change.mode & 0o6000) !== 0,
    match: [
      { path: 'x', mode: 0o4755 },
      { path: 'x', mode: 0o2755, kind: 'attributes' },
    ],
    notMatch: [
      { path: 'x', mode: 0o755 },
      { path: 'shared', type: 'directory', mode: 0o2775 },
    ],
  },
  {
    id: 'link.out',
    action: 'hold',
    why: ({ leadsTo }) =>
      leadsTo === undefined ? 'nobody can tell where the link leads' : `the link leads out of the workspace, to \`${leadsTo}\``,
    matches: (change, _place, { workspaceRoot }) =>
      change.type === 'link' &&
      !gone(change) &&
      (change.leadsTo === undefined || !(isIn(change.leadsTo, workspaceRoot) || isSystem(change.leadsTo))),
    match: [
      { path: 'x', type: 'link', leadsTo: '/etc/passwd' },
      { path: 'x', type: 'link' },
      { path: 'x', type: 'link', leadsTo: '/srv/other' },
    ],
    notMatch: [
      { path: 'x', type: 'link', leadsTo: '/srv/ws/src' },
      { path: '.venv/bin/python', type: 'link', leadsTo: '/usr/bin/python3.11' },
      { path: 'x', type: 'link', kind: 'delete' },
    ],
  },
  {
    id: 'git.new',
    action: 'hold',
    why: 'a repository of its own: git in it obeys its configuration and runs its hooks',
    matches: (change, { name, inGit, names }) =>
      !gone(change) &&
      change.kind !== 'modify' &&
      change.kind !== 'attributes' &&
      ((name === '.git' && names.indexOf('.git') === names.length - 1) ||
        (inGit === undefined && name === 'head' && change.type !== 'directory')),
    match: [
      { path: 'sub/.git', type: 'directory' },
      { path: 'wt/.git' },
      { path: 'bare/HEAD' },
      { path: 'node_modules/x/.git', type: 'directory' },
    ],
    notMatch: [
      { path: '.git/HEAD' },
      { path: '.git', type: 'directory', kind: 'attributes' },
      { path: 'src/head.ts' },
      { path: '.gitignore' },
    ],
  },
  {
    id: 'git.control',
    action: 'hold',
    why: 'git outside of the sandbox runs or obeys it',
    matches: (change, place) => {
      if (place.inGit === undefined || (gone(change) && place.inPackages)) return false;
      const point = gitPoint(place.inGit);
      if (point === undefined || todoFiles.has(point)) return false;
      const texts = point === 'config' && change.kind === 'modify' ? change.texts?.() : undefined;
      return texts === undefined || !isHarmlessGitConfig(texts);
    },
    match: [
      { path: '.git/hooks/pre-commit' },
      { path: '.git/config', kind: 'modify', before: '', after: '[core]\n\tfsmonitor = x\n' },
      { path: '.git/config', kind: 'delete' },
      { path: 'a/.git/modules/b/c/config' },
      { path: '.git/worktrees/w/commondir' },
      { path: '.git/info/attributes' },
      { path: '.git/hooks', type: 'directory', kind: 'replace' },
    ],
    notMatch: [
      { path: '.git/index' },
      { path: '.git/refs/heads/config' },
      { path: '.git/refs/heads/hooks/x' },
      { path: '.git/logs/HEAD' },
      { path: '.git/config', kind: 'modify', before: '', after: '[branch "x"]\n\tmerge = refs/heads/x\n' },
      { path: 'hooks/x' },
    ],
  },
  {
    id: 'git.named',
    action: 'hold',
    why: 'the configuration of a repository names it: git outside of the sandbox runs or obeys it',
    matches: ({ path, kind }, _place, { obeyed = [] }) =>
      obeyed.some((place) => isIn(path, place) || (isIn(place, path) && (kind === 'delete' || kind === 'replace'))),
    match: [{ path: 'scripts/hooks/pre-commit' }, { path: 'scripts/hooks', type: 'directory', kind: 'delete' }],
    notMatch: [{ path: 'scripts/build.js' }, { path: 'scripts/hooks-old/x' }],
  },
  {
    id: 'git.todo',
    action: 'hold',
    why: 'going on with the rebase would run the commands in it',
    matches: (change, place) => {
      if (gone(change) || !isTodo(place)) return false;
      const texts = change.texts?.();
      return texts === undefined || !isPlainTodo(texts.after);
    },
    match: [{ path: '.git/rebase-merge/git-rebase-todo', after: 'pick 1234567 x\nexec touch /tmp/x\n' }, { path: '.git/sequencer/todo' }],
    notMatch: [
      { path: '.git/rebase-merge/git-rebase-todo', after: 'pick 1234567 exec\n# Commands:\n' },
      { path: '.git/rebase-merge/git-rebase-todo', kind: 'delete' },
    ],
  },
  {
    id: 'control',
    action: 'hold',
    why: ({ path }) => controlRowOf(path.split('/'))?.who ?? 'another program runs or obeys it',
    matches: (change, { inGit, inPackages }) => {
      if (inGit !== undefined) return false;
      const row = controlRowOf(change.path.split('/'));
      if (row?.id === 'interpreters') return !gone(change) && change.newWith?.includes('pyvenv.cfg') !== true;
      return row !== undefined && !inPackages;
    },
    match: [
      { path: '.vscode', type: 'directory' },
      { path: 'a/b/.claude/settings.json', kind: 'modify' },
      { path: '.github/workflows/ci.yml' },
      { path: '.venv/lib/python3.11/site-packages/evil.pth' },
      { path: '.envrc', kind: 'delete' },
    ],
    notMatch: [
      { path: 'node_modules/x/.vscode/settings.json' },
      { path: '.venv/lib/python3.11/site-packages/distutils-precedence.pth', newWith: ['bin', 'pyvenv.cfg', 'lib'] },
      { path: '.venv/lib/python3.11/site-packages/x.pth', kind: 'delete' },
      { path: '.git/refs/heads/.vscode/x' },
      { path: 'src/index.ts' },
    ],
  },
];

const applies: Verdict = { action: 'apply', rule: 'ordinary', why: 'ordinary work' };

export const judgeChange: EffectJudge = (change, ground) => {
  const place = placeOf(change.path);
  const found = effectRules.filter((rule) => rule.matches(change, place, ground));
  const rule = found.find(({ action }) => action === 'refuse') ?? found[0];
  if (rule === undefined) return applies;
  return { action: rule.action, rule: rule.id, why: typeof rule.why === 'string' ? rule.why : rule.why(change) };
};
