import type { SandboxStatus } from '#kernel/ports/command-runner';

/** A line of `doctor` about the sandbox. */
export interface SandboxFinding {
  readonly topic: 'sandbox';
  readonly state: 'ok' | 'warning' | 'failed';
  readonly message: string;
  readonly remedy?: string;
}

/** @param required `workspace.requireSandbox`: without an enforced sandbox no command runs at all */
export function sandboxFinding(status: SandboxStatus, required: boolean): SandboxFinding {
  const message = `${status.state}: ${status.reason}`;
  if (status.state === 'enforced') return { topic: 'sandbox', state: 'ok', message };
  return {
    topic: 'sandbox',
    state: required ? 'failed' : 'warning',
    message,
    remedy: required
      ? 'no command runs until the sandbox is enforced (`workspace.requireSandbox`)'
      : 'each run_command asks a person; set `workspace.requireSandbox` to refuse instead',
  };
}
