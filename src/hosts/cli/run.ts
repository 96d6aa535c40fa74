/** The command line: finds the command, loads it, and says how it ended. */
import { version } from '#app/version';
import { toFault } from '#kernel/errors';
import { emptyPlace } from '#kernel/text/parse-args';
import { badUsage, type CommandRecord, optionsOf, parseCommandLine } from './command-line.ts';
import { commands } from './command-table.ts';
import { printError, printText, Refusal } from './output.ts';

async function runCommand(argv: readonly string[]): Promise<number> {
  const { words, options } = parseCommandLine(argv);
  if (options.version) return say(version);
  const isHelp = options.help === true || words[0] === 'help';
  const [name, ...rest] = words[0] === 'help' ? words.slice(1) : words;
  if (name === undefined) return say(usageOfAll(), isHelp ? 0 : 1);
  const command = commands.find((one) => one.name === name);
  if (command === undefined) throw badUsage(`no command is named \`${name}\`; there are ${commands.map((one) => one.name).join(', ')}`);
  if (isHelp) return say(usageOf(command));
  // An option that is taken and then ignored would be believed to have counted.
  const taken = optionsOf(command);
  const stray = Object.keys(options).find((option) => !taken.has(option));
  if (stray !== undefined) throw badUsage(`\`${name}\` takes no \`--${stray}\``);
  const empty = emptyPlace(options);
  if (empty !== undefined) throw badUsage(empty);
  const runIt = await command.load();
  return runIt(rest, options);
}

function say(text: string, status = 0): number {
  printText(text);
  return status;
}

/** Runs one command line. Sets the exit status and never rejects. */
export async function run(argv: readonly string[]): Promise<void> {
  process.stdout.once('error', leaveQuietly);
  try {
    process.exitCode = await runCommand(argv);
  } catch (thrown) {
    const fault = toFault(thrown);
    const next = fault.next ?? (fault.code === 'bad_usage' ? `see \`${usageHelp(argv)}\`` : undefined);
    printError(`${fault.message}${next === undefined ? '' : `; ${next}`}`);
    process.exitCode = fault instanceof Refusal ? 2 : 1;
  }
}

function usageHelp([name]: readonly string[]): string {
  return commands.some((one) => one.name === name) ? `banksman ${name} --help` : 'banksman --help';
}

/** Whoever read the output has gone (`| head`): there is nobody left to say anything to. */
function leaveQuietly(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') printError(`standard output: ${error.message}`);
  process.exit(1);
}

// What `--help` says, of one command or of all.

const general = `Every command takes
  --config FILE   configuration (JSON; a JSON object itself is taken, too); default: $XDG_CONFIG_HOME/banksman/config.json
  --state DIR     state directory; default: $XDG_STATE_HOME/banksman
  --store URL     sqlite:[FILE], valkeys://HOST:PORT/0?prefix=NAME, valkeys+sentinel://…, valkeys+cluster://…
  --help, --version
Of an option with one value that is given twice the last counts.
`;

function usageOf({ summary, usage, notes }: CommandRecord): string {
  const ways = usage.map((line) => `  banksman ${line}`);
  return [summary, '', ...ways, ...(notes === undefined ? [] : ['', notes]), '', general].join('\n');
}

/** What there is, a line for each: how each is called fits on no screen. */
function usageOfAll(): string {
  const width = Math.max(...commands.map(({ name }) => name.length));
  const list = commands.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`);
  const exit = 'Exit status: 0 ok, 1 error, 2 denied or refused, 3 pending. `banksman COMMAND --help` says how a command is used.\n';
  return ['banksman: the agent tool layer for Proxmox VE clusters and code', '', ...list, '', general, exit].join('\n');
}
