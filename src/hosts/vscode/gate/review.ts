/** One request, one person, one answer: the dialog, from the stored record to the signed grant. */

import type { Approvals } from '#kernel/app';
import { type AnswerResult, cardText, type ReviewCard, type Signer, titleQuestion } from '#kernel/approval/answer';
import { lapsesAt, type RequestRecord } from '#kernel/approval/request';
import { endInWords, expiryInWords } from '#kernel/approval/request-end';
import { applyHeldTool } from '#kernel/effects';
import { toFault } from '#kernel/errors';
import { type Message, timeOfDay } from '#kernel/text/message';
import { showPlainly } from '#kernel/text/text';
import { faultTexts, faultWords } from '../fault-words.ts';
import { inWords, t } from '../l10n.ts';
import { answerText, titleOfRequest } from '../request-words.ts';
import { boundSigner } from './bound-signer.ts';
import { confirmNow, frontCode, minimumOpenMs, trustKey, typeCode, withCode } from './confirm-run.ts';
import type { Dialogs, Question } from './dialogs.ts';

export const approveButton = t('Approve once');
export const approveAndRunButton = t('Approve and Run');
export const denyButton = t('Deny');
export const detailsButton = t('Show Details');
/** To where it can be approved with a passkey. */
export const pageButton = t('Open Page');
/** Approving a reported block grants no call (docs/design.md#requests-and-grants): the button must not look as if it did. */
export const settleButton = t('Settle Report');

export interface ReviewDeps {
  readonly approvals: Pick<Approvals, 'get' | 'card' | 'approve' | 'deny' | 'isTrusted' | 'trust' | 'onChange'>;
  readonly dialogs: Dialogs;
  /** This window's key, read anew each time: another window may have replaced it. */
  signer(): Promise<Signer>;
  /** Monotonic, in ms. */
  now(): number;
  /** Who sits here: `user:alice`. */
  readonly person: string;
  /** Where keys are pinned, for people. */
  readonly configFile: string;
  /** Opens the page with everything there is to know about the request. */
  showDetails(id: string): Promise<void>;
  /** Opens the approval page at the request; absent: there is none. */
  readonly openPage?: (id: string) => Promise<void>;
  /** Where people answer, in words, where no answer of a window counts; absent: it counts here. */
  readonly answersAt?: string;
  /** Why this window cannot run the request's call itself; undefined: it can. */
  whyNotHere(record: RequestRecord): Promise<string | undefined>;
  /** Runs the call of a request that was just approved, and shows the person what came of it. Returns at once. */
  runByHand(record: RequestRecord): void;
  pause(ms: number): Promise<void>;
  /** Calls `act` once it is later than `time` (ms since the epoch). Returns how to forget it. */
  at(time: number, act: () => void): () => void;
  /** What somebody seems to have done to approvals, pins or configuration, in words. Never rejects. */
  alarms(): Promise<readonly string[]>;
}

export type ReviewEnd = 'approved' | 'denied' | 'left_pending' | 'not_pending' | 'tampered' | 'failed';

/**
 * Asks a person about the stored request `id` and carries out the answer. What goes wrong is told to the person; closing the dialog, a
 * window that goes away and any failure leave the request pending.
 */
export async function reviewRequest(id: string, deps: ReviewDeps): Promise<ReviewEnd> {
  try {
    return await review(id, deps);
  } catch (thrown) {
    deps.dialogs.tell('error', t('Not approved: {0}', faultWords(thrown)));
    return 'failed';
  }
}

interface Shown {
  readonly record: RequestRecord;
  readonly card: ReviewCard;
  /** Absent where no window's counts. */
  readonly signer?: Signer;
  /** What an approval has to be typed with: it stands on this card and nowhere else. */
  readonly code: string;
  readonly alarms: readonly string[];
  /** What this window's person can do by hand; undefined where a call waits. */
  readonly byHand?: { readonly whyNot?: string };
}

type Signable = Shown & Required<Pick<Shown, 'signer'>>;

