/** `banksman call`: one call through the pipeline. */

import { text as readAll } from 'node:stream/consumers';
import { parseJson } from '#app/config/config-file';
import { osUser } from '#app/config/paths';
import { cliAgent, modelTierOf } from '#app/for-hosts';
import type { Agent } from '#kernel/agent';
import { Fault, toFault } from '#kernel/errors';
import type { Outcome, OutcomeStatus } from '#kernel/outcome';
import { showPlainly } from '#kernel/text/text';
import type { ModelTier } from '#kernel/tiers';
import { type CommandOptions, operands } from '../command-line.ts';
import { printJson, printText } from '../output.ts';
import { withApp } from '../session.ts';

export const exitStatus: Readonly<Record<OutcomeStatus, number>> = { ok: 0, error: 1, denied: 2, pending: 3 };

export async function runCall(words: readonly string[], options: CommandOptions): Promise<number> {
  const [tool = ''] = operands(words, ['TOOL']);
  let answered = false;
  try {
    return await callTool(tool, options, () => {
      answered = true;
    });
  } catch (thrown) {
    // Whoever parses standard output gets the same shape where the call never came to the pipeline.
    if (options.json && !answered) printJson(failureOf(thrown));
    throw thrown;
  }
}

async function callTool(tool: string, options: CommandOptions, onAnswer: () => void): Promise<number> {
  const input = await inputOf(options);
  return withApp(options, async (app, signal) => {
    const agent = agentOf(options, app.config.defaultModelTier);
    const outcome = await app.call({
      tool,
      input,
      agent,
      signal,
      waitMs: app.config.approvalWait.cli,
      onProgress: showProgress(options.verbose === true, process.stderr),
    });
    onAnswer();
    if (options.json) printJson(outcome);
    else printText(process.stdout.isTTY ? await onScreen(outcome) : asText(outcome));
    // A cluster that answered, once: whoever set it up should hear what nothing protects.
    if (outcome.status !== 'error') await app.offerProtection?.(signal);
    return exitStatus[outcome.status];
  });
}

function failureOf(thrown: unknown): Outcome {
  const { code, message, next } = toFault(thrown);
  return { status: 'error', code, message, ...(next === undefined ? {} : { next }) };
}

/** `--input JSON`, or `-` for standard input; nothing means no arguments. @throws {Fault} `invalid_input` with the parser's place */
export async function inputOf(options: CommandOptions): Promise<unknown> {
  if (options.input === undefined) return {};
  const text = options.input === '-' ? await readAll(process.stdin) : options.input;
  try {
    return parseJson(text, '--input');
  } catch (cause) {
    throw new Fault('invalid_input', toFault(cause).message, { audience: 'user', next: 'correct the arguments and call again', cause });
  }
}

export function agentOf(options: CommandOptions, fallback: ModelTier): Agent {
  const { model } = options;
  return cliAgent(osUser().username, model === undefined ? fallback : modelTierOf(model), model);
}

/** For who reads it at a terminal. Scripts that read text have read `asText` from the first version on. */
async function onScreen({ status, code, message, next, result }: Outcome): Promise<string> {
  const { resultForPeople, screenOf, stateColour, styled } = await import('../result-screen.ts');
  const screen = screenOf(process.stdout);
  const plainly = (text: string) => text.split('\n').map((line) => showPlainly(line, 10_000));
  const word = styled(stateColour(status) ?? 'bold', status === 'ok' ? status : `${status} (${code})`, screen);
  const found = result === undefined ? [] : ['', ...resultForPeople(result, screen)];
  return [`${word}: ${plainly(message).join('\n')}`, ...(next === undefined ? [] : plainly(`next: ${next}`)), ...found].join('\n');
}

function asText(outcome: Outcome): string {
  const lines = [`${outcome.status === 'ok' ? 'ok' : `${outcome.status} (${outcome.code})`}: ${outcome.message}`];
  if (outcome.next !== undefined) lines.push(`next: ${outcome.next}`);
  if (outcome.result !== undefined) lines.push(JSON.stringify(outcome.result, null, 2));
  return lines.join('\n');
}

/** A command's output comes this way, too, a piece a line; all of it is in the result. */
const mostLines = 100;

interface ProgressPlace {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

/** @returns what to tell of each step; nothing is told where nobody watches: programs get the outcome alone */
export function showProgress(verbose: boolean, place: ProgressPlace): (message: string) => void {
  if (!verbose && place.isTTY !== true) return () => undefined;
  let lines = 0;
  return (message) => {
    lines += 1;
    if (lines <= mostLines) place.write(`… ${message}\n`);
    else if (lines === mostLines + 1) place.write('… more of this is not shown; the result has it\n');
  };
}
