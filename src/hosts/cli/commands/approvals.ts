/** `banksman approvals`: reading what is asked. The answers are in `approval-answers.ts`. */

import { createRequestChanges } from '#app/people/request-changes';
import type { App } from '#kernel/app';
import type { CodeVerdict, OneTimeCodes, ReviewCard, Signer } from '#kernel/approval/answer';
import { type RequestRecord, type RequestStatus, requestStatuses } from '#kernel/approval/request';
import { applyHeldTool } from '#kernel/effects';
import { Fault, toFault } from '#kernel/errors';
import { english } from '#kernel/text/message';
import { changeLines, changesIn, heldLinesOnCard } from '#kernel/text/shown-change';
import { formatDuration, showPlainly } from '#kernel/text/text';
import { badUsage, type CommandOptions, commandHint, noSuchVerb, operands, wholeNumber } from '../command-line.ts';
import { printError, printJson, printText, Refusal } from '../output.ts';
import { approverHere, unlock } from '../passphrase.ts';
import { onReaderGone } from '../reader-gone.ts';
import { noSuchRequest, personHere, reportAnswer, requestId, requestJson, requestLine } from '../request-text.ts';
import { looking, requireDecidedHere, untilStopped, withApp } from '../session.ts';
import { hasTerminal, type Terminal, withTerminal } from '../terminal.ts';

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
  if (run === undefined) throw noSuchVerb('approvals', Object.keys(verbs), verb);
  return run(words, options);
}

async function listRequests(words: readonly string[], options: CommandOptions): Promise<number> {
  operands(words, []);
  const statuses = statusesOf(options);
  const most = wholeNumber(options.count ?? '100', 'count', { min: 1, max: 100_000 });
  return withApp(
    options,
    async (app, signal) => {
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
    },
    looking,
  );
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
  return showCard(requestId(words), options, true);
}

/** @param isToApprove whether to say how, with a one-time code */
export function showCard(id: string, options: CommandOptions, isToApprove: boolean): Promise<number> {
  return untilStopped((signal) =>
    withApp(
      options,
      async (app) => {
        // A program that reads this output is not shown what a detector matched.
        const card = await app.approvals.card(id, hasTerminal() ? undefined : 'pattern');
        if (card === undefined) throw noSuchRequest(id, options);
        const { record } = card;
        if (options.json) printJson({ ...requestJson(record), card: { title: card.title, detail: card.detail, tampered: card.tampered } });
        else printText([card.title, '', card.detail, ...allArguments(record), ...allChanges(record)].join('\n'));
        if (isToApprove && record.status === 'pending' && !card.tampered) await sayHow(app, record, options, signal);
        return 0;
      },
      looking,
    ),
  );
}

/** The card cuts long ones short. */
function allArguments({ action }: RequestRecord): readonly string[] {
  const text = JSON.stringify(action.arguments, null, 2);
  if (text.length < 500) return [];
  return ['', 'All arguments:', ...text.split('\n').map((line) => showPlainly(line, Number.POSITIVE_INFINITY))];
}

function allChanges({ action }: RequestRecord): readonly string[] {
  const lines = changesIn(action.targets).flatMap(changeLines).map(english);
  return lines.length <= heldLinesOnCard ? [] : ['', 'All changes:', ...lines];
}

async function sayHow({ config, oneTimeCodes }: App, record: RequestRecord, options: CommandOptions, signal: AbortSignal): Promise<void> {
  if (oneTimeCodes !== undefined) {
    await giveCode(oneTimeCodes, record, options, signal).catch((thrown: unknown) => {
      // Who only asks and looks may look.
      const fault = toFault(thrown);
      if (fault.code !== 'store_role_missing') throw thrown;
      printError(`it is approved elsewhere: ${fault.message}`);
    });
  } else printError(`to approve it: ${config.answersAt ?? 'where its store is'}`);
}

