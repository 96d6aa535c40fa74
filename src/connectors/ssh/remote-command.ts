/** What is really run on a node for a checked command: the same, with a time limit that the node itself keeps. */
import { quoteShell } from './quote-shell.ts';

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

/** Standard input is /dev/null rather than a closed channel, so that a signal can still be sent through it. */
export function wrapCommand(command: string, seconds: number): string {
  return `LC_ALL=C timeout -k 2 ${seconds} sh -c ${quoteShell(command)} </dev/null`;
}

/**
 * Whether `timeout` ended the command: it exits with 124 after TERM, 137 after KILL. A command may end so by itself, only not that late.
 */
export function wasTimedOut(exitCode: number | undefined, elapsedMs: number, seconds: number): boolean {
  return (exitCode === 124 || exitCode === 137) && elapsedMs >= seconds * 1000 - 100;
}
