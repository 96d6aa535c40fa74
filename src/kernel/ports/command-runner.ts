/** Running a decided command in the workspace, contained by the operating system. */

/** What a real probe found: `enforced` only where every attempt to get out failed. */
export interface SandboxStatus {
  readonly state: 'enforced' | 'degraded' | 'unavailable';
  /** Why, and the remedy, in one sentence. */
  readonly reason: string;
}

export interface CommandRequest {
  /** The text that was decided: canonical for `readonly_bash`. */
  readonly command: string;
  readonly surface: 'readonly_bash' | 'workspace_command';
  /** Limit of this run in ms. */
  readonly timeoutMs: number;
  /** Granted by a person for exactly this run. */
  readonly network: boolean;
  readonly agentId: string;
}

export interface CommandResult {
  /** Head and tail are kept where it is longer than the cap. */
  readonly stdout: string;
  readonly stderr: string;
  readonly exitCode?: number;
  readonly signal?: string;
  readonly timedOut: boolean;
  readonly truncated: boolean;
  readonly sandbox: SandboxStatus['state'];
  /** What the run left behind that somebody else would execute or follow later (hooks, configuration, links out, FIFOs). */
  readonly planted: readonly string[];
}

export interface CommandRunner {
  /** Probed once per process; asks for it again when the environment may have changed. */
  status(): Promise<SandboxStatus>;
  /** Ends the whole process tree on abort and on time-out. @throws {Fault} `sandbox_failed`, `sandbox_required`, `cancelled` */
  run(request: CommandRequest, signal: AbortSignal, onOutput: (chunk: string) => void): Promise<CommandResult>;
}
