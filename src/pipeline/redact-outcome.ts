/** redact: what leaves a call, before anything of it is written down or handed out. */
import type { Outcome } from '#kernel/outcome';
import { type RedactionOptions, redactJson, redactText, secretsTaken } from '#redaction/redact';

/** A tool's result is cut later, to its reader's budget and with a word on how to get the rest; this only bounds what no tool hands over. */
const longestText = 4_000_000;

/** Secrets out of every text of the outcome. Its message says how many of the result were hidden: who edits that text must know. */
export function redactOutcome(outcome: Outcome, options: RedactionOptions): Outcome {
  const result = outcome.result === undefined ? undefined : redactJson(outcome.result, { ...options, maxStringLength: longestText });
  const hidden = outcome.result === undefined || result === undefined ? 0 : secretsTaken(outcome.result, result);
  return {
    ...outcome,
    message: `${redactText(outcome.message, options)}${hiddenNote(hidden)}`,
    ...(outcome.next === undefined ? {} : { next: redactText(outcome.next, options) }),
    ...(result === undefined ? {} : { result }),
  };
}

function hiddenNote(hidden: number): string {
  return hidden === 0 ? '' : `; ${hidden} secret${hidden === 1 ? ' is' : 's are'} hidden as \`[redacted:…]\``;
}
