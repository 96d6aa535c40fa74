/** The workspace as the pipeline uses it: what tools may reach, and the policies that judge it. */

import { mkdirSync, realpathSync } from 'node:fs';
import { hostname } from 'node:os';
import path from 'node:path';
import { programRunner } from '#execution/run-child';
import { runsFolder } from '#execution/sandbox/entries';
import type { ApprovalSource } from '#kernel/approval/security';
import { deny } from '#kernel/decision';
import type { RunHistory } from '#kernel/effects';
import { Fault, toFault } from '#kernel/errors';
import type { AuditLog } from '#kernel/ports/audit-log';
import type { CommandRunner, SandboxStatus } from '#kernel/ports/command-runner';
import type { Log } from '#kernel/ports/log';
import type { PersonaLedger, Store } from '#kernel/ports/store';
import { say } from '#kernel/text/message';
import type { WorkspaceAccess } from '#kernel/tool';
import type { WorkspaceJudge } from '#pipeline/deps';
import { isControlPath } from '#policy/effects/control-places';
import { decideAgentShell } from '#policy/effects/decide-agent-shell';
import { decideCommand } from '#policy/effects/decide-command';
import { judgeChange } from '#policy/effects/judge-change';
import { isSecretPath } from '#policy/paths/secret-files';
import { spoolFolder } from '../attempts/spool.ts';
import { learnedCertificatesFolder } from '../clusters/connect-clusters.ts';
import type { Config } from '../config/config.ts';
import { expandPath, workspaceStateDir } from '../config/paths.ts';
import { laterRunner } from '../load-later.ts';
import { keyFolderOf } from '../people/approver-key-file.ts';
import { mcpTokensFolder } from '../people/mcp-tokens.ts';
import { openLedger, storeFilesOf } from '../store/open-store.ts';
import { seenTrailsFolder } from '../store/trail-memory.ts';
import { type OpenWorkspace, openWorkspace, personaBase } from './open-workspace.ts';
import { judgeMachinePath, ownPrograms } from './own-tools.ts';

export interface WorkspaceParts extends OwnPlacesParts {
  readonly log: Log;
  readonly via: ApprovalSource;
  /** Where `workspace.root` counts from: the window's first folder, the command line's directory. Absent: there is no workspace. */
  readonly workspaceBase?: string;
  /** The editor's own directory: it brings ripgrep along. */
  readonly editorRoot?: string;
  /** The file of the command line, where this process was not started with it: what agents' shells are told to run. */
  readonly cliFile?: string;
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
  if (code === 'workspace_too_wide') return new Fault('bad_config', say`\`workspace.root\`: ${message}`, { cause });
  return new Fault('bad_config', say`\`workspace.root\`: must be a directory that can be read; found \`${root}\``, {
    next: 'correct it, or leave it out: the current directory is the workspace then',
    cause,
  });
}

function refusingWorkspace(code: string, why: string): ConnectedWorkspace {
  const decision = deny(code, why, ['workspace:none']);
  const sandbox: SandboxStatus = { state: 'unavailable', reason: why, noWorkspace: true };
  return {
    judge: {
      decideCommand: async () => decision,
      decidePath: async () => ({ decision }),
      sandbox: async () => sandbox,
      held: async () => undefined,
    },
    startCleaning: () => undefined,
    close: async () => undefined,
  };
}

function connect(parts: WorkspaceParts, root: string, ledger: PersonaLedger): ConnectedWorkspace {
  const { config, configFile, log, editorRoot } = parts;
  const stateDir = workspaceStateDir(parts.stateDir);
  const workspace = openWorkspace({
    root,
    stateDir,
    own: (real) => ownPlaces(parts, real),
    ledger,
    programs: programRunner,
    ripgrep: editorRoot === undefined ? {} : { editorRoot },
    log,
    journal: async () => (await runner.journal?.()) ?? 'nothing is kept here',
  });
  makeConfigDirectory(configFile, workspace.root);
  const runner = laterRunner({
    workspaceRoot: workspace.root,
    stateDir,
    hiddenPaths: workspace.own,
    requireSandbox: config.workspace.requireSandbox,
    undo: { journalBytes: config.workspace.undo.bytes, journalMs: config.workspace.undo.days * 24 * 3_600_000 },
    rules: { isControl: isControlPath, isSecret: isSecretPath },
    judge: judgeChange,
    log,
  });
  return {
    place: `${workspace.root} on ${hostname()}`,
    access: { files: workspace.files, search: workspace.search, runner },
    judge: createJudge(workspace, runner, parts),
    startCleaning: () => workspace.startCleaning(),
    close: () => workspace.close(),
  };
}

