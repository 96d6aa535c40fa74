/** What hosts need of the inner folders, of which they may import nothing themselves. */
import { readFileSync } from 'node:fs';
import { sandboxMark } from '#execution/sandbox/clean-environment';

export { type ApproverKeyPair, generateApproverKey, keyIdOf, signerFrom } from '#approval/keys';
export { agentOf, chatAgent, cliAgent, hookAgent, mcpAgent, paletteAgent } from '#identity/agents';
export { modelTierOf, tierOfPicked } from '#identity/model-tier';
export { permits } from '#identity/permissions';
export { version } from './version.ts';

/**
 * Whether this process was started by `run_command`: then nobody who may approve sits at its terminal, whatever the terminal says. A command
 * there can change its environment and make a terminal of its own, but not its mounts: `proc_pid_mountinfo(5)`.
 */
export function isInsideSandbox(mounts: string = readMounts()): boolean {
  return mounts.split('\n').some((line) => {
    const [before = '', after = ''] = line.split(' - ');
    return before.split(' ')[4] === sandboxMark && after.startsWith('tmpfs ');
  });
}

function readMounts(): string {
  try {
    return readFileSync('/proc/self/mountinfo', 'utf8');
  } catch {
    // No such file: no Linux, and so no sandbox of ours.
    return '';
  }
}
