/** A real workspace on a real store, in folders of the test's own. */

import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import { pathRules } from '#app/workspace/open-workspace';
import { seal } from '#audit/seal';
import { createPersonaSandboxes, type PersonaSandboxOptions } from '#connectors/persona-sandbox/persona-sandboxes';
import { createWorkspaceSearch } from '#connectors/ripgrep/create-workspace-search';
import { createWorkspaceFiles } from '#connectors/workspace-files/create-workspace-files';
import type { FilePlaces } from '#connectors/workspace-files/open-path';
import type { ListingLimits } from '#connectors/workspace-files/walk-entries';
import { createEffects, type Effects } from '#execution/effects/effects';
import { programRunner } from '#execution/run-child';
import { type Pinning, usualPinning } from '#files/directory-pin';
import type { FileJournal } from '#kernel/ports/file-journal';
import type { PersonaLedger } from '#kernel/ports/store';
import type { WorkspaceFiles, WorkspaceSearch } from '#kernel/ports/workspace';
import { judgeChange } from '#policy/effects/judge-change';
import { maxFileBytes } from '#policy/paths/decide-path';
import { secretDirectories, secretNames } from '#policy/paths/secret-files';
import { openSqliteStore } from '#stores/sqlite/open-sqlite-store';

export const scope = { agentId: 'mcp:laptop' };
export const never = new AbortController().signal;

export function temporaryFolder(prefix = 'banksman-workspace-'): string {
  const folder = realpathSync(mkdtempSync(path.join(os.tmpdir(), prefix)));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export interface TestWorkspace {
  /** Holds `ws`, the workspace, and `state`. */
  readonly base: string;
  readonly root: string;
  readonly personas: string;
  readonly ledger: PersonaLedger;
  readonly files: WorkspaceFiles;
  readonly search: WorkspaceSearch;
  /** Creates files below the workspace, directories included. */
  put(files: Readonly<Record<string, string | Buffer>>): void;
  absolute(name: string): string;
}

export interface TestWorkspaceOptions {
  readonly base?: string;
  readonly root?: string;
  readonly pinning?: Pinning;
  readonly clock?: { now(): number };
  readonly limits?: PersonaSandboxOptions['limits'];
  readonly mostBytes?: number;
  /** A reason: there is none. Left out: a real one, where directories are pinned by descriptors. */
  readonly journal?: FileJournal | string;
  readonly listing?: ListingLimits;
  readonly ripgrep?: readonly string[];
  readonly timeoutMs?: number;
}

export function openJournal(base: string, root: string): Effects {
  const quiet = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };
  return createEffects({
    workspaceRoot: root,
    journal: path.join(base, 'journal'),
    programs: programRunner,
    judge: judgeChange,
    log: quiet,
  });
}

// oxlint-disable-next-line complexity -- one default per option
export async function openTestWorkspace(options: TestWorkspaceOptions = {}): Promise<TestWorkspace> {
  const {
    base = temporaryFolder(),
    root = path.join(base, 'ws'),
    pinning = usualPinning,
    mostBytes = maxFileBytes,
    ripgrep: engines = [],
  } = options;
  const personas = path.join(base, 'state', 'personas');
  mkdirSync(root, { recursive: true });
  mkdirSync(personas, { recursive: true });
  const { clock } = options;
  const store = await openSqliteStore({ file: path.join(base, 'state', 'banksman.db'), seal, ...(clock && { clock }) });
  onTestFinished(() => store.close());
  const { limits, listing, journal = pinning === 'descriptors' ? openJournal(base, root) : 'nothing is kept in this test' } = options;
  const rooms = createPersonaSandboxes({ base: personas, ledger: store.personas, ...(limits && { limits }) });
  const places: FilePlaces = { rules: pathRules([root]), workspaceRoot: root, personas: rooms, pinning };
  return {
    base,
    root,
    personas,
    ledger: store.personas,
    files: createWorkspaceFiles({
      ...places,
      mostBytes,
      journal: async () => journal,
      notes: path.join(base, 'state', 'writing'),
      ...(listing && { listing }),
    }),
    search: createWorkspaceSearch({
      ...places,
      programs: programRunner,
      ripgrep: engines,
      secretNames: [...secretNames, ...secretDirectories],
      ...(options.timeoutMs === undefined ? {} : { timeoutMs: options.timeoutMs }),
    }),
    put: (files) => {
      for (const [name, content] of Object.entries(files)) {
        mkdirSync(path.dirname(path.join(root, name)), { recursive: true });
        writeFileSync(path.join(root, name), content);
      }
    },
    absolute: (name) => path.join(root, name),
  };
}

/** What must be there. */
export function required<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('it is not there');
  return value;
}

/** The code of the fault that `work` rejects with; `none` where it does not. */
export async function codeOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
    return 'none';
  } catch (thrown) {
    return thrown instanceof Error && 'code' in thrown ? String(thrown.code) : `not a fault: ${String(thrown)}`;
  }
}
