/** The workspace of this process: its files, its search, and the agents' own sandboxes. */
import { join, relative, resolve, sep } from 'node:path';
import {
  type Cleaned,
  cleanSandboxes,
  createPersonaSandboxes,
  personaLifeMs,
  recount,
  startCleaning,
} from '#connectors/persona-sandbox/persona-sandboxes';
import { createWorkspaceSearch } from '#connectors/ripgrep/create-workspace-search';
import { type RipgrepPlaces, ripgrepCandidates } from '#connectors/ripgrep/search-with-ripgrep';
import { createWorkspaceFiles } from '#connectors/workspace-files/create-workspace-files';
import { type FilePlaces, type PathRules, type PlacedPath, showPath } from '#connectors/workspace-files/open-path';
import { createPathFacts } from '#connectors/workspace-files/path-facts';
import { configuredPlaces, repositoriesAround } from '#execution/sandbox/git-directory';
import { usualPinning } from '#files/directory-pin';
import { type Decision, deny } from '#kernel/decision';
import { Fault } from '#kernel/errors';
import type { FileJournal } from '#kernel/ports/file-journal';
import type { Log } from '#kernel/ports/log';
import type { PathFact, PathFacts, Segments } from '#kernel/ports/path-facts';
import type { ProgramRunner } from '#kernel/ports/program-runner';
import type { PersonaAccount, PersonaLedger } from '#kernel/ports/store';
import type { PathUse } from '#kernel/resource';
import type { WorkspaceAccess } from '#kernel/tool';
import { decidePath, maxFileBytes, type WorkspaceView } from '#policy/paths/decide-path';
import { type Ground, locatePath, type Platform } from '#policy/paths/locate-path';
import { secretDirectories, secretNames } from '#policy/paths/secret-files';
import { checkWorkspace, workspaceStateDir } from '../config/paths.ts';
import { openStore, type StoreOptions } from '../store/open-store.ts';

export interface WorkspaceOptions {
  /** The workspace's directory, absolute, as it was given. */
  readonly root: string;
  readonly stateDir: string;
  /** Of this layer's own, absolute, below the root: which no tool may touch. */
  own(root: string): readonly string[];
  readonly ledger: PersonaLedger;
  readonly programs: ProgramRunner;
  /** Where changes of files are kept; a reason where they are not. Asked at the first change. */
  journal(): Promise<FileJournal | string>;
  /** Without `searchPath`: the process's own PATH. */
  readonly ripgrep: RipgrepPlaces;
  readonly log: Log;
}

export interface OpenWorkspace extends Pick<WorkspaceAccess, 'files' | 'search'> {
  /** The root with links resolved. */
  readonly root: string;
  /** As `WorkspaceOptions.own` gave it. */
  readonly own: readonly string[];
  /** For the pipeline, before anybody is asked: what the policy says of a path, and what it is after links. */
  judgePath(path: string, use: PathUse, agentId: string): Promise<JudgedPath>;
  /** The same of the workspace alone: `/tmp` is no agent's sandbox. */
  judgeInside(path: string, use: PathUse): JudgedPath;
  readonly sandboxes: PersonaControl;
  /** Starts the periodic cleaning of unused sandboxes. For processes that stay; `close` ends it. */
  startCleaning(): void;
  close(): Promise<void>;
}

