/** The commands, by name. */
import { version } from '#app/version';
import { toFault } from '#kernel/errors';
import { badUsage, type CommandOptions, parseCommandLine } from './command-line.ts';
import { runApprovals } from './commands/approvals.ts';
import { runApprovers } from './commands/approvers.ts';
import { runAudit } from './commands/audit.ts';
import { runAutoApprove } from './commands/auto-approve.ts';
import { runCall } from './commands/call.ts';
import { runDemo } from './commands/demo.ts';
import { runDoctor } from './commands/doctor.ts';
import { runLevel } from './commands/level.ts';
import { runMcp } from './commands/mcp.ts';
import { runPolicy } from './commands/policy.ts';
import { runRuns } from './commands/runs.ts';
import { runSandbox } from './commands/sandbox.ts';
import { runServe } from './commands/serve.ts';
import { runTokens } from './commands/tokens.ts';
import { runTools } from './commands/tools.ts';
import { printError, printText } from './output.ts';
import { Refusal } from './refusal.ts';
import { optionsOf, usageOf } from './usage.ts';

type Command = (words: readonly string[], options: CommandOptions) => number | Promise<number>;

const commands: ReadonlyMap<string, Command> = new Map<string, Command>([
  ['tools', runTools],
  ['call', runCall],
  ['policy', runPolicy],
  ['approvals', runApprovals],
  ['approvers', runApprovers],
  ['level', runLevel],
  ['auto-approve', runAutoApprove],
  ['audit', runAudit],
  ['doctor', runDoctor],
  ['runs', runRuns],
  ['sandbox', runSandbox],
  ['demo', runDemo],
  ['mcp', runMcp],
  ['serve', runServe],
  ['tokens', runTokens],
]);

async function runCommand(argv: readonly string[]): Promise<number> {
  const { words, options } = parseCommandLine(argv);
  if (options.version) return say(version);
  const [name, ...rest] = words;
  if (options.help || name === undefined) return say(usageOf(name), options.help ? 0 : 1);
  const command = commands.get(name);
  if (command === undefined) throw badUsage(`no command is named \`${name}\`; there are ${[...commands.keys()].join(', ')}`);
  // An option that is taken and then ignored would be believed to have counted.
  const stray = Object.keys(options).find((option) => !optionsOf(name).has(option));
  if (stray !== undefined) throw badUsage(`\`${name}\` takes no \`--${stray}\``, `banksman ${name} --help`);
  return command(rest, options);
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
    printError(`${fault.message}${fault.next === undefined ? '' : `; ${fault.next}`}`);
    process.exitCode = fault instanceof Refusal ? 2 : 1;
  }
}

/** Whoever read the output has gone (`| head`): there is nobody left to say anything to. */
function leaveQuietly(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') printError(`standard output: ${error.message}`);
  process.exit(1);
}
