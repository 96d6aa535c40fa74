/** `banksman attempts list|seen`: calls that began and of which nobody knows the end, and that a person has seen them. */
import type { AttemptView } from '#kernel/attempt';
import { showPlainly } from '#kernel/text/text';
import { type CommandOptions, noSuchVerb, operands } from '../command-line.ts';
import { printError, printJson, printText } from '../output.ts';
import { personHere } from '../request-text.ts';
import { looking, untilStopped, withApp } from '../session.ts';
import { withTerminal } from '../terminal.ts';

export async function runAttempts([verb = '', ...words]: readonly string[], options: CommandOptions): Promise<number> {
  if (verb === 'list') return list(words, options);
  // It changes nothing; still, no program without a terminal hides from a person what happened.
  if (verb === 'seen') return untilStopped((signal) => withTerminal('marking a call as seen', signal, async () => seen(words, options)));
  throw noSuchVerb('attempts', ['list', 'seen'], verb);
}

async function list(words: readonly string[], options: CommandOptions): Promise<number> {
  operands(words, []);
  return withApp(
    options,
    async (app) => {
      const open = await app.attempts.list();
      if (options.json) printJson(open.map(attemptJson));
      else for (const attempt of open) printAttempt(attempt);
      if (open.length === 0 && !options.json) printError('every call that began has an end');
      return 0;
    },
    looking,
  );
}

function printAttempt({ call, standing, tool, targets, agent, begunAt, requestId, message, next }: AttemptView): void {
  const request = requestId === undefined ? '' : `  ${requestId}`;
  printText(
    `${call}  ${standing.padEnd(7)}  ${begunAt}  ${tool} ${showPlainly(targets.join(', '), 80)}  by ${showPlainly(agent, 60)}${request}`,
  );
  for (const line of [message, next]) if (line !== undefined) printText(`    ${showPlainly(line, 500)}`);
}

function attemptJson({ call, standing, tool, targets, agent, begunAt, requestId, message, next }: AttemptView) {
  const more = { ...(requestId === undefined ? {} : { request_id: requestId }), ...(message === undefined ? {} : { message }) };
  return { call, standing, tool, targets: [...targets], agent, begun_at: begunAt, ...more, ...(next === undefined ? {} : { next }) };
}

async function seen(words: readonly string[], options: CommandOptions): Promise<number> {
  const [call = ''] = operands(words, ['CALL']);
  return withApp(options, async (app) => {
    const { ok, message } = await app.attempts.seen(call, personHere());
    if (options.json) printJson({ ok, message, call });
    else printText(message);
    return ok ? 0 : 2;
  });
}
