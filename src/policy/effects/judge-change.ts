/**
 * The judge of a difference: kind of change and place → apply, hold, refuse. The rules are one table, each with examples that a test runs; the
 * strictest that matches decides. Pure: what must be read from the disk comes with the change.
 */
import type { Change, EffectJudge, JudgeGround, Verdict } from '#kernel/effects';
import { foldName } from '../paths/secret-files.ts';
import { controlRowOf } from './control-places.ts';
import { isPlainTodo, isTodo, resolvePath, whyHeldGitLink, whyHeldInGit } from './git-settings.ts';

/** An example: a new file's path, or the change with defaults for what its rule does not look at. */
export type Example =
  | string
  | (Pick<Change, 'path'> & Partial<Omit<Change, 'texts'>> & { readonly before?: string; readonly after?: string });

interface EffectRule {
  readonly id: string;
  readonly action: 'hold' | 'refuse';
  /** For people and models, about the entry. */
  readonly why: string | ((change: Change, place: Place, ground: JudgeGround) => string);
  /** `Verdict.whole` */
  readonly whole?: (place: Place) => string | undefined;
  readonly matches: (change: Change, place: Place, ground: JudgeGround) => boolean;
  readonly match: readonly Example[];
  readonly notMatch: readonly Example[];
}

/** The path, taken apart. */
export interface Place {
  readonly path: string;
  /** Folded: one spelling for what some file system takes for the same. */
  readonly names: readonly string[];
  readonly name: string;
  /** Names behind the last `.git`, or another directory that git takes for a repository; undefined outside of one. */
  readonly inGit: readonly string[] | undefined;
  /** That directory. */
  readonly gitDirectory: string | undefined;
  /** Installed packages: made elsewhere, and obeyed by nobody where they lie, but for repositories. */
  readonly inPackages: boolean;
}

const packageFolders: ReadonlySet<string> = new Set(['node_modules', '.venv', 'venv', 'site-packages', 'bower_components']);

export function placeOf({ path, repository }: Pick<Change, 'path' | 'repository'>): Place {
  const names = path.split('/').map(foldName);
  const git = names.lastIndexOf('.git') + 1;
  const depth = git > 0 ? git : repository?.path.split('/').filter((name) => name !== '').length;
  return {
    path,
    names,
    name: names.at(-1) ?? '',
    inGit: depth === undefined ? undefined : names.slice(depth),
    gitDirectory: depth === undefined ? undefined : path.split('/').slice(0, depth).join('/'),
    inPackages: names.slice(0, -1).some((name) => packageFolders.has(name)),
  };
}

/** Without one of them git takes no directory for a repository. `gitrepository-layout(5)` */
const bareParts: ReadonlySet<string> = new Set(['head', 'objects', 'refs', 'commondir']);
const gone = (change: Change) => change.kind === 'delete';
/** Programs and libraries of the system, and the sink: what a link leads to there is nobody's secret, and only root writes it. */
const systemPlaces = ['/usr/', '/bin/', '/sbin/', '/lib/', '/lib64/', '/opt/', '/nix/store/'];
const isSystem = (file: string) => file === '/dev/null' || systemPlaces.some((place) => file.startsWith(place));
const isIn = (file: string, root: string) => file === root || file.startsWith(`${root}/`);

/** The outermost that is one by its name. */
function controlDirectory(path: string): string | undefined {
  const names = path.split('/');
  const depth = names.findIndex((_name, index) => controlRowOf(names.slice(0, index + 1)) !== undefined);
  return depth < 0 ? undefined : names.slice(0, depth + 1).join('/');
}

