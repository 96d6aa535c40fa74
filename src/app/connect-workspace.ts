/** The workspace as the pipeline uses it: what tools may reach, and the policies that judge it. */
import { hostname } from 'node:os';
import path from 'node:path';
import { createPathFacts } from '#connectors/workspace-files/path-facts';
import { createCommandRunner } from '#execution/command-runner';
import { programRunner } from '#execution/run-program';
import { deny } from '#kernel/decision';
import type { RunHistory } from '#kernel/effects';
import { Fault, toFault } from '#kernel/errors';
import type { AuditLog } from '#kernel/ports/audit-log';
import type { CommandRunner, SandboxStatus } from '#kernel/ports/command-runner';
import type { Log } from '#kernel/ports/log';
import type { PersonaLedger } from '#kernel/ports/persona-ledger';
import type { Store } from '#kernel/ports/store';
import type { ApprovalSource } from '#kernel/security';
import type { WorkspaceAccess } from '#kernel/tool';
import type { WorkspaceJudge } from '#pipeline/deps';
import type { CommandDecision } from '#policy/commands/command-decision';
import { decideReadonlyCommand } from '#policy/commands/decide-readonly-command';
import { decideWorkspaceCommand } from '#policy/commands/workspace/decide-workspace-command';
import { loadShellParser, type ShellParser } from '#policy/commands/workspace/shell-parser';
import { decideByEffects } from '#policy/effects/decide-by-effects';
import { judgeChange } from '#policy/effects/judge-change';
import { isControlPath } from '#policy/paths/control-files';
import { isSecretPath } from '#policy/paths/secret-files';
import type { WorkspaceView } from '#policy/paths/workspace-view';
import type { Config } from './config.ts';
import { openLedger } from './open-store.ts';
import { type OpenWorkspace, openWorkspace } from './open-workspace.ts';
import { makeConfigDirectory, type OwnPlacesParts, ownPlaces } from './own-places.ts';
import { shellGrammar } from './shell-grammar.ts';

export interface WorkspaceParts extends OwnPlacesParts {
  readonly log: Log;
  readonly via: ApprovalSource;
  /** Where `workspace.root` counts from: the window's first folder, the command line's directory. Absent: there is no workspace. */
  readonly workspaceBase?: string;
  /** The editor's own directory: it brings ripgrep along. */
  readonly editorRoot?: string;
}

export interface ConnectedWorkspace {
  /** Absent where the root cannot be used: `judge` refuses with the reason then. */
  readonly access?: WorkspaceAccess;
  readonly judge: WorkspaceJudge;
  /** Which directory on which machine; absent where the root cannot be used. */
  readonly place?: string;
  /** Starts the periodic cleaning of the agents' sandboxes; for processes that stay. */
  startCleaning(): void;
  close(): Promise<void>;
}

/**
 * undefined where there is no workspace. A root that cannot be used: an editor's window goes on without files and commands, which are refused
 * with the reason (`workspace.root` may fit one window and not the next); so does a program that was merely started in a directory that is no
 * workspace (agents start theirs in `/` or in the home directory). Where `workspace.root` names such a place, it does not start.
 * @throws {Fault} `bad_config`
 */
export async function connectWorkspace(parts: WorkspaceParts, store: Store): Promise<ConnectedWorkspace | undefined> {
  const { workspaceBase, log } = parts;
  if (workspaceBase === undefined) return undefined;
  const root = path.resolve(workspaceBase, parts.config.workspace.root);
  const { ledger, close } = await openLedger(store, parts);
  try {
    const connected = connect(parts, root, ledger);
    return { ...connected, close: async () => void (await Promise.all([connected.close(), close()])) };
  } catch (thrown) {
    await close();
    const { code, message } = toFault(thrown);
    const isWide = code === 'workspace_too_wide';
    if (parts.via !== 'editor') {
      if (isWide && root === path.resolve(workspaceBase)) return refusingWorkspace(code, message);
      throw badRoot(root, thrown);
    }
    const why = isWide ? message : `${message}; open a folder, or correct \`workspace.root\``;
    log.warn(`no workspace: ${why}`);
    return refusingWorkspace(isWide ? code : 'no_workspace', why);
  }
}

function badRoot(root: string, cause: unknown): Fault {
  const { code, message } = toFault(cause);
  if (code === 'workspace_too_wide') return new Fault('bad_config', `\`workspace.root\`: ${message}`, { cause });
  return new Fault('bad_config', `\`workspace.root\`: must be a directory that can be read; found \`${root}\``, {
    next: 'correct it, or leave it out: the current directory is the workspace then',
    cause,
  });
}

