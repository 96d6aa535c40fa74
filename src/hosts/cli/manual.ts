/** What `--help` says, of one command or of all. */
import type { CommandRecord } from './command-line.ts';
import { commands } from './command-table.ts';

const general = `Every command takes
  --config FILE   configuration (JSON; a JSON object itself is taken, too); default: $XDG_CONFIG_HOME/banksman/config.json
  --state DIR     state directory; default: $XDG_STATE_HOME/banksman
  --store URL     sqlite:[FILE], valkeys://HOST:PORT/0?prefix=NAME, valkeys+sentinel://…, valkeys+cluster://…
  --help, --version
`;

/** Of one command, or of all where there is none of that name. */
export function usageOf(name: string | undefined): string {
  const one = commands.find((command) => command.name === name);
  if (one === undefined) return all();
  return [one.summary, '', ...lines(one), ...(one.notes === undefined ? [] : ['', one.notes]), '', general].join('\n');
}

function all(): string {
  const list = commands.flatMap(lines);
  const exit = 'Exit status: 0 ok, 1 error, 2 denied or refused, 3 pending. `banksman COMMAND --help` says more.\n';
  return ['banksman: the agent tool layer for Proxmox VE clusters and code', '', ...list, '', general, exit].join('\n');
}

function lines({ usage }: CommandRecord): readonly string[] {
  return usage.map((line) => `  banksman ${line}`);
}