async function review(id: string, deps: ReviewDeps): Promise<ReviewEnd> {
  for (let note = ''; ; ) {
    const english = await deps.approvals.card(id);
    if (english?.record.status !== 'pending') return tellNotPending(id, english?.record, deps);
    const card = { ...english, title: inWords(titleQuestion(english.titleWords)) };
    const { record } = card;
    if (card.tampered) return refuseTampered(card, deps);
    const code = card.typeToConfirm ?? frontCode();
    const shown: Shown = {
      record,
      card,
      code,
      alarms: await deps.alarms(),
      ...(await signerHere(deps)),
      ...(await byHandOf(record, card, deps)),
    };
    const openedAt = deps.now();
    const answer = await askWatched(questionOf(shown, note, deps), record, deps);
    if (answer !== undefined && deps.now() - openedAt < minimumOpenMs) note = tooFastNote;
    else if (await isLate(answer, shown, deps)) note = lateNote;
    else return carryOut(answer, shown, deps);
  }
}

async function signerHere({ answersAt, signer }: ReviewDeps): Promise<Pick<Shown, 'signer'>> {
  return answersAt === undefined ? { signer: await signer() } : {};
}

/** Not for a report, which runs nothing, nor where a call waits and runs it itself. */
async function byHandOf(record: RequestRecord, card: ReviewCard, deps: ReviewDeps): Promise<Pick<Shown, 'byHand'>> {
  if (card.waits || record.reported !== undefined || deps.answersAt !== undefined) return {};
  try {
    const whyNot = await deps.whyNotHere(record);
    return { byHand: whyNot === undefined ? {} : { whyNot } };
  } catch (thrown) {
    return { byHand: { whyNot: faultTexts(toFault(thrown)).message } };
  }
}

function questionOf(shown: Shown, note: string, { openPage, answersAt }: ReviewDeps): Question {
  const { record, card, code, alarms, byHand } = shown;
  const run = byHand === undefined || byHand.whyNot !== undefined ? [] : [approveAndRunButton];
  const { title, rest } = onOneLine(card.title);
  const warnings = alarms.slice(0, 3).map((alarm) => t('WARNING: {0}', alarm));
  const page = openPage === undefined ? [] : [pageButton];
  const asked = { id: card.id, severity: 'warning', title } as const;
  const detailOf = (...parts: readonly string[]) => [...warnings, note, ...parts].filter((line) => line !== '').join('\n\n');
  const rows = cardText(
    card.sections.filter(({ kind }) => kind !== 'wait'),
    inWords,
  );
  // No button here approves: one that looked as if it did would only teach to press it.
  if (answersAt !== undefined) {
    const detail = detailOf(elsewhereWords(answersAt), rest, waitWords(card, ''), rows);
    return { ...asked, detail, buttons: [denyButton, detailsButton, ...page] };
  }
  return {
    ...asked,
    detail: withCode(detailOf(rest, waitWords(card, byHandWords(record, byHand)), rows), [approveLabel(record), ...run], code),
    buttons: [denyButton, detailsButton, ...page, ...run, approveLabel(record)],
  };
}

/** Above the rest: a long call, or many changes, are longer than the dialog. */
function waitWords({ sections }: ReviewCard, byHand: string): string {
  const waits = cardText(
    sections.filter(({ kind }) => kind === 'wait'),
    inWords,
  );
  return [waits, byHand].filter((words) => words !== '').join('\n');
}

/** What follows a semicolon is about settings. */
function elsewhereWords(answersAt: string): string {
  return t('No window approves this, here it can only be denied: {0}.', answersAt.split('; ')[0] ?? answersAt);
}

/** A title as a statement. */
function plain(title: string): string {
  return title.replace(/\?$/, '');
}

/** Fits on a line of the dialog, which is 465 pixels wide. */
const longestTitle = 52;

/** SECURITY: a dialog that is too tall keeps one line of its title and hides the others, the first among them; so what is longer stands whole below it. */
function onOneLine(title: string): { readonly title: string; readonly rest: string } {
  return title.length <= longestTitle ? { title, rest: '' } : { title: shortened(title), rest: title };
}

