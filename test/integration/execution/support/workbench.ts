/** A workspace, a state directory and a runner over them. */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { CommandLimits } from '#execution/command-ground';
import { createCommandRunner } from '#execution/command-runner';
import type { CommandRequest, CommandResult, CommandRunner } from '#kernel/ports/command-runner';
import { isControlPath } from '#policy/effects/control-places';
import { isSecretPath } from '#policy/paths/secret-files';
import { temporaryDirectory } from './temporary.ts';

export interface Workbench {
  readonly root: string;
  readonly workspace: string;
  readonly state: string;
  readonly runner: CommandRunner;
  readonly lines: readonly string[];
  run(command: string, more?: Partial<CommandRequest>, signal?: AbortSignal): Promise<CommandResult>;
  /** Writes files of the workspace, directories included. */
  files(content: Readonly<Record<string, string>>): void;
}

export interface BenchOptions {
  readonly limits?: Partial<CommandLimits>;
  readonly environment?: NodeJS.ProcessEnv;
  readonly requireSandbox?: boolean;
  readonly hidden?: (root: string) => readonly string[];
  /** The workspace's place below the bench's root. */
  readonly workspace?: string;
  readonly state?: string;
}

export function openWorkbench(options: BenchOptions = {}): Workbench {
  const root = temporaryDirectory('bench-');
  const workspace = path.join(root, options.workspace ?? 'ws');
  const state = path.join(root, options.state ?? 'state');
  mkdirSync(workspace, { recursive: true });
  const lines: string[] = [];
  const note = (line: string) => void lines.push(line);
  const runner = createCommandRunner({
    workspaceRoot: workspace,
    stateDir: state,
    hiddenPaths: options.hidden?.(root) ?? [],
    requireSandbox: options.requireSandbox ?? false,
    rules: { isControl: isControlPath, isSecret: isSecretPath },
    log: { debug: note, info: note, warn: note, error: note },
    // A busy machine is no reason to leave out half of the workspace.
    limits: { scanMs: 30_000, ...options.limits },
    ...(options.environment === undefined ? {} : { environment: options.environment }),
  });
  return {
    root,
    workspace,
    state,
    runner,
    lines,
    run: (command, more = {}, signal = new AbortController().signal) =>
      runner.run(
        { command, surface: 'workspace_command', timeoutMs: 30_000, network: false, agentId: 'cli:test', ...more },
        signal,
        () => undefined,
      ),
    files: (content) => {
      for (const [name, text] of Object.entries(content)) {
        const file = path.join(workspace, name);
        mkdirSync(path.dirname(file), { recursive: true });
        writeFileSync(file, text);
      }
    },
  };
}
