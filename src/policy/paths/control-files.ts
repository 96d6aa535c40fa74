/**
 * Files that make another program run something later, outside every sandbox: hooks, editor and container settings, start-up files. Writing
 * one is a person's decision.
 */
import type { Segments } from '#kernel/ports/path-facts';
import { foldName } from './secret-files.ts';

const directories: ReadonlySet<string> = new Set([
  '.git',
  'git~1',
  '.hg',
  '.svn',
  '.idea',
  '.devcontainer',
  '.husky',
  '.claude',
  '.codex',
  '.gemini',
  '.continue',
  '.kiro',
  '.opencode',
  '.roo',
  '.fleet',
  '.zed',
  '.direnv',
  '.emacs.d',
  '.vim',
  '.oh-my-zsh',
  '.ssh',
  '.gnupg',
  '.aws',
  '.kube',
  '.docker',
  '.cargo',
  '.yarn',
]);
/** Of a folder and, below a home, of the user and of the machine (`.vscode-server/data/Machine`), where Banksman's own settings are. */
const editors = /^\.(?:vscode|vscodium|cursor|windsurf)(?:-[a-z-]+)?$/;
const names: ReadonlySet<string> = new Set([
  ...[
    '.mcp.json',
    '.envrc',
    '.gitmodules',
    '.gitconfig',
    '.devcontainer.json',
    '.bashrc',
    '.bash_profile',
    '.bash_login',
    '.bash_logout',
    '.bash_aliases',
    '.profile',
    '.zshrc',
    '.zprofile',
    '.zshenv',
    '.zlogin',
    '.zlogout',
    '.login',
    '.cshrc',
    '.tcshrc',
    '.pam_environment',
    '.xinitrc',
    '.xprofile',
    '.xsession',
    '.xsessionrc',
  ],
  ...[
    '.npmrc',
    '.yarnrc',
    '.yarnrc.yml',
    '.pnpmfile.cjs',
    '.pnp.cjs',
    '.ripgreprc',
    '.lesskey',
    '.inputrc',
    '.vimrc',
    '.exrc',
    '.nvimrc',
    '.emacs',
    '.tmux.conf',
    '.screenrc',
    '.gdbinit',
    '.lldbinit',
    '.pdbrc',
    '.irbrc',
    '.pryrc',
    '.psqlrc',
    '.sqliterc',
    '.rprofile',
    '.curlrc',
    '.wgetrc',
    '.mailcap',
    '.netrc',
    '.pre-commit-config.yaml',
    '.tool-versions',
    '.mise.toml',
  ],
  ...['sitecustomize.py', 'usercustomize.py'],
]);

/** Directories below a home that configure programs or hold them, wherever a home lies in the workspace. Banksman's own are among them. */
const homes: readonly (readonly string[])[] = [
  ['.config'],
  ['.local', 'bin'],
  ['.local', 'state', 'banksman'],
  ['.local', 'share', 'applications'],
  ['.local', 'share', 'code-server'],
  ['.local', 'share', 'systemd'],
  ['library', 'launchagents'],
  ['library', 'application support'],
  ['appdata', 'roaming'],
];

/** Whether writing the path plants something that runs later; `segments` are below the root. */
export function isControlPath(segments: Segments): boolean {
  const folded = segments.map(foldName);
  if (folded.some((segment) => directories.has(segment) || editors.test(segment)) || homes.some((home) => holds(folded, home))) return true;
  const name = folded.at(-1) ?? '';
  if (names.has(name) || name.endsWith('.code-workspace')) return true;
  return folded[0] === '.github' && (folded[1] === 'hooks' || folded[1] === 'agents');
}

/** Whether `part` stands in the segments and something below it. */
export function holds(segments: Segments, part: readonly string[]): boolean {
  return segments.some(
    (_segment, start) => start + part.length < segments.length && part.every((name, index) => segments[start + index] === name),
  );
}
