/** systemd units of a node: what `systemctl restart` does to them. */
import type { NodeState, ServiceState } from './state.ts';

export interface RestartFailure {
  /** systemctl's: 5 for a unit that is not there, 1 for one that does not start. */
  readonly exitCode: 1 | 5;
  /** What systemctl writes to stderr. */
  readonly text: string;
}

/** Finds a unit by its name with or without `.service`. */
export function findService(node: NodeState, name: string): ServiceState | undefined {
  return node.services.get(name.replace(/\.service$/, ''));
}

export type ServiceCommand = 'start' | 'stop' | 'restart' | 'reload';

/** What systemctl does to a unit; the result sticks. @param now ms since the epoch @returns undefined when it went well */
export function controlService(
  node: NodeState,
  name: string,
  { command, now }: { readonly command: ServiceCommand; readonly now: number },
): RestartFailure | undefined {
  const service = findService(node, name);
  const unit = `${name.replace(/\.service$/, '')}.service`;
  if (service === undefined || service.unitState === 'not-found')
    return { exitCode: 5, text: `Failed to ${command} ${unit}: Unit ${unit} not found.` };
  service.since = now;
  if (command === 'stop' || service.startError === undefined) {
    service.active = command === 'stop' ? 'inactive' : 'active';
    return undefined;
  }
  service.active = 'failed';
  return {
    exitCode: 1,
    text: `Job for ${unit} failed because the control process exited with error code.\nSee "systemctl status ${unit}" and "journalctl -xeu ${unit}" for details.`,
  };
}