/** On the terminal itself, so that it is in no pipe and no file. */
async function giveCode(codes: OneTimeCodes, { id, digest }: RequestRecord, options: CommandOptions, signal: AbortSignal): Promise<void> {
  if (!hasTerminal()) return printError('a one-time code is shown on a terminal only; run this by hand in one to approve');
  await withTerminal('a one-time code', signal, async (terminal) => {
    const { code, lifeMs } = await codes.issue({ requestId: id, digest });
    const life = formatDuration(lifeMs);
    terminal.say(
      `\none-time code: ${code}  (good once, for ${life})\napprove it:    ${commandHint(['approvals', 'approve', id], options)}\n`,
    );
  });
}

/** With the code from `show`, and an approver's passphrase. */
async function approveRequest(words: readonly string[], options: CommandOptions): Promise<number> {
  const id = requestId(words);
  return atTerminal('approving', options, async (app, terminal) => {
    requireDecidedHere(app);
    // What is on the card now is what `approve` compares with: a record that is swapped from here on is refused.
    const card = await app.approvals.card(id);
    if (card === undefined) throw noSuchRequest(id, options);
    const { record } = card;
    // Looked for first: a code must not be consumed where nobody could sign.
    const key = await approverHere(options);
    const isOpen = record.status === 'pending' && !card.tampered;
    if (isOpen) await confirm({ card, codes: app.oneTimeCodes }, options, terminal);
    else terminal.say(`${card.title}\n\n${card.detail}\n\n`);
    const signer = isOpen ? await unlock(terminal, key) : withoutPassphrase(key);
    const answer = await app.approvals.approve(id, signer);
    const code = reportAnswer(answer, id, options);
    return answer.ok && record.action.tool === applyHeldTool ? applyHere(app, record, signer.approver, options) : code;
  });
}

/** Held changes lie on the machine that has them; nobody has to call again for them. */
async function applyHere(app: App, record: RequestRecord, by: string, options: CommandOptions): Promise<number> {
  const whyNot = await app.whyNotHere(record);
  if (whyNot !== undefined) {
    printError(`not applied from here: ${whyNot}; a process that has the workspace open applies it within five minutes, or nobody does`);
    return 0;
  }
  const outcome = await app.runApproved(record.id, { by, signal: new AbortController().signal });
  if (options.json) printError(outcome.message);
  else printText(outcome.message);
  return outcome.status === 'ok' ? 0 : 1;
}

/** For an answer that says why nothing can be approved: nobody types a passphrase for that. */
function withoutPassphrase({ name, publicKey }: Awaited<ReturnType<typeof approverHere>>): Signer {
  const sign = () => Promise.reject(new Fault('not_confirmed', 'this was never confirmed, so it is not signed', { audience: 'bug' }));
  return { approver: `user:${name}`, publicKey, sign };
}

/** Needs no passphrase: it can only stop something. The message reaches the model. */
async function denyRequest(words: readonly string[], options: CommandOptions): Promise<number> {
  const id = requestId(words);
  return atTerminal('denying', options, async (app) =>
    reportAnswer(await app.approvals.deny(id, personHere(), options.message), id, options),
  );
}

/** Takes an approval back before it is used. */
async function revokeRequest(words: readonly string[], options: CommandOptions): Promise<number> {
  const id = requestId(words);
  return atTerminal('revoking', options, async (app) =>
    reportAnswer(await app.approvals.revoke(id, personHere(), options.message), id, options),
  );
}

/** The terminal comes first: without one nothing is opened. */
function atTerminal(what: string, options: CommandOptions, work: (app: App, terminal: Terminal) => Promise<number>): Promise<number> {
  return untilStopped((signal) => withTerminal(what, signal, (terminal) => withApp(options, (app) => work(app, terminal))));
}

interface Confirmation {
  readonly card: ReviewCard;
  readonly codes: OneTimeCodes | undefined;
}