function createJudge(workspace: OpenWorkspace, runner: CommandRunner, { config, cliFile }: WorkspaceParts): WorkspaceJudge {
  const { commandRules, hooks } = config;
  return {
    decideCommand: async (command) => {
      const { surface, text } = command;
      if (surface !== 'agent_shell' && surface !== 'agent_run')
        return decideCommand(command, { userRules: commandRules, view: (await runner.status()).view });
      const ground = { userRules: commandRules, mode: hooks.shell, ownPrograms: ownPrograms(cliFile) };
      return decideAgentShell(text, surface === 'agent_run', ground);
    },
    decidePath: (name, use, of) => (of === 'machine' ? judgeMachinePath(name, use, workspace) : workspace.judgePath(name, use, of.agentId)),
    sandbox: () => runner.status(),
    held: async (id) => (await runner.history?.())?.held(id),
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
const withoutWorkspace: SandboxStatus = {
  state: 'unavailable',
  reason: 'there is no workspace, so no command runs',
  noWorkspace: true,
};

/** Whoever takes a run back, it goes to the trail. */
export function recordedAccess<Access extends WorkspaceAccess | undefined>(access: Access, audit: Pick<AuditLog, 'append'>): Access {
  if (access === undefined) return access;
  const { runner } = access;
  const history = async () => recorded(await runner.history?.(), audit);
  return { ...access, runner: { ...runner, history } };
}

function recorded(history: RunHistory | undefined, audit: Pick<AuditLog, 'append'>): RunHistory | undefined {
  if (history === undefined) return undefined;
  return {
    ...history,
    undo: async (id, options) => {
      const undone = await history.undo(id, options);
      const { created, changed, deleted } = undone;
      const counts = { created: created.length, changed: changed.length, deleted: deleted.length };
      await audit.append({ name: 'run.undone', attributes: { run: id, forced: options.force, ...counts } });
      return undone;
    },
  };
}

/** What is this layer's own: no tool reads or writes it, wherever it lies (docs/design.md#the-promises). */
interface OwnPlacesParts {
  readonly config: Config;
  /** Relative paths in the configuration count from here. */
  readonly baseDir: string;
  readonly stateDir: string;
  /** Where this machine's approvers are pinned. */
  readonly configFile: string;
  /** The file that `config` was read from, where it is another. */
  readonly namedConfigFile?: string;
}

/**
 * Those in the workspace: the state directory, the directory of the machine's configuration, and every file that the configuration names.
 * Of a directory that is or holds the workspace only what is known to lie in it.
 * SECURITY: who could write these could pin a key and answer for a person; who could read them, use the cluster without being asked.
 * @param root the workspace, links resolved
 * @returns absolute paths below `root`, links resolved, none within another
 */
function ownPlaces(parts: OwnPlacesParts, root: string): readonly string[] {
  const { stateDir, configFile, namedConfigFile } = parts;
  const inState = (state: string) => [
    ...[mcpTokensFolder, learnedCertificatesFolder, spoolFolder, 'sandbox'].map((name) => path.join(state, name)),
    personaBase(state),
  ];
  const places = [
    ...[stateDir, workspaceStateDir(stateDir)].flatMap((state) => directory(state, inState(state), root)),
    ...directory(path.dirname(configFile), [configFile, keyFolderOf(configFile), seenTrailsFolder(configFile)], root),
    ...(namedConfigFile === undefined ? [] : [namedConfigFile]),
    ...storeFilesOf(parts),
    ...clusterFiles(parts),
    path.join(root, runsFolder),
  ];
  const real = [...new Set(places.map(realPlace))].filter((place) => isBelow(place, root));
  return real.filter((place) => !real.some((outer) => isBelow(place, outer)));
}

/** SECURITY: only what is there can be hidden from commands; else one could be the first to write the configuration. */
function makeConfigDirectory(configFile: string, root: string): void {
  const place = realPlace(path.dirname(configFile));
  if (!isBelow(place, root)) return;
  try {
    mkdirSync(place, { recursive: true, mode: 0o700 });
  } catch {
    // Then no command of the same user can make it either.
  }
}

function directory(whole: string, known: readonly string[], root: string): readonly string[] {
  const real = realPlace(whole);
  return real === root || isBelow(root, real) ? known : [whole];
}

function clusterFiles({ config, baseDir }: OwnPlacesParts): readonly string[] {
  const named = config.clusters.flatMap(({ tokenFile, tls, ssh }) => [
    tokenFile,
    tls !== undefined && 'caFile' in tls ? tls.caFile : undefined,
    ...(ssh === undefined ? [] : [ssh.knownHosts, ...ssh.identityFiles]),
  ]);
  return named.flatMap((file) => (file === undefined ? [] : [expandPath(file, baseDir)]));
}

/** Also of what is not there yet: it must not be put there. */
function realPlace(place: string): string {
  const absolute = path.resolve(place);
  const parent = path.dirname(absolute);
  try {
    return realpathSync(absolute);
  } catch {
    return parent === absolute ? absolute : path.join(realPlace(parent), path.basename(absolute));
  }
}

function isBelow(place: string, root: string): boolean {
  const way = path.relative(root, place);
  return way !== '' && way.split(path.sep)[0] !== '..' && !path.isAbsolute(way);
}