/** What is in brackets is a guest's own name, and gives way: number and node stay. */
function shortened(title: string): string {
  const [, before = '', name = '', after = ''] = /^([^(]*\()(.*)(\)[^()]*)$/s.exec(title) ?? [];
  const room = longestTitle - before.length - after.length - 1;
  if (name !== '' && room >= 3) return `${before}${name.slice(0, room).toWellFormed()}…${after}`;
  return `${title.slice(0, longestTitle - 2).toWellFormed()}…?`;
}

function byHandWords({ action }: RequestRecord, byHand: Shown['byHand']): string {
  if (byHand === undefined) return '';
  const isHeld = action.tool === applyHeldTool;
  if (byHand.whyNot !== undefined) {
    const whyNot = showPlainly(byHand.whyNot);
    return isHeld
      ? t(
          'This window cannot apply it: {0}. Approved, it is applied by a process that has that workspace open, on its machine, within five minutes or not at all.',
          whyNot,
        )
      : t('This window cannot run it for the agent: {0}.', whyNot);
  }
  if (isHeld) return t('Approved, it is applied here at once. With {0} you see what came of it.', approveAndRunButton);
  return t('{0}: it runs now, once, as it was asked. You see the result; it is kept for the agent.', approveAndRunButton);
}

function approveLabel(record: RequestRecord): string {
  return record.reported === undefined ? approveButton : settleButton;
}

/** The call stopped waiting while the person read: what they meant by the button is no longer what it would do. */
async function isLate(answer: string | undefined, { record, card }: Shown, deps: ReviewDeps): Promise<boolean> {
  if (answer !== approveButton || !card.waits) return false;
  const now = await deps.approvals.card(record.id);
  return now?.record.status === 'pending' && !now.waits;
}

const lateNote = t('The call stopped waiting while you read this, so nothing was approved yet. Please answer again.');

/** Only the buttons mean anything; whatever else comes back leaves the request pending. */
async function carryOut(answer: string | undefined, shown: Shown, deps: ReviewDeps): Promise<ReviewEnd> {
  if (answer === denyButton) return denyRequest(shown.card, deps);
  if (canSign(shown) && answer === approveLabel(shown.record)) return confirmAndApprove(shown, deps);
  if (canSign(shown) && answer === approveAndRunButton && runsHere(shown)) return approveAndRun(shown, deps);
  // A dialog covers the window: the page is read first, and the dialog comes back from there.
  if (answer === detailsButton) await deps.showDetails(shown.record.id);
  if (answer === pageButton) await deps.openPage?.(shown.record.id);
  return 'left_pending';
}

function runsHere({ byHand }: Shown): boolean {
  return byHand !== undefined && byHand.whyNot === undefined;
}

function canSign(shown: Shown): shown is Signable {
  return shown.signer !== undefined;
}

/** The run has its own time; the next question does not wait for it. */
async function approveAndRun(shown: Signable, deps: ReviewDeps): Promise<ReviewEnd> {
  const end = await confirmAndApprove(shown, deps, t('Approved, and running now: {0}', plain(shown.card.title)));
  if (end === 'approved') deps.runByHand(shown.record);
  return end;
}

/**
 * No program can close a modal, so one whose request is decided elsewhere stays: a notification beside it says so at once, and the answer to it
 * is answered in words.
 */
async function askWatched(question: Question, record: RequestRecord, deps: ReviewDeps): Promise<string | undefined> {
  let isOpen = true;
  const look = async () => {
    const now = await deps.approvals.get(record.id).catch(() => undefined);
    if (!isOpen || now === undefined || now.status === 'pending') return;
    isOpen = false;
    const title = titleOfRequest(record);
    deps.dialogs.tell('info', t('It is over: {0}. Its dialog changes nothing any more; close it: {1}', endInWords(now), title));
  };
  const stop = deps.approvals.onChange(() => void look());
  // That its time is over nobody tells.
  const forget = deps.at(record.expiresAt, () => void look());
  try {
    return await askSafely(question, deps);
  } finally {
    isOpen = false;
    stop();
    forget();
  }
}

/** A rejected dialog is a window that was reloaded or closed: nobody answered. */
async function askSafely(question: Question, deps: ReviewDeps): Promise<string | undefined> {
  try {
    return await deps.dialogs.ask(question);
  } catch {
    return undefined;
  }
}

const tooFastNote = t(
  'Your last answer came within 0.7 seconds of this dialog opening, so it did not count. Please read and answer again.',
);

/** @param done what the person is told once it is approved; default: what the answer says */
async function confirmAndApprove(shown: Signable, deps: ReviewDeps, done?: string): Promise<ReviewEnd> {
  const { record, card, signer, code } = shown;
  if (!(await typeCode(card.title, code, deps.dialogs))) {
    deps.dialogs.tell('info', t('Not approved, it stays pending: {0}', card.title));
    return 'left_pending';
  }
  if (!(await trustKey(signer, { ...deps, confirm: (question) => confirmNow(question, deps) }))) {
    deps.dialogs.tell('info', t('Not approved, it stays pending: {0} The key of this window is not trusted.', card.title));
    return 'left_pending';
  }
  const result = await deps.approvals.approve(record.id, boundSigner(signer, record));
  if (result.ok && card.waits) void tellIfUnused(record, deps);
  if (!result.ok) {
    tellAnswer(result, card, deps);
    return 'failed';
  }
  const until = done === undefined && startsNothing(shown) ? goodUntil(result) : undefined;
  if (until === undefined) tellAnswer(done === undefined ? result : { ok: true, code: result.code, message: done }, card, deps);
  // First what the status bar, and a notification of one line, would cut off.
  else
    deps.dialogs.tell(
      'info',
      t('Approved once; the agent may run it until {0}, when it asks again: {1} ({2})', until, plain(card.title), record.id),
    );
  return 'approved';
}

/** undefined as long as others have to agree. */
function goodUntil({ code, record }: AnswerResult): Message | undefined {
  if (code !== 'approved' || record?.decision === undefined) return undefined;
  return timeOfDay(lapsesAt(record), record.decision.at);
}

/** An approval that no call waits for; held changes are applied by whoever has their workspace open. */
function startsNothing({ record, card }: Shown): boolean {
  return !card.waits && record.reported === undefined && record.action.tool !== applyHeldTool;
}

/** A waiting call takes its approval at once. One that was killed does not, and the person would believe that it ran. */
async function tellIfUnused({ id }: RequestRecord, deps: ReviewDeps): Promise<void> {
  await deps.pause(unusedMs);
  const record = await deps.approvals.get(id).catch(() => undefined);
  if (record?.status !== 'approved') return;
  const until = timeOfDay(lapsesAt(record), Date.now());
  const what = titleOfRequest(record);
  deps.dialogs.tell(
    'warning',
    t('“{0}” is approved, but the call that waited has not used it. The agent may run it until {1}, when it asks again.', what, until),
  );
}

const unusedMs = 5_000;

/** Pressed is denied; the words are the person's to add or not. */
async function denyRequest(card: ReviewCard, deps: ReviewDeps): Promise<ReviewEnd> {
  const record = await deps.approvals.get(card.id);
  if (record?.status !== 'pending') return tellNotPending(card.id, record, deps);
  const prompt = t('It is denied either way. Tell the agent why, or what to do instead?');
  const words = await deps.dialogs.note({ title: card.title, prompt }).catch(() => undefined);
  const message = words?.trim() ?? '';
  const result = await deps.approvals.deny(card.id, deps.person, ...(message === '' ? [] : [message]));
  return tellAnswer(result, card, deps) ? 'denied' : 'failed';
}

async function refuseTampered(card: ReviewCard, deps: ReviewDeps): Promise<ReviewEnd> {
  const title = t('Request {0} was changed in the store and cannot be approved', card.id);
  const detail = `${t('It does not match its own digest. Somebody or something wrote to the store. Run “Banksman: Verify Audit Trail”.')}\n\n${cardText(card.sections, inWords)}`;
  const answer = await askSafely({ id: card.id, severity: 'error', title, detail, buttons: [denyButton] }, deps);
  if (answer === denyButton) await deps.approvals.deny(card.id, deps.person);
  return 'tampered';
}

function tellNotPending(id: string, record: RequestRecord | undefined, deps: ReviewDeps): ReviewEnd {
  if (!record) deps.dialogs.tell('warning', t('There is no request {0}.', showPlainly(id, 40)));
  else if (record.status === 'expired')
    deps.dialogs.tell(
      'info',
      t('Too late: “{0}” has expired: {1}. The agent can ask again.', titleOfRequest(record), expiryInWords(record, Date.now())),
    );
  else deps.dialogs.tell('info', t('“{0}” is over already: {1}. Your answer changed nothing.', titleOfRequest(record), endInWords(record)));
  return 'not_pending';
}

function tellAnswer(result: AnswerResult, card: ReviewCard, deps: ReviewDeps): boolean {
  const said = answerText(result);
  const message = `${said.charAt(0).toUpperCase()}${said.slice(1)}`;
  if (result.ok) deps.dialogs.tell('status', message);
  else if (result.code === 'expired') deps.dialogs.tell('info', t('Too late, nothing runs: {0}. {1}.', plain(card.title), message));
  else deps.dialogs.tell(result.code === 'already_decided' ? 'info' : 'error', `${message}.`);
  return result.ok;
}
