/**
 * The home directory that a command sees: the person's own path, in memory and empty, with what people install there read-only, and the
 * settings that tools obey copied in. SECURITY: a list of what is there. Keys, tokens, mail and histories are on no list.
 */

import { accessSync, constants, readdirSync, readFileSync, realpathSync, type Stats, statSync } from 'node:fs';
import path from 'node:path';
import type { ProgramRunner } from '#kernel/ports/program-runner';
import { isInside, programPlaces } from './entries.ts';

export interface SandboxHome {
  /** Absolute; `HOME` of the command. */
  readonly directory: string;
  /** Absolute directories of the host's that are bound read-only where they are, `/opt` included. */
  readonly visible: readonly string[];
  /** Those of them that tools write to; left out: none. */
  readonly caches?: readonly string[];
  /** Files that are made in there: absolute path → content. */
  readonly files: ReadonlyMap<string, string>;
  /** Where tools find themselves when that is not below the home directory. */
  readonly env: Readonly<Record<string, string>>;
}

/** Where there is no home directory, or one that must not be laid over. */
export const fallbackHome = '/home/banksman';
const systemPlaces = ['/usr', '/etc', '/dev', '/proc', '/sys', '/run', '/bin', '/sbin', '/lib', '/lib64', '/nix', '/boot'];

/**
 * Programs, packages that builds read, and the start files that tools are put on the `PATH` with. Never a tool's whole directory where it keeps
 * credentials, too (`.cargo`, `.npm`, `.docker`, `.deno`, `.rye`, `.m2`, `.gradle`).
 */
const installed = [
  // Whatever language.
  ...['bin', '.local/bin', '.local/lib', '.asdf', '.local/share/mise', '.nix-profile'],
  // C and C++, Haskell, OCaml, Lean, Julia, Elixir, PHP, .NET, Dart.
  ...['.ghcup/bin', '.ghcup/env', '.ghcup/ghc', '.ghcup/cabal', '.cabal/bin', '.stack/programs', '.opam', '.elan', '.juliaup'],
  ...[
    '.mix/archives',
    '.composer/vendor',
    '.config/composer/vendor',
    '.dotnet',
    'flutter/bin',
    '.pub-cache/bin',
    '.pub-cache/global_packages',
  ],
  // Go, JVM, Rust.
  ...['go/bin', 'sdk', '.local/go', '.jdks', '.sdkman', '.jenv', '.gradle/jdks', '.rustup', '.cargo/bin'],
  ...['.cargo/env', '.cargo/env.fish', '.cargo/env.nu', '.cargo/.crates.toml', '.cargo/.crates2.json'],
  // JavaScript.
  ...[
    '.nvm',
    '.config/nvm',
    '.volta',
    '.local/share/fnm',
    '.nodenv',
    '.local/share/pnpm',
    '.npm-global',
    '.config/yarn/global/node_modules',
  ],
  ...['.yarn/bin', '.deno/bin', '.deno/env', '.bun/bin', '.bun/install'],
  // Python, Ruby.
  ...[
    '.pyenv',
    '.local/pipx',
    '.local/share/pipx',
    '.local/share/uv',
    '.rye/env',
    '.rye/shims',
    '.rye/py',
    '.rye/uv',
    '.pixi/bin',
    '.pixi/envs',
  ],
  ...[
    '.conda',
    'miniconda3',
    'anaconda3',
    'miniforge3',
    'mambaforge',
    '.virtualenvs',
    '.local/share/virtualenvs',
    '.cache/pypoetry/virtualenvs',
  ],
  ...['.rbenv', '.rvm', '.gem/ruby', '.local/share/gem/ruby'],
];

/** Package caches, which tools write to while they build: over a view a command has a copy-on-write one of its own, which goes with it. */
const caches = [
  ...[
    '.cargo/registry',
    '.cargo/git',
    'go/pkg',
    '.m2/repository',
    '.m2/wrapper',
    '.nuget/packages',
    '.gradle/caches',
    '.gradle/wrapper/dists',
  ],
  ...['.npm/_cacache', '.cache/pip', '.cache/uv', '.cache/go-build', '.npm-global/lib/node_modules', '.npm-global/bin'],
];