/** @throws {Fault} `no_workspace` where `root` is no directory; `workspace_too_wide` where it is no project's folder (`checkWorkspace`) */
export function openWorkspace(options: WorkspaceOptions): OpenWorkspace {
  const { ledger, programs, log } = options;
  const root = checkWorkspace(options.root);
  const base = personaBase(options.stateDir);
  const own = options.own(root);
  const rules = pathRules(
    [...new Set([root, resolve(options.root)])],
    own.map((place) => relative(root, place).split(sep)),
  );
  const places: FilePlaces = { rules, workspaceRoot: root, personas: createPersonaSandboxes({ base, ledger }), pinning: usualPinning };
  let cleaning: ReturnType<typeof startCleaning> | undefined;
  return {
    root,
    own,
    files: createWorkspaceFiles({
      ...places,
      mostBytes: maxFileBytes,
      journal: options.journal,
      notes: join(options.stateDir, 'writing'),
    }),
    search: createWorkspaceSearch({
      ...places,
      programs,
      ripgrep: ripgrepCandidates({ searchPath: process.env['PATH'] ?? '', ...options.ripgrep }),
      secretNames: [...secretNames, ...secretDirectories],
    }),
    ...createPathJudge({ rules, workspaceRoot: root, ledger, personaDirectory: (directory) => join(base, directory) }),
    sandboxes: personaControl(base, ledger),
    startCleaning: () => {
      cleaning ??= startCleaning({ base, ledger, log, now: Date.now });
    },
    close: async () => cleaning?.stop(),
  };
}

/** What was decided about a path, and what it is after links: `real` belongs into the digest. */
interface JudgedPath {
  readonly decision: Decision;
  /** undefined where it is nothing that could be named (outside, a circle). */
  readonly real?: string;
}

/**
 * Whether `/tmp/…` may mean the agent's own sandbox. Where the workspace is itself below the machine's `/tmp`, what stands beside it there
 * is a neighbour that somebody tries to reach, not a sandbox.
 */
function mayBePersona(path: string, roots: readonly string[]): boolean {
  const first = /^\/+tmp(?:\/+([^/]*)|$)/.exec(path);
  return first !== null && !roots.some((root) => (first[1] ?? '') !== '' && root.startsWith(`/tmp/${first[1]}/`));
}

const platform: Platform = process.platform === 'win32' ? 'win32' : 'posix';

/** Every agent's own sandbox is `/tmp` to it. */
const personaGround: Ground = { roots: ['/tmp'], platform: 'posix' };

/** @param own what in the workspace is this layer's own, links resolved (`ownPlaces`): no use of it is allowed */
export function pathRules(roots: readonly string[], own: readonly Segments[] = []): PathRules {
  const workspaceGround: Ground = { roots, platform };
  const isOwn = (segments: Segments) => own.some((entry) => entry.every((name, index) => sameName(name, segments[index])));
  const place = (path: string): PlacedPath => {
    const inWorkspace = locatePath(path, workspaceGround);
    // The workspace first: it may itself be below the machine's `/tmp`.
    if (inWorkspace.ok) return { ok: true, root: 'workspace', segments: inWorkspace.segments };
    const inPersona = mayBePersona(path, roots) ? locatePath(path, personaGround) : undefined;
    return inPersona?.ok ? { ok: true, root: 'persona', segments: inPersona.segments } : { ...inWorkspace };
  };
  return {
    place,
    decide: (path, use, fact) => {
      const placed = place(path);
      const ground = placed.ok && placed.root === 'persona' ? personaGround : workspaceGround;
      if (ground === workspaceGround && placed.ok && (isOwn(placed.segments) || ('path' in fact && isOwn(fact.path)))) return ownFile;
      return decidePath(path, narrowed(use, fact), {
        ground,
        facts: { look: () => fact },
        ...(ground === workspaceGround ? repositoriesOf(roots[0] ?? '/') : {}),
      });
    },
  };
}

function repositoriesOf(root: string): Pick<WorkspaceView, 'obeyed' | 'repositoryOf'> {
  return {
    obeyed: (segments) => obeyedAbove(root, segments),
    repositoryOf: (segments) => repositoriesAround(root, new Set([segments.join('/')]))(segments.join('/')),
  };
}

/** What the repositories on the way name in their configuration, without looking for others. */
function obeyedAbove(root: string, segments: Segments): readonly string[] {
  const directories = segments.map((_name, depth) => segments.slice(0, depth));
  return directories.flatMap((above) => configuredPlaces(root, [...above, '.git']).map((place) => place.join('/')));
}

const ownFile = deny('OWN_FILE', 'this is Banksman’s own state or configuration, which no tool touches', ['path.own']);