async function confirm({ card, codes }: Confirmation, options: CommandOptions, terminal: Terminal): Promise<void> {
  terminal.say(`${card.title}\n\n${card.detail}\n\n`);
  const { id, digest } = card.record;
  const code = options.code ?? (await terminal.ask(`one-time code (from \`${showHint(id, options)}\`): `));
  const verdict = (await codes?.redeem({ requestId: id, digest }, code.trim())) ?? { ok: false, why: 'none' };
  if (!verdict.ok) throw wrongCode(verdict, id, showHint(id, options));
  const { typeToConfirm } = card;
  if (typeToConfirm === undefined) return;
  if ((await terminal.ask(`type \`${typeToConfirm}\` to approve it once: `)).trim() !== typeToConfirm)
    throw new Refusal('not_confirmed', `not approved, ${id} stays pending`, `start again with \`${showHint(id, options)}\``);
}

function showHint(id: string, options: CommandOptions): string {
  return commandHint(['approvals', 'show', id], options);
}

function wrongCode(verdict: Exclude<CodeVerdict, { ok: true }>, id: string, hint: string): Refusal {
  const show = `get a new one with \`${hint}\``;
  if (verdict.why === 'none') return new Refusal('no_code', `there is no one-time code for ${id} as it is now`, show);
  if (verdict.why === 'expired') return new Refusal('code_expired', 'the one-time code has expired', show);
  if (verdict.why !== 'wrong') return new Refusal('code_void', 'that was one wrong code too many; the right one is void now', show);
  const tries = verdict.triesLeft === 1 ? '1 try' : `${verdict.triesLeft} tries`;
  return new Refusal('wrong_code', `that is not the one-time code of ${id}; ${tries} left`);
}

/** What is pending comes first; then a line per change. Nothing is polled: the store rings, and a timer stands at the next expiry. */
async function watchApprovals(words: readonly string[], options: CommandOptions): Promise<number> {
  operands(words, []);
  return withApp(
    options,
    async (app, stopped) => {
      const unread = new AbortController();
      const signal = AbortSignal.any([stopped, unread.signal]);
      const bell = createBell();
      const unsubscribe = app.approvals.onChange(bell.ring);
      signal.addEventListener('abort', bell.ring, { once: true });
      const stopLooking = onReaderGone(() => unread.abort());
      try {
        const changes = createRequestChanges(app.approvals);
        for (let first = true; !signal.aborted; first = false) {
          const changed = (await changes.look()).map(({ record }) => record);
          // Of what was there before only what is still open to an answer.
          print(first ? changed.filter(({ status }) => status === 'pending') : changed, options);
          await bell.next(changes.nextExpiry());
        }
      } finally {
        stopLooking();
        unsubscribe();
        signal.removeEventListener('abort', bell.ring);
      }
      return unread.signal.aborted ? 1 : 0;
    },
    looking,
  );
}

function print(records: readonly RequestRecord[], options: CommandOptions): void {
  for (const record of records) {
    const at = new Date(changedAt(record)).toISOString();
    const by = record.decision === undefined ? '' : `  by ${showPlainly(record.decision.by, 100)}`;
    if (options.json) printJson({ at, ...requestJson(record) });
    else printText(`${at}  ${record.status.padEnd(9)} ${record.id}  ${showPlainly(record.title, 160)}${by}`);
  }
}

/** What ended by itself ended about now. */
function changedAt({ status, consumedAt, decision, createdAt }: RequestRecord): number {
  if (status === 'expired' || status === 'cancelled') return Date.now();
  return consumedAt ?? decision?.at ?? createdAt;
}

/** Remembers a ring that nobody waited for. */
function createBell() {
  let rung = false;
  let wake: (() => void) | undefined;
  return {
    ring: () => {
      rung = true;
      wake?.();
    },
    /** Until it rings, or `ms` have passed. */
    next: async (ms: number): Promise<void> => {
      const { promise, resolve } = Promise.withResolvers<void>();
      wake = resolve;
      const timer = setTimeout(resolve, ms);
      if (rung) resolve();
      await promise;
      clearTimeout(timer);
      rung = false;
    },
  };
}
