/** What is really run on a node for a checked command: the same, with a time limit that the node itself keeps. */

/** How much earlier than the caller's limit the node ends the command, in ms: time for `timeout -k 2` and for the answer. */
const headStartMs = 3_000;

/**
 * The node's own limit in whole seconds for a command that has `leftMs` left, at least 1: 27 of 30.
 * Neither signals nor a closed channel end a command for certain (a root login has no privilege separation to deliver them, and what runs
 * in the background survives), `timeout` on the node does.
 */
export function nodeLimitSeconds(leftMs: number): number {
  return Math.max(1, Math.ceil((leftMs - headStartMs) / 1000));
}

/** A word that every shell and the policy's canonical text write as it is (`canonicalLine`). */
const plainWord = /^[A-Za-z0-9_@%+:,./-][A-Za-z0-9_@%+=:,./-]*$/;
const programName = /^[A-Za-z0-9_./][A-Za-z0-9_.+/-]*$/;

/** What a POSIX shell does itself or reads as syntax (POSIX.1-2024 §2.4, §2.9.1.4, §2.15, XCU §1.7), with what dash and bash add. */
const shellWords = new Set(
  (
    '. : alias bg bind break builtin caller case cd chdir command compgen complete compopt continue coproc declare dirs disown do done ' +
    'echo elif else enable esac eval exec exit export false fc fg fi for function getopts hash help history if in jobs kill let local ' +
    'logout mapfile newgrp popd printf pushd pwd read readarray readonly return select set shift shopt source suspend test then time ' +
    'times trap true type typeset ulimit umask unalias unset until wait while'
  ).split(' '),
);

/**
 * A login shell, `timeout` in its place (`exec`), and the command below it: each process costs every call half a millisecond and more.
 * Standard input is /dev/null rather than a closed channel, so that a signal can still be sent through it.
 */
export function wrapCommand(command: string, seconds: number): string {
  return `LC_ALL=C exec timeout -k 2 ${seconds} ${programOf(command) ?? `sh -c ${quoteShell(command)}`} </dev/null`;
}

/** One program with plain words needs no shell to start it. The quotes keep a login shell's own aliases and patterns away. */
function programOf(command: string): string | undefined {
  const words = command.split(' ');
  const [program = ''] = words;
  if (!programName.test(program) || shellWords.has(program) || !words.every((word) => plainWord.test(word))) return undefined;
  return words.map(quoteShell).join(' ');
}

/**
 * Whether `timeout` ended the command: it exits with 124 after TERM, 137 after KILL. A command may end so by itself, only not that late.
 */
export function wasTimedOut(exitCode: number | undefined, elapsedMs: number, seconds: number): boolean {
  return (exitCode === 124 || exitCode === 137) && elapsedMs >= seconds * 1000 - 100;
}

/** The signals that ssh has names for (RFC 4254 §6.10), by their numbers on Linux. */
const signalNumbers: Readonly<Record<string, number>> = {
  HUP: 1,
  INT: 2,
  QUIT: 3,
  ILL: 4,
  ABRT: 6,
  FPE: 8,
  KILL: 9,
  USR1: 10,
  SEGV: 11,
  USR2: 12,
  PIPE: 13,
  ALRM: 14,
  TERM: 15,
};

/** What a shell on the node would give as the exit code of a command that `signal` ended: no shell is left there to say it. */
export function exitCodeOfSignal(signal: string): number | undefined {
  const name = signal.replace(/^SIG/, '');
  return Object.hasOwn(signalNumbers, name) ? 128 + (signalNumbers[name] ?? 0) : undefined;
}

/**
 * One word of POSIX shell, whatever is in it: single quotes, and each single quote of the text written as `'\''` (POSIX.1-2024 §2.2.2).
 * A NUL cannot be carried and would cut the word short.
 * @throws {TypeError} when `text` holds a NUL
 */
export function quoteShell(text: string): string {
  if (text.includes('\0')) throw new TypeError('a shell word cannot hold NUL');
  return `'${text.replaceAll("'", "'\\''")}'`;
}
