/** What `--help` says, of one command or of all. */
import type { CommandRecord } from './command-line.ts';
import { commands } from './command-table.ts';

const general = `Every command takes
  --config FILE   configuration (JSON; a JSON object itself is taken, too); default: $XDG_CONFIG_HOME/banksman/config.json
  --state DIR     state directory; default: $XDG_STATE_HOME/banksman
  --store URL     sqlite:[FILE], valkeys://HOST:PORT/0?prefix=NAME, valkeys+sentinel://…, valkeys+cluster://…
  --help, --version
Of an option with one value that is given twice the last counts.
`;

export function usageOf({ summary, usage, notes }: CommandRecord): string {
  const ways = usage.map((line) => `  banksman ${line}`);
  return [summary, '', ...ways, ...(notes === undefined ? [] : ['', notes]), '', general].join('\n');
}

/** What there is, a line for each: how each is called fits on no screen. */
export function usageOfAll(): string {
  const width = Math.max(...commands.map(({ name }) => name.length));
  const list = commands.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`);
  const exit = 'Exit status: 0 ok, 1 error, 2 denied or refused, 3 pending. `banksman COMMAND --help` says how a command is used.\n';
  return ['banksman: the agent tool layer for Proxmox VE clusters and code', '', ...list, '', general, exit].join('\n');
}
