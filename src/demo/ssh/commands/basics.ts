/** Small tools: echo, true, false, seq, sleep. The last two are how tests get much output and a command that takes long. */
import { durationSeconds } from '../duration.ts';
import { type CommandInput, type CommandOutput, complained, type NodeCommand, printed } from '../node-command.ts';

const silent: CommandOutput = { stdout: '', stderr: '', exitCode: 0 };
const longestSequence = 5_000_000;

function sequence({ args }: CommandInput): CommandOutput {
  const last = Number(args[0]);
  if (args.length !== 1 || !Number.isInteger(last) || last > longestSequence)
    return complained(`seq: invalid argument: ‘${args.join(' ')}’`);
  return printed(Array.from({ length: Math.max(0, last) }, (_, index) => index + 1).join('\n'));
}

/** Waits for the time or for whatever ends the command, and leaves no timer behind. */
async function sleep({ args, signal }: CommandInput): Promise<CommandOutput> {
  const seconds = durationSeconds(args[0] ?? '');
  if (seconds === undefined) return complained(`sleep: invalid time interval ‘${args[0] ?? ''}’`);
  if (signal.aborted) return { ...silent, exitCode: 143 };
  return new Promise((resolve) => {
    const end = (exitCode: number) => {
      clearTimeout(timer);
      signal.removeEventListener('abort', terminated);
      resolve({ ...silent, exitCode });
    };
    const terminated = () => end(143);
    const timer = setTimeout(() => end(0), seconds * 1000);
    signal.addEventListener('abort', terminated);
  });
}

export const basicCommands: Readonly<Record<string, NodeCommand>> = {
  true: () => silent,
  ':': () => silent,
  false: () => ({ ...silent, exitCode: 1 }),
  echo: ({ args }) => (args[0] === '-n' ? { ...silent, stdout: args.slice(1).join(' ') } : printed(`${args.join(' ')}\n`)),
  seq: sequence,
  sleep,
};
