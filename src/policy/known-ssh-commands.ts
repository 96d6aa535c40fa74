/**
 * What `execute_ssh` may run: exact, known, read-only command lines, compared as whole text after single spaces. Everything else is
 * refused. The command policy (a real parse with options and operands per program) replaces this list: issue 3.
 */
import { allow, type Decision, deny } from '#kernel/decision';

const knownCommands: ReadonlySet<string> = new Set([
  'hostname',
  'hostname -f',
  'uname -a',
  'uname -r',
  'uptime',
  'date',
  'nproc',
  'lscpu',
  'free',
  'free -h',
  'free -m',
  'df',
  'df -h',
  'df -hT',
  'lsblk',
  'sensors',
  'ps aux',
  'ps -ef',
  'top -bn1',
  'who',
  'ip addr',
  'ip -br addr',
  'ip link show',
  'ip route',
  'systemctl list-units',
  'systemctl list-units --failed',
  'systemctl --failed',
  'pveversion',
  'pvecm status',
  'pvesm status',
  'ha-manager status',
  'qm list',
  'pct list',
  'zpool status',
  'cat /proc/loadavg',
  'cat /proc/meminfo',
  'cat /proc/cpuinfo',
  'cat /etc/hosts',
  'pvesh get /version',
  'pvesh get /nodes',
  'pvesh get /cluster/status',
  'pvesh get /cluster/resources',
]);

/** The canonical line that may run, and the decision about it. What runs is `canonical`, never the model's text. */
export function decideSshCommand(text: string): { readonly decision: Decision; readonly canonical?: string } {
  const canonical = text.trim().replace(/ +/g, ' ');
  if (knownCommands.has(canonical)) {
    return { decision: allow('known_command', `\`${canonical}\` only looks`, ['ssh.known-commands']), canonical };
  }
  return {
    decision: deny(
      'COMMAND_BLOCKED',
      `\`${shortly(canonical)}\` is not one of the known read-only commands, so it is refused; try ${[...knownCommands].slice(0, 6).join(', ')}`,
      ['ssh.default-deny'],
    ),
  };
}

/** Cut between words: half a secret would no longer look like one to the redaction. */
function shortly(text: string): string {
  return text.length <= 200 ? text : `${text.slice(0, 200).replace(/\S+$/, '')}…`;
}
