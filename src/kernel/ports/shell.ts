/** Running a checked command on a cluster node over ssh. */

export interface ShellResult {
  readonly stdout: string;
  readonly stderr: string;
  /** Of one that a signal ended: 128 and the signal's number, as a shell gives it. undefined when the channel ended without a word. */
  readonly exitCode?: number;
  readonly signal?: string;
  /** Bytes were dropped from the middle or end because the cap was reached. */
  readonly truncated: boolean;
}

export interface NodeShell {
  /**
   * Runs `command` (POSIX shell text, already decided by the policy) as `LC_ALL=C exec timeout -k 2 27 …` on the node.
   * @throws {Fault} `ssh_host_unknown`, `ssh_host_changed`, `ssh_auth_failed`, `ssh_unreachable`, `ssh_timeout`, `ssh_not_configured`;
   * `effect` says whether it may have run, `result` holds what it had printed until it was ended
   */
  exec(node: string, command: string, signal: AbortSignal): Promise<ShellResult>;
}