/** On systems that usually fold the case of names, names that differ in nothing else are the same. */
function sameName(own: string, name: string | undefined): boolean {
  return name !== undefined && (own === name || (process.platform !== 'linux' && own.toLowerCase() === name.toLowerCase()));
}

/** A search takes a file or a directory; the policy knows reading the one and listing the other. */
function narrowed(use: PathUse, fact: PathFact): Exclude<PathUse, 'search'> {
  if (use !== 'search') return use;
  return fact.kind === 'directory' ? 'list' : 'read';
}

function outsideOf(path: string): PlacedPath {
  return { ok: false, code: 'PATH_OUTSIDE_WORKSPACE', message: `\`${path.slice(0, 100)}\` is outside the workspace` };
}

export interface PathJudgeOptions {
  readonly rules: PathRules;
  readonly workspaceRoot: string;
  readonly ledger: PersonaLedger;
  /** The directory that holds a sandbox's files. */
  readonly personaDirectory: (directory: string) => string;
}

/** Judges a path before a call runs; the file connector judges again when it opens it. */
function createPathJudge({ rules, workspaceRoot, ledger, personaDirectory }: PathJudgeOptions) {
  const workspace = createPathFacts(workspaceRoot);
  const factsFor = async (agentId: string): Promise<PathFacts | undefined> => {
    const account = await ledger.find(agentId);
    return account === undefined ? undefined : createPathFacts(personaDirectory(account.directory));
  };
  const judge = (path: string, use: PathUse, placed: PlacedPath, facts: PathFacts | undefined): JudgedPath => {
    if (!placed.ok) return { decision: deny(placed.code, `${placed.message}; name a path in the workspace`, ['path.text']) };
    const fact: PathFact = facts?.look(placed.segments) ?? { kind: 'missing', path: placed.segments };
    const real = 'path' in fact ? { real: showPath(placed.root, fact.path) } : {};
    return { decision: rules.decide(path, use, fact), ...real };
  };
  return {
    judgePath: async (path: string, use: PathUse, agentId: string) => {
      const placed = rules.place(path);
      return judge(path, use, placed, placed.ok && placed.root === 'persona' ? await factsFor(agentId) : workspace);
    },
    judgeInside: (path: string, use: PathUse) => {
      const placed = rules.place(path);
      const isInside = !placed.ok || placed.root === 'workspace';
      return judge(path, use, isInside ? placed : outsideOf(path), workspace);
    },
  };
}

interface PersonaControl {
  /** Counted anew from the disk, the largest first. */
  stats(): Promise<readonly PersonaAccount[]>;
  /** Removes what nobody used for 24 hours; `all`: everything. */
  clean(all: boolean): Promise<Cleaned>;
}

/** Private to this user and outside every workspace: a command in the OS sandbox does not see the state directory. */
export function personaBase(stateDir: string): string {
  return join(resolve(stateDir), 'personas');
}

/** The agents' own sandboxes, for people: what they hold, and removing them. */
export function personaControl(base: string, ledger: PersonaLedger): PersonaControl {
  return {
    stats: async () => {
      for (const account of await ledger.list()) await recount(ledger, base, account);
      return ledger.list();
    },
    // What is used in this very millisecond counts as used before it.
    clean: (all) => cleanSandboxes({ base, ledger, before: all ? Date.now() + 1 : Date.now() - personaLifeMs }),
  };
}

/** The account is the embedded store's, whatever else is configured: the directories are on this machine. @throws {Fault} `store_…` */
export async function withPersonaControl<T>(options: StoreOptions, work: (control: PersonaControl) => Promise<T>): Promise<T> {
  const embedded = options.config.store.startsWith('sqlite:') ? options.config.store : 'sqlite:';
  const store = await openStore({ ...options, config: { ...options.config, store: embedded } });
  try {
    if (store.personas === undefined)
      throw new Fault('internal_error', 'internal error: the embedded store has no ledger', { audience: 'bug' });
    return await work(personaControl(personaBase(workspaceStateDir(options.stateDir)), store.personas));
  } finally {
    await store.close();
  }
}