/** In a clone, a worktree or a directory made anew: the very bytes are obeyed at this path, or at the end of it, already. */
function isCopyOfObeyed({ path, kind, sameAs }: Change): boolean {
  if (!['create', 'replace'].includes(kind) || sameAs === undefined) return false;
  const names = path.split('/');
  return names.some((_name, index) => {
    const outer = names.slice(index);
    return controlRowOf(outer) !== undefined && sameAs(outer.join('/'));
  });
}

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
    notMatch: ['pipe', { path: 'pipe', type: 'fifo', kind: 'delete' }],
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
    matches: ({ kind, type, leadsTo, ledBefore }, _place, { workspaceRoot, programs = [] }) =>
      type === 'link' &&
      kind !== 'delete' &&
      ledBefore !== true &&
      (leadsTo === undefined || !(isSystem(leadsTo) || [workspaceRoot, ...programs].some((place) => isIn(leadsTo, place)))),
    match: [
      { path: 'x', type: 'link', leadsTo: '/etc/passwd' },
      { path: 'x', type: 'link' },
      { path: 'x', type: 'link', leadsTo: '/srv/other' },
      { path: 'x', type: 'link', leadsTo: '/home/me/.pyenv-of/x' },
    ],
    notMatch: [
      { path: 'x', type: 'link', leadsTo: '/srv/ws/src' },
      { path: '.venv/bin/python', type: 'link', leadsTo: '/usr/bin/python3.11' },
      { path: '.venv/bin/python', type: 'link', leadsTo: '/home/me/.pyenv/versions/3.11.7/bin/python3.11' },
      { path: 'x', type: 'link', kind: 'delete' },
      { path: 'moved/x', type: 'link', leadsTo: '/srv/other', ledBefore: true },
    ],
  },
  {
    id: 'git.new',
    action: 'hold',
    why: (change, _place, ground) => whyHeldGitLink(change, ground) ?? '',
    whole: ({ gitDirectory }) => gitDirectory,
    matches: (change, { inGit }, ground) =>
      inGit?.length === 0 && change.repository === undefined && whyHeldGitLink(change, ground) !== undefined,
    match: [
      { path: 'sub/.git', type: 'link', leadsTo: '/srv/ws/x' },
      { path: '.git', type: 'directory', kind: 'replace' },
      { path: 'wt/.git', after: 'gitdir: /srv/other/.git/worktrees/wt\n' },
      { path: 'wt/.git', after: 'gitdir: ../planted\n' },
      { path: 'wt/.git', kind: 'modify', before: 'gitdir: /srv/ws/.git/worktrees/wt\n', after: 'gitdir: ../planted\n' },
    ],
    notMatch: [
      { path: 'sub/.git', type: 'directory' },
      { path: '.git', type: 'directory', kind: 'attributes' },
      { path: 'wt/.git', after: 'gitdir: /srv/ws/.git/worktrees/wt\n' },
      { path: 'deps/x/.git', after: 'gitdir: ../../.git/modules/deps/x\n' },
      '.gitignore',
    ],
  },
  {
    id: 'git.worktree_outside',
    action: 'refuse',
    why: 'the worktree lies outside of the workspace, where nothing that a command writes is kept: make it inside',
    whole: ({ path }) => path.slice(0, path.lastIndexOf('/')),
    matches: (change, { inGit = [] }, { workspaceRoot }) => {
      const isLink = /^worktrees\/[^/]+\/gitdir$/.test(inGit.join('/')) && change.type === 'file' && !gone(change);
      const place = isLink ? change.texts?.()?.after.trim() : undefined;
      return place?.startsWith('/') === true && !isIn(resolvePath('', place), workspaceRoot);
    },
    match: [
      { path: '.git/worktrees/x/gitdir', after: '/srv/x/.git\n' },
      { path: '.git/worktrees/x/gitdir', after: '/srv/ws/../x/.git\n' },
    ],
    notMatch: [{ path: '.git/worktrees/x/gitdir', after: '/srv/ws/x/.git\n' }, '.git/worktrees/x/HEAD'],
  },
  {
    id: 'git.grown',
    action: 'hold',
    why: 'git would take the directory for a repository from then on, and obey what lay in it before',
    matches: ({ repository }, { inGit = [] }) => repository?.grown === true && bareParts.has(inGit.join('/')),
    match: [{ path: 'x/HEAD', repository: { path: 'x', grown: true } }],
    notMatch: [
      { path: 'x/HEAD', repository: { path: 'x' } },
      { path: 'x/description', repository: { path: 'x', grown: true } },
    ],
  },
  {
    id: 'git.control',
    action: 'hold',
    why: (change, { inGit = [] }, ground) => whyHeldInGit(change, inGit, ground) ?? '',
    whole: ({ gitDirectory }) => gitDirectory,
    matches: (change, { inGit, gitDirectory, inPackages }, ground) => {
      if (inGit === undefined || whyHeldInGit(change, inGit, ground) === undefined) return false;
      // A clone or a package that goes as a whole; the workspace's own repository is more than that.
      const goesWhole = change.goneWith !== undefined && isIn(gitDirectory ?? '', change.goneWith) && gitDirectory !== '.git';
      return !(gone(change) && (inPackages || goesWhole));
    },
    match: [
      '.git/hooks/pre-commit',
      '.git/remotes/origin',
      { path: '.git/config', kind: 'modify', before: '', after: '[core]\n\tfsmonitor = x\n' },
      { path: 'clone/.git/config', after: '[core]\n\thooksPath = x\n' },
      { path: 'x/config', repository: { path: 'x' }, after: '[core]\n\thooksPath = x\n' },
      { path: 'x/hooks/pre-receive', repository: { path: 'x' } },
      { path: '.git/config', kind: 'delete' },
      { path: '.git/config', kind: 'delete', goneWith: '.git' },
      'a/.git/modules/b/c/config',
      { path: '.git/worktrees/w/commondir', after: '/tmp/x\n' },
      { path: '.git/worktrees/w/gitdir', after: '../other/.git\n' },
      { path: '.git/objects/info/alternates', after: '/srv/other/.git/objects\n' },
      '.git/info/attributes',
      { path: '.git/hooks', type: 'link' },
      { path: '.git/hooks', type: 'directory', kind: 'replace' },
      { path: '.git/hooks/x.sample', type: 'link' },
    ],
    notMatch: [
      '.git/index',
      '.git/hooks/pre-commit.sample',
      { path: '.git/branches', type: 'directory' },
      { path: '.git/hooks', type: 'directory', kind: 'delete' },
      '.git/refs/heads/config',
      '.git/refs/heads/hooks/x',
      '.git/logs/HEAD',
      { path: '.git/config', kind: 'modify', before: '', after: '[branch "x"]\n\tmerge = refs/heads/x\n' },
      { path: 'clone/.git/config', after: '[core]\n\tbare = false\n' },
      { path: 'clone/.git/config', kind: 'delete', goneWith: 'clone' },
      { path: '.git/worktrees/w/commondir', after: '../..\n' },
      { path: '.git/worktrees/w/gitdir', after: '/srv/ws/w/.git\n' },
      { path: 'clone/.git/objects/info/alternates', after: '/srv/ws/.git/objects\n' },
      'x/config',
      'hooks/x',
    ],
  },
  {
    id: 'git.by_hand',
    action: 'hold',
    why: 'git alone writes in its repositories, and believes what is there',
    matches: ({ byHand }, { inGit }) => byHand === true && inGit !== undefined,
    match: [
      { path: '.git/index', byHand: true },
      { path: 'a/.git/objects/ab/c', byHand: true, kind: 'modify' },
    ],
    notMatch: ['.git/index', { path: '.gitignore', byHand: true }],
  },
  {
    id: 'git.named',
    action: 'hold',
    why: 'the configuration of a repository names it: git outside of the sandbox runs or obeys it',
    matches: ({ path, kind }, _place, { obeyed = [] }) =>
      obeyed.some((place) => isIn(path, place) || (isIn(place, path) && (kind === 'delete' || kind === 'replace'))),
    match: ['scripts/hooks/pre-commit', { path: 'scripts/hooks', type: 'directory', kind: 'delete' }],
    notMatch: ['scripts/build.js', 'scripts/hooks-old/x'],
  },
  {
    id: 'git.todo',
    action: 'hold',
    why: 'going on with the rebase would run the commands in it',
    whole: ({ path }) => path.slice(0, path.lastIndexOf('/')),
    matches: (change, place) => {
      if (gone(change) || change.type === 'directory' || !isTodo(place.inGit ?? [])) return false;
      const texts = change.texts?.();
      return texts === undefined || !isPlainTodo(texts.after);
    },
    match: [{ path: '.git/rebase-merge/git-rebase-todo', after: 'pick 1234567 x\nexec touch /tmp/x\n' }, '.git/sequencer/todo'],
    notMatch: [
      { path: '.git/rebase-merge/git-rebase-todo', after: 'pick 1234567 exec\n# Commands:\n' },
      { path: '.git/rebase-merge/git-rebase-todo', kind: 'delete' },
    ],
  },
  {
    id: 'control',
    action: 'hold',
    why: ({ path }) => controlRowOf(path.split('/'))?.who ?? 'another program runs or obeys it',
    whole: ({ path }) => controlDirectory(path),
    matches: (change, { inGit, inPackages }) => {
      if (inGit !== undefined) return false;
      const row = controlRowOf(change.path.split('/'));
      if (row?.id === 'interpreters') return !gone(change) && change.newWith?.('pyvenv.cfg') !== true;
      return row !== undefined && !inPackages && !isCopyOfObeyed(change);
    },
    match: [
      { path: '.vscode', type: 'directory' },
      { path: 'a/b/.claude/settings.json', kind: 'modify' },
      '.github/workflows/ci.yml',
      '.venv/lib/python3.11/site-packages/evil.pth',
      { path: '.envrc', kind: 'delete' },
      { path: '.vscode/tasks.json', sameAs: (other) => other === 'tasks.json' },
    ],
    notMatch: [
      'node_modules/x/.vscode/settings.json',
      { path: '.venv/lib/python3.11/site-packages/distutils-precedence.pth', newWith: (name) => name === 'pyvenv.cfg' },
      { path: '.venv/lib/python3.11/site-packages/x.pth', kind: 'delete' },
      { path: '.vscode/tasks.json', sameAs: (other) => other === '.vscode/tasks.json' },
      { path: 'clone/.vscode/tasks.json', sameAs: (other) => other === '.vscode/tasks.json' },
      { path: 'a/wt/.github/workflows', type: 'directory', sameAs: (other) => other === '.github/workflows' },
      '.git/refs/heads/.vscode/x',
      'src/index.ts',
    ],
  },
];

const applies: Verdict = { action: 'apply', rule: 'ordinary', why: 'ordinary work' };

export const judgeChange: EffectJudge = (change, ground) => {
  // Nobody runs or obeys a time. Git writes all files anew where its index has other owners than it sees, as it has of root's files.
  if (change.timesAlone === true) return applies;
  const place = placeOf(change);
  const found = effectRules.filter((rule) => rule.matches(change, place, ground));
  const rule = found.find(({ action }) => action === 'refuse') ?? found[0];
  if (rule === undefined) return applies;
  const whole = rule.whole?.(place);
  const why = typeof rule.why === 'string' ? rule.why : rule.why(change, place, ground);
  return { action: rule.action, rule: rule.id, why, ...(whole === undefined ? {} : { whole }) };
};
