/** The command line: finds the command, loads it, and says how it ended. */
import { version } from '#app/version';
import { toFault } from '#kernel/errors';
import { emptyPlace } from '#kernel/text/parse-args';
import { badUsage, optionsOf, parseCommandLine } from './command-line.ts';
import { commands } from './command-table.ts';
import { usageOf, usageOfAll } from './manual.ts';
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