function refusingWorkspace(code: string, why: string): ConnectedWorkspace {
  const decision = deny(code, why, ['workspace:none']);
  const sandbox: SandboxStatus = { state: 'unavailable', reason: why };
  return {
    judge: { decideCommand: async () => ({ decision }), decidePath: async () => ({ decision }), sandbox: async () => sandbox },
    startCleaning: () => undefined,
    close: async () => undefined,
  };
}

function connect(parts: WorkspaceParts, root: string, ledger: PersonaLedger): ConnectedWorkspace {
  const { config, stateDir, configFile, log, editorRoot } = parts;
  const workspace = openWorkspace({
    root,
    stateDir,
    own: (real) => ownPlaces(parts, real),
    ledger,
    programs: programRunner,
    ripgrep: editorRoot === undefined ? {} : { editorRoot },
    log,
  });
  makeConfigDirectory(configFile, workspace.root);
  const runner = createCommandRunner({
    workspaceRoot: workspace.root,
    stateDir,
    hiddenPaths: workspace.own,
    requireSandbox: config.workspace.requireSandbox,
    rules: { isControl: isControlPath, isSecret: isSecretPath },
    judge: judgeChange,
    log,
  });
  return {
    place: `${workspace.root} on ${hostname()}`,
    access: { files: workspace.files, search: workspace.search, runner },
    judge: createJudge({ workspace, runner, config, root }),
    startCleaning: () => workspace.startCleaning(),
    close: () => workspace.close(),
  };
}

interface JudgeParts {
  readonly workspace: OpenWorkspace;
  readonly runner: CommandRunner;
  readonly config: Config;
  /** As it was given; `workspace.root` has its links resolved. */
  readonly root: string;
}

function createJudge({ workspace, runner, config, root }: JudgeParts): WorkspaceJudge {
  const view: WorkspaceView = {
    ground: { roots: [...new Set([workspace.root, root])], platform: process.platform === 'win32' ? 'win32' : 'posix' },
    facts: createPathFacts(workspace.root),
  };
  const userRules = config.commandRules;
  // Some 100 ms, once, and only where a command of a developer's shell is judged.
  let parser: Promise<ShellParser> | undefined;
  return {
    decideCommand: async (surface, text) => {
      const judged = (await runner.status()).view?.judged === true;
      const finish = (decided: CommandDecision) => (judged ? decideByEffects(text, decided, userRules) : decided);
      if (surface === 'readonly_bash') return finish(decideReadonlyCommand(text, view, userRules));
      parser ??= loadShellParser(shellGrammar());
      return finish(decideWorkspaceCommand(text, { parser: await parser, view, userRules }));
    },
    decidePath: (name, use, agentId) => workspace.judgePath(name, use, agentId),
    sandbox: () => runner.status(),
  };
}

/** What is known of the sandbox so far, for records and the status bar. */
export function createSandboxMemory(workspace: ConnectedWorkspace | undefined) {
  let known: SandboxStatus = workspace === undefined ? withoutWorkspace : notTried;
  return {
    current: (): SandboxStatus => known,
    /** One word for a record: a state that nobody has looked at is not said to be one. */
    word: (): string => (known === notTried ? 'not_checked' : known.state),
    refresh: async (): Promise<SandboxStatus> => {
      known = workspace === undefined ? withoutWorkspace : await workspace.judge.sandbox();
      return known;
    },
  };
}

const notTried: SandboxStatus = { state: 'unavailable', reason: 'it has not been tried yet' };
const withoutWorkspace: SandboxStatus = { state: 'unavailable', reason: 'there is no workspace, so no command runs' };

/** What commands changed; taking it back goes to the trail. undefined where nothing is kept. */
export async function recordedHistory(
  workspace: ConnectedWorkspace | undefined,
  audit: Pick<AuditLog, 'append'>,
): Promise<RunHistory | undefined> {
  const history = await workspace?.access?.runner.history?.();
  if (history === undefined) return undefined;
  return {
    list: history.list,
    undo: async (id, options) => {
      const undone = await history.undo(id, options);
      const { created, changed, deleted } = undone;
      const counts = { created: created.length, changed: changed.length, deleted: deleted.length };
      await audit.append({ name: 'run.undone', attributes: { run: id, forced: options.force, ...counts } });
      return undone;
    },
  };
}