/** Obeyed by builds. Copied only where nothing in one looks like a credential. */
const settings = [
  ...[
    '.cargo/config.toml',
    '.cargo/config',
    '.config/pip/pip.conf',
    '.pip/pip.conf',
    '.config/uv/uv.toml',
    '.condarc',
    '.npmrc',
    '.yarnrc',
  ],
  ...['.yarnrc.yml', '.m2/settings.xml', '.gradle/gradle.properties', '.bundle/config', '.config/go/env', '.nuget/NuGet/NuGet.Config'],
  ...['.tool-versions', '.asdfrc', '.config/mise/config.toml', '.config/git/ignore', '.config/git/attributes', '.editorconfig'],
];
const largestSetting = 65_536;
const credential = /token|passw|secret|credential|_auth|api[-_]?key|private[-_ ]?key|:\/\/[^/\s]*@/i;

/** Passed on where they name a place that the command sees. */
const ownPlaces = [
  ...['JAVA_HOME', 'MAVEN_HOME', 'M2_HOME', 'GRADLE_HOME', 'RUSTUP_HOME', 'CARGO_HOME', 'GOROOT', 'PYENV_ROOT', 'NVM_DIR', 'SDKMAN_DIR'],
  ...['CONDA_PREFIX', 'VOLTA_HOME', 'PNPM_HOME', 'DOTNET_ROOT', 'ANDROID_HOME', 'VIRTUAL_ENV'],
];

/** Shown wherever the caller's environment says that such a tool is, if that is there: people put these anywhere. */
const elsewhere: readonly (readonly [name: string, proof: string])[] = [
  ['JAVA_HOME', 'bin/java'],
  ['GOROOT', 'bin/go'],
  ['VIRTUAL_ENV', 'pyvenv.cfg'],
  ['CONDA_PREFIX', 'conda-meta'],
  ['ANDROID_HOME', 'platform-tools'],
];

export interface HomeOptions {
  /** The person's own. */
  readonly home: string;
  /** The caller's, for `PATH` and places of tools. */
  readonly environment: NodeJS.ProcessEnv;
  /** Of git, for the whole machine and this user. */
  readonly git: GitSettings;
  /** What is to run; left out: anything. */
  readonly command?: string;
}

/** A layer takes 10 ms, which every command would pay for the few that install something for all projects. */
const namesNpm = (command: string | undefined) => command === undefined || /\bnpm\b/.test(command);

export function findHome({ home, environment, git, command }: HomeOptions): SandboxHome {
  const directory = homeDirectory(home);
  const programs = installedPrograms({ home, environment });
  const written = [
    ...ownPlacesOf(directory, caches),
    ...(namesNpm(command) ? globalPackages(environment, [...programs, ...programPlaces]) : []),
  ];
  const visible = [...programs, ...written];
  const seen = (place: string) => [...visible, ...programPlaces].some((outer) => isInside(path.normalize(place), outer));
  const places = ownPlaces.flatMap((name) => {
    const value = environment[name];
    return value !== undefined && path.isAbsolute(value) && seen(value) ? [[name, value] as const] : [];
  });
  const copied = directory === fallbackHome ? [] : settings.flatMap((name) => settingFile(directory, name));
  const files = new Map([...copied, ...[...git.files].map(([name, text]) => [path.join(directory, name), text] as const)]);
  return { directory, visible, caches: written, files, env: Object.fromEntries(places) };
}

/**
 * Where `npm link` and `npm install --global` write, beside the first npm of the `PATH`; none where this user may not, or it is no installation. Source: `npm help folders`,
 * prefix configuration.
 */
function globalPackages({ PATH = '' }: NodeJS.ProcessEnv, installations: readonly string[]): readonly string[] {
  const npm = PATH.split(path.delimiter).find((entry) => path.isAbsolute(entry) && statOf(path.join(entry, 'npm')) !== undefined);
  if (npm === undefined) return [];
  try {
    const programs = realpathSync(npm);
    const places = [path.join(programs, '../lib/node_modules'), programs];
    for (const place of places) accessSync(place, constants.W_OK);
    // One that lies in a project is changed like the rest of it.
    const isInstalled = (place: string) => isDirectory(place) && installations.some((outer) => isInside(place, outer));
    return places.every(isInstalled) ? places : [];
  } catch {
    return [];
  }
}

