/** One request, one person, one answer: the dialog, from the stored record to the signed grant. */
import type { AnswerResult, Approvals, ReviewCard, Signer } from '#app/app';
import { toFault } from '#kernel/errors';
import type { RequestRecord } from '#kernel/request';
import { expiryInWords } from '#kernel/request-end';
import { showPlainly } from '#kernel/text';
import { boundSigner } from './bound-signer.ts';
import type { Dialogs, Question } from './dialogs.ts';
import { pinNote } from './pin-note.ts';
import { typedMatch } from './typed-match.ts';

export const approveButton = 'Approve once';
export const denyButton = 'Deny';
export const detailsButton = 'Show Details';
/** Approving a reported block grants no call (docs/design.md#requests-and-grants): the button must not look as if it did. */
export const settleButton = 'Settle Report';

/** An answer sooner than this after opening was meant for whatever had the focus before. */
export const minimumOpenMs = 700;

export interface ReviewDeps {
  readonly approvals: Pick<Approvals, 'get' | 'card' | 'approve' | 'deny' | 'isTrusted' | 'trust'>;
  readonly dialogs: Dialogs;
  /** This window's key, read anew each time: another window may have replaced it. */
  signer(): Promise<Signer>;
  /** Monotonic, in ms. */
  now(): number;
  /** Who sits here: `user:alice`. */
  readonly person: string;
  /** Where a first approval pins the key, for people. */
  readonly configFile: string;
  /** Opens the page with everything there is to know about the request. */
  showDetails(id: string): Promise<void>;
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
    deps.dialogs.tell('error', `Not approved: ${toFault(thrown).message}`);
    return 'failed';
  }
}

interface Shown {
  readonly record: RequestRecord;
  readonly card: ReviewCard;
  readonly signer: Signer;
  readonly trusted: boolean;
}

async function review(id: string, deps: ReviewDeps): Promise<ReviewEnd> {
  for (let tooFast = false; ; tooFast = true) {
    const record = await deps.approvals.get(id);
    if (record?.status !== 'pending') return tellNotPending(id, record, deps);
    const card = deps.approvals.card(record);
    if (card.tampered) return refuseTampered(card, deps);
    const signer = await deps.signer();
    const shown = { record, card, signer, trusted: await deps.approvals.isTrusted(signer.publicKey) };
    const openedAt = deps.now();
    const answer = await askSafely(questionOf(shown, tooFast, deps), deps);
    if (answer === undefined || deps.now() - openedAt >= minimumOpenMs) return carryOut(answer, shown, deps);
  }
}

function questionOf({ record, card, signer, trusted }: Shown, tooFast: boolean, deps: ReviewDeps): Question {
  const lines = [tooFast ? tooFastNote : '', card.detail, trusted ? '' : pinNote('Approving', signer, deps.configFile)];
  const detail = lines.filter((line) => line !== '').join('\n\n');
  return { id: card.id, severity: 'warning', title: card.title, detail, buttons: [denyButton, detailsButton, approveLabel(record)] };
}

function approveLabel(record: RequestRecord): string {
  return record.reported === undefined ? approveButton : settleButton;
}

/** Only the buttons mean anything; whatever else comes back leaves the request pending. */
async function carryOut(answer: string | undefined, shown: Shown, deps: ReviewDeps): Promise<ReviewEnd> {
  if (answer === denyButton) return denyRequest(shown.card, deps);
  if (answer === approveLabel(shown.record)) return confirmAndApprove(shown, deps);
  // A dialog covers the window: the page is read first, and the dialog comes back from there.
  if (answer === detailsButton) await deps.showDetails(shown.record.id);
  return 'left_pending';
}

/** A rejected dialog is a window that was reloaded or closed: nobody answered. */
async function askSafely(question: Question, deps: ReviewDeps): Promise<string | undefined> {
  try {
    return await deps.dialogs.ask(question);
  } catch {
    return undefined;
  }
}

const tooFastNote = 'Your last answer came within 0.7 seconds of this dialog opening, so it did not count. Please read and answer again.';

async function confirmAndApprove(shown: Shown, deps: ReviewDeps): Promise<ReviewEnd> {
  const { record, card, signer } = shown;
  if (card.typeToConfirm !== undefined && !(await typedRight(card, card.typeToConfirm, deps))) return 'left_pending';
  if (!shown.trusted) await deps.approvals.trust(signer.approver, signer.publicKey);
  const result = await deps.approvals.approve(record.id, boundSigner(signer, record));
  return tellAnswer(result, card, deps) ? 'approved' : 'failed';
}

/** @param expected the target's name and a fresh code, shown in this prompt and nowhere else */
async function typedRight(card: ReviewCard, expected: string, deps: ReviewDeps): Promise<boolean> {
  const typed = await deps.dialogs
    .type({
      title: card.title,
      prompt: `Type “${expected}” to approve it once. Esc leaves it pending.`,
      check: (text) => (typedMatch(expected, text) ? undefined : `Type “${expected}”`),
    })
    .catch(() => undefined);
  // The check above only guides the person: a program can accept an input box, so what came out of it is compared again.
  if (typedMatch(expected, typed)) return true;
  deps.dialogs.tell('info', `Not approved, it stays pending: ${card.title}`);
  return false;
}

/** Pressed is denied; the words are the person's to add or not. */
async function denyRequest(card: ReviewCard, deps: ReviewDeps): Promise<ReviewEnd> {
  const prompt = 'It is denied either way. Tell the agent why, or what to do instead?';
  const words = await deps.dialogs.note({ title: card.title, prompt }).catch(() => undefined);
  const message = words?.trim() ?? '';
  const result = await deps.approvals.deny(card.id, deps.person, ...(message === '' ? [] : [message]));
  return tellAnswer(result, card, deps) ? 'denied' : 'failed';
}

async function refuseTampered(card: ReviewCard, deps: ReviewDeps): Promise<ReviewEnd> {
  const title = `Request ${card.id} was changed in the store and cannot be approved`;
  const detail = `It does not match its own digest. Somebody or something wrote to the store. Run “Banksman: Verify Audit Trail”.\n\n${card.detail}`;
  const answer = await askSafely({ id: card.id, severity: 'error', title, detail, buttons: [denyButton] }, deps);
  if (answer === denyButton) await deps.approvals.deny(card.id, deps.person);
  return 'tampered';
}

function tellNotPending(id: string, record: RequestRecord | undefined, deps: ReviewDeps): ReviewEnd {
  if (!record) deps.dialogs.tell('warning', `There is no request ${showPlainly(id, 40)}.`);
  else if (record.status === 'expired')
    deps.dialogs.tell(
      'info',
      `Too late: “${showPlainly(record.title)}” has expired: ${expiryInWords(record, Date.now())}. The agent can ask again.`,
    );
  else deps.dialogs.tell('info', `“${showPlainly(record.title)}” is ${record.status} already${by(record)}.`);
  return 'not_pending';
}

function by(record: RequestRecord): string {
  return record.decision ? `, by ${showPlainly(record.decision.by, 100)}` : '';
}

function tellAnswer(result: AnswerResult, card: ReviewCard, deps: ReviewDeps): boolean {
  const message = `${result.message.charAt(0).toUpperCase()}${result.message.slice(1)}`;
  if (result.ok) deps.dialogs.tell('status', message);
  else if (result.code === 'expired') deps.dialogs.tell('info', `Too late, nothing runs: ${card.title.replace(/\?$/, '')}. ${message}.`);
  else deps.dialogs.tell(result.code === 'already_decided' ? 'info' : 'error', `${message}.`);
  return result.ok;
}
