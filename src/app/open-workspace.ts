/** The workspace of this process: its files, its search, and the agents' own sandboxes. */
import { realpathSync, statSync } from 'node:fs';
import path from 'node:path';
import { createPersonaSandboxes } from '#connectors/persona-sandbox/persona-sandboxes';
import { startCleaning } from '#connectors/persona-sandbox/start-cleaning';
import { createWorkspaceSearch } from '#connectors/ripgrep/create-workspace-search';
import { type RipgrepPlaces, ripgrepCandidates } from '#connectors/ripgrep/ripgrep-candidates';
import { createWorkspaceFiles } from '#connectors/workspace-files/create-workspace-files';
import type { FilePlaces } from '#connectors/workspace-files/open-path';
import { usualPinning } from '#connectors/workspace-files/pin-root';
import { Fault } from '#kernel/errors';
import type { Log } from '#kernel/ports/log';
import type { PersonaLedger } from '#kernel/ports/persona-ledger';
import type { ProgramRunner } from '#kernel/ports/program-runner';
import type { PathUse } from '#kernel/resource';
import type { WorkspaceAccess } from '#kernel/tool';
import { maxFileBytes } from '#policy/paths/decide-path';
import { secretDirectories, secretNames } from '#policy/paths/secret-files';
import { createPathJudge, type JudgedPath, pathRules } from './path-policy.ts';
import { tooWideForWorkspace } from './paths.ts';
import { type PersonaControl, personaBase, personaControl } from './persona-control.ts';

export interface WorkspaceOptions {
  /** The workspace's directory, absolute, as it was given. */
  readonly root: string;
  readonly stateDir: string;
  /** Of this layer's own, absolute, below the root: which no tool may touch. */
  own(root: string): readonly string[];
  readonly ledger: PersonaLedger;
  readonly programs: ProgramRunner;
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
  readonly sandboxes: PersonaControl;
  /** Starts the periodic cleaning of unused sandboxes. For processes that stay; `close` ends it. */
  startCleaning(): void;
  close(): Promise<void>;
}

/** @throws {Fault} `no_workspace` where `root` is no directory; `workspace_too_wide` where it is the file system's root or the home directory */
export function openWorkspace(options: WorkspaceOptions): OpenWorkspace {
  const { ledger, programs, log } = options;
  const root = realRoot(options.root);
  const wide = tooWideForWorkspace(root);
  if (wide !== undefined) throw new Fault('workspace_too_wide', `${wide}; open a folder below it, or name one in \`workspace.root\``);
  const base = personaBase(options.stateDir);
  const own = options.own(root);
  const rules = pathRules(
    [...new Set([root, path.resolve(options.root)])],
    own.map((place) => path.relative(root, place).split(path.sep)),
  );
  const places: FilePlaces = { rules, workspaceRoot: root, personas: createPersonaSandboxes({ base, ledger }), pinning: usualPinning };
  let cleaning: ReturnType<typeof startCleaning> | undefined;
  return {
    root,
    own,
    files: createWorkspaceFiles({ ...places, mostBytes: maxFileBytes }),
    search: createWorkspaceSearch({
      ...places,
      programs,
      ripgrep: ripgrepCandidates({ searchPath: process.env['PATH'] ?? '', ...options.ripgrep }),
      secretNames: [...secretNames, ...secretDirectories],
    }),
    judgePath: createPathJudge({ rules, workspaceRoot: root, ledger, personaDirectory: (directory) => path.join(base, directory) }),
    sandboxes: personaControl(base, ledger),
    startCleaning: () => {
      cleaning ??= startCleaning({ base, ledger, log, now: Date.now });
    },
    close: async () => cleaning?.stop(),
  };
}

function realRoot(root: string): string {
  try {
    const real = realpathSync(root);
    if (statSync(real).isDirectory()) return real;
  } catch (cause) {
    throw noWorkspace(root, cause);
  }
  throw noWorkspace(root, undefined);
}

function noWorkspace(root: string, cause: unknown): Fault {
  return new Fault('no_workspace', `the workspace \`${root}\` is no directory that can be read`, {
    ...(cause === undefined ? {} : { cause }),
    next: 'open a folder, or set `workspace.root`',
  });
}