/** Whether a run installed packages for all projects. @param layers where what it wrote to `SandboxHome.caches` lies, by their order */
export function hasInstalled(options: HomeOptions, layers: string): boolean {
  if (!namesNpm(options.command)) return false;
  const { caches: places = [] } = findHome(options);
  return places.some((place, index) => {
    const layer = path.join(layers, String(index));
    return /\/(?:bin|lib\/node_modules)$/.test(place) && isDirectory(layer) && readdirSync(layer).length > 0;
  });
}

/** Where people install programs in their home, below `/opt`, and elsewhere; absolute. */
export function installedPrograms({ home, environment }: Pick<HomeOptions, 'home' | 'environment'>): readonly string[] {
  const directory = homeDirectory(home);
  const found = [...ownPlacesOf(directory, installed), ...optional(environment['PATH'] ?? '')];
  const named = elsewhere.flatMap(([name, proof]) => {
    const place = path.normalize(environment[name] ?? '').replace(/\/$/, '');
    return isOfTool(place, directory) && statOf(path.join(place, proof)) !== undefined ? [place] : [];
  });
  return [...found, ...named.filter((place) => !found.some((outer) => isInside(place, outer)))];
}

/** SECURITY: never a directory that holds the home directory, or one in which many things lie. */
function isOfTool(place: string, home: string): boolean {
  const isDeep = path.isAbsolute(place) && place.split('/').length > 2;
  return isDeep && !isInside(home, place) && !systemPlaces.some((system) => isInside(place, system));
}

/** In ms: each run asks twice, and to look for all of them takes longer than some of what it does. What is installed meanwhile is seen a moment later. */
const lookCountsMs = 5_000;
const looked = new Map<readonly string[], { readonly directory: string; readonly at: number; readonly found: readonly string[] }>();

function ownPlacesOf(directory: string, names: readonly string[]): readonly string[] {
  const [last, now] = [looked.get(names), performance.now()];
  if (last?.directory === directory && now - last.at < lookCountsMs) return last.found;
  const found =
    directory === fallbackHome ? [] : names.map((name) => path.join(directory, name)).filter((place) => statOf(place) !== undefined);
  looked.set(names, { directory, at: now, found });
  return found;
}

/** The path that a command gets as its home. */
export function homeDirectory(home: string): string {
  const normal = path.normalize(home);
  const usable = path.isAbsolute(normal) && normal !== '/' && !systemPlaces.some((place) => isInside(normal, place));
  return usable && isDirectory(normal) ? normal.replace(/\/$/, '') : fallbackHome;
}

/** Directories below `/opt` that the caller's `PATH` names. */
function optional(searchPath: string): readonly string[] {
  const found = searchPath.split(path.delimiter).flatMap((entry) => /^\/opt\/[^/]+/.exec(path.normalize(entry)) ?? []);
  return [...new Set(found)].filter(isDirectory);
}

function settingFile(home: string, name: string): readonly (readonly [string, string])[] {
  const text = readSmall(path.join(home, name));
  return text === undefined || credential.test(text) ? [] : [[path.join(home, name), text]];
}

function readSmall(file: string): string | undefined {
  try {
    const stats = statSync(file, { throwIfNoEntry: false });
    return stats?.isFile() && stats.size <= largestSetting ? readFileSync(file, 'utf8') : undefined;
  } catch {
    return undefined;
  }
}

