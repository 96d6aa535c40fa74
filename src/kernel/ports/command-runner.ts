/** Running a decided command in the workspace, contained by the operating system. */

import type { RunBegun, RunEffects, RunHistory } from '../effects.ts';
import type { FileJournal } from './file-journal.ts';

/** What a real probe found: `enforced` only where every attempt to get out failed. */
export interface SandboxStatus {
  readonly state: 'enforced' | 'degraded' | 'unavailable';
  /** Why, and the remedy, in one sentence. */
  readonly reason: string;
  /** No directory to run in: every command is refused, whatever a person says. */
  readonly noWorkspace?: true;
  /** Whether commands run over a copy-on-write view, so that what they changed is judged afterwards; left out: nobody looked. */
  readonly view?: ViewStatus;
}

export type ViewStatus =
  /** `note`: what differs from a plain run. */
  { readonly judged: true; readonly note?: string } | { readonly judged: false; readonly reason: string; readonly better: string };

export interface CommandRequest {
  /** The text that was decided: canonical for `readonly_bash`. */
  readonly command: string;
  readonly surface: 'readonly_bash' | 'workspace_command';
  /** Limit of this run in ms. */
  readonly timeoutMs: number;
  /** Settled for exactly this run: by a person, a person's rule or the security level. */
  readonly network: boolean;
  /** Granted by a person for exactly this run: it may go ahead where the sandbox is not `enforced`. Never set without that grant. */
  readonly allowUnsandboxed?: boolean;
  readonly agentId: string;
}

/** Which limit, other than time, ended a run. */
export type CommandLimit = 'output' | 'processes' | 'memory' | 'disk';

export interface CommandResult {
  /** Head and tail are kept where it is longer than the cap. */
  readonly stdout: string;
  readonly stderr: string;
  /** 128 + n where signal n ended the command inside the sandbox (the shell's convention). */
  readonly exitCode?: number;
  readonly signal?: string;
  readonly timedOut: boolean;
  /** The limit that the run was stopped for. */
  readonly stoppedBy?: CommandLimit;
  readonly truncated: boolean;
  /** How often a run without network tried to reach it, by the kernel's count; 0 with it. One look-up of a name is several tries. */
  readonly networkTries: number;
  /** It failed, and says that it did for want of the network that it had tried to reach. */
  readonly needsNetwork?: boolean;
  readonly sandbox: SandboxStatus['state'];
  /** What the run left behind that somebody else would execute or follow later (hooks, configuration, links out, FIFOs): `path (what)`. */
  readonly planted: readonly string[];
  /** The search for what was planted ended early: the workspace is too large to look at all of it in time. */
  readonly scanIncomplete: boolean;
  /** Of a run over a view: what it changed, and what was left out. */
  readonly effects?: RunEffects;
}

export interface CommandRunner {
  /** Probed once per process and again after a sandbox failed to start; `fresh` probes anew. */
  status(options?: { readonly fresh?: boolean }): Promise<SandboxStatus>;
  /**
   * Ends the whole process tree on abort and on time-out. Over a view nothing of the workspace is changed, and nothing held, once the signal has aborted
   * before `onApply` was called.
   * @throws {Fault} `sandbox_failed`, `sandbox_required`, `cancelled`
   */
  run(
    request: CommandRequest,
    signal: AbortSignal,
    onOutput: (chunk: string) => void,
    onApply?: (begun: RunBegun) => void,
  ): Promise<CommandResult>;
  /** undefined where nothing is kept. */
  history?(): Promise<RunHistory | undefined>;
  /** Where changes of files are kept, too; a reason where they cannot be. */
  journal?(): Promise<FileJournal | string>;
}
