/** The file tools of a workspace with its journal, without a store: for processes of their own, too. */

import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { pathRules } from '#app/workspace/open-workspace';
import { createWorkspaceFiles } from '#connectors/workspace-files/create-workspace-files';
import { createEffects, type Effects } from '#execution/effects/effects';
import { programRunner } from '#execution/run-child';
import { usualPinning } from '#files/directory-pin';
import type { WorkspaceFiles } from '#kernel/ports/workspace';
import { judgeChange } from '#policy/effects/judge-change';

export interface FilesBench {
  readonly workspace: string;
  readonly journal: string;
  readonly effects: Effects;
  readonly files: WorkspaceFiles;
}

const quiet = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

/** @param without why there is no journal; left out: there is one */
export function openFilesBench(base: string, without?: string): FilesBench {
  const [workspace, journal] = [path.join(base, 'ws'), path.join(base, 'journal')];
  mkdirSync(workspace, { recursive: true });
  const effects = createEffects({ workspaceRoot: workspace, journal, programs: programRunner, judge: judgeChange, log: quiet });
  const files = createWorkspaceFiles({
    rules: pathRules([workspace]),
    workspaceRoot: workspace,
    personas: { room: async () => undefined },
    pinning: usualPinning,
    mostBytes: 50_000_000,
    journal: async () => without ?? effects,
    notes: path.join(base, 'writing'),
  });
  return { workspace, journal, effects, files };
}