/** What this user cannot reach is not there: `HOME` may be another user's. */
function statOf(place: string): Stats | undefined {
  try {
    return statSync(place, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

function isDirectory(place: string): boolean {
  return statOf(place)?.isDirectory() ?? false;
}

/** What git obeys beside a repository's own configuration, as files below the home directory. */
export interface GitSettings {
  readonly files: ReadonlyMap<string, string>;
}

export const noGitSettings: GitSettings = { files: new Map() };

/** SECURITY: who commits, and how git compares, merges and shows. Nothing that holds or fetches credentials, signs, or reaches a server. */
const passedKeys =
  /^(?:user\.(?:name|email)|author\.|committer\.|init\.defaultbranch$|core\.(?:autocrlf|eol|safecrlf|quotepath|abbrev|whitespace|ignorecase|commentchar)$|alias\.|color\.|column\.|diff\.|filter\.|merge\.|rebase\.|rerere\.|pull\.|push\.(?:default|autosetupremote)$|fetch\.prune|log\.|status\.|commit\.(?:verbose|cleanup|status)$|tag\.sort|branch\.(?:sort|autosetup)|blame\.|grep\.|format\.pretty|pretty\.|advice\.|i18n\.|apply\.|safe\.directory$)/;

/** After this long the configuration is read again, in ms: a file that it includes may have changed. */
const rereadMs = 30_000;
const startLimitMs = 5_000;

/** @returns reads the settings that hold in `root`; nothing where there is no git */
export function followGitSettings(
  root: string,
  environment: NodeJS.ProcessEnv,
  programs: ProgramRunner,
): (signal: AbortSignal) => Promise<GitSettings> {
  let last: { readonly at: number; readonly settings: GitSettings } | undefined;
  return async (signal) => {
    const now = performance.now();
    if (last === undefined || now - last.at > rereadMs)
      last = { at: now, settings: await readGitSettings(root, environment, { programs, signal }) };
    return last.settings;
  };
}

async function readGitSettings(
  root: string,
  environment: NodeJS.ProcessEnv,
  { programs, signal }: { readonly programs: ProgramRunner; readonly signal: AbortSignal },
): Promise<GitSettings> {
  const env = Object.fromEntries(
    ['PATH', 'HOME', 'XDG_CONFIG_HOME'].flatMap((name) => (environment[name] === undefined ? [] : [[name, environment[name]]])),
  );
  // In the workspace, for `includeIf`; listing runs nothing that a repository configures.
  const args = ['-C', root, 'config', '--list', '-z', '--show-scope', '--includes'];
  const request = { program: 'git', args, cwd: '/', env, timeoutMs: startLimitMs, keepBytes: 1_048_576 };
  const listed = await programs.run(request, signal).catch((thrown: unknown) => {
    signal.throwIfAborted();
    void thrown;
    return undefined;
  });
  if (listed === undefined || listed.exitCode !== 0 || listed.truncated) return noGitSettings;
  const entries = scopedEntries(listed.stdout);
  const kept = entries.filter(({ key, value }) => passedKeys.test(key) && !credential.test(value));
  const files = new Map<string, string>();
  if (kept.length > 0) files.set('.gitconfig', kept.map(configLines).join(''));
  for (const [key, name] of [
    ['core.excludesfile', '.config/git/ignore'],
    ['core.attributesfile', '.config/git/attributes'],
  ] as const) {
    const named = entries.findLast((entry) => entry.key === key)?.value;
    const text = named === undefined ? undefined : readSmall(named.replace(/^~(?=\/)/, environment['HOME'] ?? '~'));
    if (text !== undefined) files.set(name, text);
  }
  return { files };
}

interface ConfigEntry {
  readonly key: string;
  readonly value: string;
}

/** `--show-scope -z`: scope NUL key LF value NUL, again and again; a key without a value has no LF and means true. */
function scopedEntries(text: string): readonly ConfigEntry[] {
  const parts = text.split('\0');
  const entries: ConfigEntry[] = [];
  for (let index = 0; index + 1 < parts.length; index += 2) {
    const [scope, entry = ''] = [parts[index], parts[index + 1]];
    const end = entry.indexOf('\n');
    if (scope === 'global' || scope === 'system')
      entries.push(end === -1 ? { key: entry, value: 'true' } : { key: entry.slice(0, end), value: entry.slice(end + 1) });
  }
  return entries;
}

/** `git-config(1)`, syntax: everything between the first and the last dot is the subsection. */
function configLines({ key, value }: ConfigEntry): string {
  const [first, last] = [key.indexOf('.'), key.lastIndexOf('.')];
  const quote = (text: string) => `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
  const subsection = first === last ? '' : ` ${quote(key.slice(first + 1, last))}`;
  const escaped = quote(value).replaceAll('\n', '\\n').replaceAll('\t', '\\t');
  return `[${key.slice(0, first)}${subsection}]\n\t${key.slice(last + 1)} = ${escaped}\n`;
}
