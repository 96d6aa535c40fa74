/** `banksman run`: a command in the sandbox, over a view of the workspace, as `run_command` runs it; for any shell, an agent's own above all. */
import { randomBytes } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { Fault } from '#kernel/errors';
import { isJsonObject, type JsonObject, textOf } from '#kernel/json';
import type { Outcome } from '#kernel/outcome';
import { badUsage, type CommandOptions, wholeNumber } from '../command-line.ts';
import { printJson, stderrLog } from '../output.ts';
import { withApp } from '../session.ts';
import { agentOf, showProgress } from './call.ts';

/** Where the command itself says nothing: as of timeout(1), env(1) and shells. */
const endings = { failed: 125, notRun: 126, timeout: 124, cancelled: 130 } as const;

/** What `run_command` takes at most, in seconds. */
const longestSeconds = 600;

export async function runRun(words: readonly string[], options: CommandOptions): Promise<number> {
  if (words.length === 0) throw badUsage('missing COMMAND');
  const seconds = options.timeout === undefined ? longestSeconds : wholeNumber(options.timeout, 'timeout', { min: 1, max: longestSeconds });
  const command = options.stdin === true ? withInput(lineOf(words), await buffer(process.stdin)) : lineOf(words);
  const input = { command, timeout_ms: seconds * 1_000, ...(options.network === true ? { network: true } : {}) };
  return withApp(
    options,
    async (app, signal) => {
      const outcome = await app.call({
        ...{ tool: 'run_command', input, signal, waitMs: app.config.approvalWait.cli },
        agent: agentOf(options, app.config.hookModelTier),
        onProgress: showProgress(options.verbose === true, process.stderr),
      });
      if (options.json === true) printJson(outcome);
      else show(outcome);
      return statusOf(outcome, signal.aborted);
    },
    options.verbose === true ? {} : { log: quiet },
  );
}

/** Standard error is the command's, but for what has to be said. */
const quiet = { ...stderrLog, info: () => undefined, warn: () => undefined };

/** One word is a line for bash, several are a program and its arguments. */
function lineOf(words: readonly string[]): string {
  const [first = ''] = words;
  return words.length === 1 ? first : words.map(quoted).join(' ');
}

function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** In the line itself, so that it is what the policy sees and the trail keeps. */
function withInput(line: string, given: Buffer): string {
  const text = given.toString('utf8');
  if (!Buffer.from(text).equals(given) || text.includes('\0'))
    throw new Fault('invalid_input', '`--stdin` takes text', {
      audience: 'user',
      next: 'put it into a file of the workspace and name that',
    });
  const mark = `BANKSMAN_${randomBytes(8).toString('hex')}`;
  return text === '' || text.endsWith('\n') ? `{ ${line}\n} <<'${mark}'\n${text}${mark}` : `printf %s ${quoted(text)} | {\n${line}\n}`;
}

function resultOf({ result }: Outcome): JsonObject {
  return isJsonObject(result) ? result : {};
}

/** The command's own output as it is; ours on standard error, and none where there is nothing to say. */
function show(outcome: Outcome): void {
  const result = resultOf(outcome);
  process.stdout.write(textOf(result['stdout']) ?? '');
  process.stderr.write(textOf(result['stderr']) ?? '');
  for (const line of wordsOf(outcome)) process.stderr.write(`banksman: ${line}\n`);
}

/** Nothing of a command that ended well and changed nothing. */
function wordsOf(outcome: Outcome): readonly string[] {
  const found = resultOf(outcome)['changes'];
  const changes = isJsonObject(found) ? found : {};
  if (outcome.status === 'ok' && Object.keys(changes).every((key) => key === 'dropped')) return [];
  const runId = textOf(changes['run_id']);
  const again = `once a person has approved ${outcome.request_id ?? 'it'}, run this same command again, once`;
  const next = outcome.status === 'pending' ? again : outcome.next;
  const undo = runId === undefined ? undefined : `undo it with: banksman runs undo ${runId}`;
  const lets =
    changes['dropped'] === true
      ? 'what a command may change is a matter of its model’s tier: `--model NAME`, or `hooks.modelTier` in the configuration; see `banksman run --help`'
      : undefined;
  return [outcome.message, next, undo, lets].filter((line) => line !== undefined);
}

function statusOf(outcome: Outcome, isCancelled: boolean): number {
  const code = resultOf(outcome)['exit_code'];
  if (outcome.code === 'command_timeout') return endings.timeout;
  if (typeof code === 'number' && (outcome.status === 'ok' || code !== 0)) return code;
  if (isCancelled) return endings.cancelled;
  return outcome.status === 'denied' || outcome.status === 'pending' ? endings.notRun : endings.failed;
}
