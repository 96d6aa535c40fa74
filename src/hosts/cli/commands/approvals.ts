/** `banksman approvals`: reading what is asked. The answers are in `approval-answers.ts`. */
import type { App } from '#app/app';
import { issueOneTimeCode } from '#app/one-time-codes';
import { type RequestRecord, type RequestStatus, requestStatuses } from '#kernel/request';
import { formatDuration, showPlainly } from '#kernel/text';
import { commandHint } from '../command-hint.ts';
import { badUsage, type CommandOptions, operands, wholeNumber } from '../command-line.ts';
import { printError, printJson, printText } from '../output.ts';
import { noSuchRequest, requestId, requestJson, requestLine } from '../request-text.ts';
import { stateDirOf, untilStopped, withApp } from '../session.ts';
import { hasTerminal, withTerminal } from '../terminal.ts';
import { approveRequest, denyRequest, revokeRequest } from './approval-answers.ts';
import { watchApprovals } from './approval-watch.ts';

const pageSize = 100;
const verbs: Readonly<Record<string, (words: readonly string[], options: CommandOptions) => Promise<number>>> = {
  list: listRequests,
  show: showRequest,
  approve: approveRequest,
  deny: denyRequest,
  revoke: revokeRequest,
  watch: watchApprovals,
};

export async function runApprovals([verb = '', ...words]: readonly string[], options: CommandOptions): Promise<number> {
  const run = Object.hasOwn(verbs, verb) ? verbs[verb] : undefined;
  if (run === undefined)
    throw badUsage(
      `\`approvals\` takes ${Object.keys(verbs)
        .map((name) => `\`${name}\``)
        .join(', ')}, not \`${verb || 'nothing'}\``,
    );
  return run(words, options);
}

async function listRequests(words: readonly string[], options: CommandOptions): Promise<number> {
  operands(words, []);
  const statuses = statusesOf(options);
  const most = wholeNumber(options.count ?? '100', 'count', { min: 1, max: 100_000 });
  return withApp(options, async (app, signal) => {
    const { records, more } = await newest(app, { statuses, most, search: options.search }, signal);
    if (options.json) printJson(records.map(requestJson));
    else for (const record of records) printText(requestLine(record, Date.now()));
    if (signal.aborted) {
      printError('stopped before the end: there may be more');
      return 1;
    }
    if (records.length === 0 && !options.json) printError(noneOf(statuses, options.search));
    if (more) printError(`there are more; --count N shows more than ${most}`);
    return 0;
  });
}

function noneOf(statuses: readonly RequestStatus[] | undefined, search: string | undefined): string {
  const fitting = search === undefined ? '' : ` with \`${showPlainly(search, 40)}\` in it`;
  return statuses === undefined ? `there are no requests${fitting}` : `no request${fitting} is ${statuses.join(' or ')}`;
}

/** undefined: all. */
function statusesOf({ all, status }: CommandOptions): readonly RequestStatus[] | undefined {
  if (all && status !== undefined) throw badUsage('`--all` and `--status` exclude each other');
  if (all) return undefined;
  return (status ?? 'pending').split(',').map((name) => {
    const known = requestStatuses.find((entry) => entry === name.trim());
    if (known === undefined) throw badUsage(`\`--status\` must be of ${requestStatuses.join(', ')}, not \`${showPlainly(name, 40)}\``);
    return known;
  });
}

interface Wanted {
  readonly statuses: readonly RequestStatus[] | undefined;
  readonly most: number;
  readonly search: string | undefined;
}

/** Page by page, so that a search through a full store can be stopped. */
async function newest(
  app: App,
  { statuses, most, search }: Wanted,
  signal: AbortSignal,
): Promise<{ readonly records: readonly RequestRecord[]; readonly more: boolean }> {
  const found: RequestRecord[] = [];
  let cursor: string | undefined;
  do {
    const page = await app.approvals.list({
      limit: Math.min(pageSize, most - found.length),
      ...(statuses === undefined ? {} : { statuses }),
      ...(search === undefined ? {} : { search }),
      ...(cursor === undefined ? {} : { cursor }),
    });
    found.push(...page.records);
    cursor = page.cursor;
  } while (cursor !== undefined && found.length < most && !signal.aborted);
  return { records: found, more: cursor !== undefined };
}

async function showRequest(words: readonly string[], options: CommandOptions): Promise<number> {
  const id = requestId(words);
  return untilStopped((signal) =>
    withApp(options, async (app) => {
      const record = await app.approvals.get(id);
      if (record === undefined) throw noSuchRequest(id, options);
      const seen = hasTerminal() ? record : withoutPattern(record);
      const card = app.approvals.card(seen);
      if (options.json) printJson({ ...requestJson(seen), card: { title: card.title, detail: card.detail, tampered: card.tampered } });
      else printText([card.title, '', card.detail, ...allArguments(record)].join('\n'));
      if (record.status === 'pending' && !card.tampered) await giveCode(record, options, signal);
      return 0;
    }),
  );
}

/** What a detector matched may be a secret; a program that reads this output is not shown it. */
function withoutPattern(record: RequestRecord): RequestRecord {
  if (record.reported === undefined) return record;
  const { reason, destination } = record.reported;
  return { ...record, reported: { reason, destination } };
}

/** The card cuts long ones short. */
function allArguments({ action }: RequestRecord): readonly string[] {
  const text = JSON.stringify(action.arguments, null, 2);
  if (text.length < 1_000) return [];
  return ['', 'All arguments:', ...text.split('\n').map((line) => showPlainly(line, Number.POSITIVE_INFINITY))];
}

/** On the terminal itself, so that it is in no pipe and no file. */
async function giveCode({ id, digest }: RequestRecord, options: CommandOptions, signal: AbortSignal): Promise<void> {
  if (!hasTerminal()) return printError('a one-time code is shown on a terminal only; run this by hand in one to approve');
  await withTerminal('a one-time code', signal, async (terminal) => {
    const { code, expiresAt } = await issueOneTimeCode(stateDirOf(options), { requestId: id, digest });
    const life = formatDuration(expiresAt - Date.now());
    terminal.say(
      `\none-time code: ${code}  (good once, for ${life})\napprove it:    ${commandHint(['approvals', 'approve', id], options)}\n`,
    );
  });
}
