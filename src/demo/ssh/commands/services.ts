/** systemctl and journalctl. A restart sticks, and the API's service list shows it. */
import { journalLines, journalTime } from '../../pve/journal.ts';
import { controlService, findService } from '../../pve/services.ts';
import type { ServiceState } from '../../pve/state.ts';
import { type CommandInput, type CommandOutput, complained, hasOption, type NodeCommand, printed, readOptions } from '../node-command.ts';

type Verb = (input: CommandInput, units: readonly string[], quiet: boolean) => CommandOutput;

const verbs: Readonly<Record<string, Verb>> = {
  'is-active': question({ word: (service) => service?.active ?? 'inactive', wanted: 'active', otherwise: 3 }),
  'is-failed': question({ word: (service) => service?.active ?? 'inactive', wanted: 'failed', otherwise: 1 }),
  'is-enabled': question({ word: (service) => service?.unitState ?? 'not-found', wanted: 'enabled', otherwise: 1 }),
  status,
  restart,
};

function systemctl(input: CommandInput): CommandOutput {
  const { operands, options } = readOptions(input.args, ['-n', '--lines', '-o', '--type', '-t', '--state']);
  const [action = 'list-units', ...units] = operands;
  if (options.has('--version')) return printed('systemd 257 (257.8-1~deb13u2)');
  if (action === 'list-units' || action === 'list-unit-files') return listUnits(input);
  const verb = verbs[action];
  if (verb === undefined) return complained(`Unknown command verb '${action}'.`);
  return units.length === 0 ? complained('Too few arguments.') : verb(input, units, hasOption(options, 'q', '--quiet'));
}

interface Question {
  readonly word: (service: ServiceState | undefined) => string;
  readonly wanted: string;
  readonly otherwise: number;
}

/** One word per unit; the exit code is 0 when any is as asked. */
function question({ word, wanted, otherwise }: Question): Verb {
  return (input, units, quiet) => {
    const words = units.map((unit) => word(findService(input.node, unit)));
    return { stdout: quiet ? '' : words.map((one) => `${one}\n`).join(''), stderr: '', exitCode: words.includes(wanted) ? 0 : otherwise };
  };
}

function restart({ cluster, node }: CommandInput, units: readonly string[]): CommandOutput {
  const command = { command: 'restart', now: cluster.clock.now() } as const;
  const failures = units.map((unit) => controlService(node, unit, command)).filter((failure) => failure !== undefined);
  return { stdout: '', stderr: failures.map((failure) => `${failure.text}\n`).join(''), exitCode: failures[0]?.exitCode ?? 0 };
}

function status(input: CommandInput, units: readonly string[]): CommandOutput {
  let exitCode = 0;
  let stdout = '';
  let stderr = '';
  for (const unit of units) {
    const service = findService(input.node, unit);
    if (service === undefined) {
      stderr += `Unit ${unit.includes('.') ? unit : `${unit}.service`} could not be found.\n`;
      exitCode = 4;
    } else {
      stdout += statusBlock(input, service);
      if (service.active !== 'active') exitCode = 3;
    }
  }
  return { stdout, stderr, exitCode };
}

const marks = { active: '●', inactive: '○', failed: '×' } as const;
const phrases = { active: 'active (running)', inactive: 'inactive (dead)', failed: 'failed (Result: exit-code)' } as const;

function statusBlock({ cluster, node }: CommandInput, service: ServiceState): string {
  const since = new Date(service.since).toUTCString();
  const lines = [
    `${marks[service.active]} ${service.name}.service - ${service.description}`,
    `     Loaded: loaded (/usr/lib/systemd/system/${service.name}.service; ${service.unitState}; preset: enabled)`,
    `     Active: ${phrases[service.active]} since ${since}`,
    '',
    ...journalLines(cluster, node, service.name),
  ];
  return `${lines.join('\n')}\n`;
}

function listUnits({ node }: CommandInput): CommandOutput {
  const rows = [...node.services.values()].map(
    (service) => `  ${`${service.name}.service`.padEnd(30)} loaded ${service.active.padEnd(8)} ${service.description}`,
  );
  return printed(
    ['  UNIT                           LOAD   ACTIVE   DESCRIPTION', ...rows, '', `${rows.length} loaded units listed.`].join('\n'),
  );
}

function journalctl({ cluster, node, args }: CommandInput): CommandOutput {
  const { options } = readOptions(args, [
    '-u',
    '--unit',
    '-n',
    '--lines',
    '--since',
    '--until',
    '-S',
    '-U',
    '-p',
    '--priority',
    '-o',
    '--output',
    '-b',
  ]);
  if (options.has('--disk-usage')) return printed('Archived and active journals take up 96M in the file system.');
  const lines = journalLines(cluster, node, options.get('-u') ?? options.get('--unit'));
  if (hasOption(options, 'r', '--reverse')) lines.reverse();
  const count = Number(options.get('-n') ?? options.get('--lines') ?? lines.length);
  const shown = hasOption(options, 'r') ? lines.slice(0, count) : lines.slice(Math.max(0, lines.length - count));
  return printed(shown.length > 0 ? shown.join('\n') : `-- No entries --`);
}

function dmesg({ node }: CommandInput): CommandOutput {
  return printed(`[    0.000000] Linux version 6.17.4-2-pve (build@proxmox) booted ${journalTime(node.bootedAt)}`);
}

export const serviceCommands: Readonly<Record<string, NodeCommand>> = { systemctl, journalctl, dmesg };
