/** A person's own act, confirmed in a modal: a program can run commands and press quick picks, but no modal (docs/adr/0006-modal-gate.md). */

import { randomInt } from 'node:crypto';
import { keyIdOf } from '#app/for-hosts';
import type { Approvals } from '#kernel/app';
import type { Signer } from '#kernel/approval/answer';
import { showPlainly } from '#kernel/text/text';
import { t } from '../l10n.ts';
import type { Dialogs } from './dialogs.ts';

/** An answer sooner than this after opening was meant for whatever had the focus before. */
export const minimumOpenMs = 700;

export const runButton = t('Run');
const cancelButton = t('Do Not Run');

export interface ConfirmDeps {
  readonly queue: ModalQueue;
  readonly dialogs: Dialogs;
  /** Monotonic, in ms. */
  now(): number;
}

export interface Confirmation {
  /** Tells questions apart, so that the same one is not asked twice at once. */
  readonly key: string;
  readonly title: string;
  readonly detail: string;
  /** What goes on; default `Run`. */
  readonly proceed?: string;
  /** The default button, which changes nothing; default `Do Not Run`. */
  readonly stay?: string;
  /** For what only stops something or puts it back: no code is asked for. */
  readonly harmless?: true;
}

/** Whether a person pressed the button that goes on. */
export function confirmRun(question: Confirmation, deps: ConfirmDeps): Promise<boolean> {
  return deps.queue.run(`run:${question.key}`, () => confirmNow(question, deps));
}

/** For who has the turn in the queue already. */
export async function confirmNow(question: Confirmation, deps: Pick<ConfirmDeps, 'dialogs' | 'now'>): Promise<boolean> {
  const { key, title, detail, proceed = runButton, stay = cancelButton, harmless } = question;
  for (;;) {
    const code = harmless ? undefined : frontCode();
    const openedAt = deps.now();
    const shown = { id: key, severity: 'warning', title, detail: withCode(detail, [proceed], code), buttons: [stay, proceed] } as const;
    const answer = await deps.dialogs.ask(shown).catch(() => undefined);
    if (answer !== proceed) return false;
    if (deps.now() - openedAt >= minimumOpenMs) return code === undefined || typeCode(title, code, deps.dialogs);
  }
}

/** Without 0/O, 1/I/L: read off a dialog and typed. */
const codeAlphabet = '23456789ABCDEFGHJKMNPQRSTUVWXYZ';

/**
 * SECURITY: nothing tells when a dialog is on the screen. It waits behind another extension's, and the second click of two that close that one
 * presses our button. So a click alone never goes on: what counts is a code that stands on the card and nowhere else, typed after it.
 */
export function frontCode(): string {
  return Array.from({ length: 3 }, () => codeAlphabet[randomInt(codeAlphabet.length)]).join('');
}

/** The first line, which is on the screen however long the rest is. */
export function withCode(detail: string, buttons: readonly string[], code: string | undefined): string {
  const named = buttons.map((button) => `“${button}”`).join(t(' or '));
  return code === undefined ? detail : `${t('To go on: press {0}, then type {1}.', named, code)}\n\n${detail}`;
}

/** Whether a person typed the code of the card that they just answered. */
export async function typeCode(title: string, code: string, dialogs: Dialogs): Promise<boolean> {
  const prompt = t('Type the code that stood at the top of the card. Esc: nothing happens.');
  const check = (text: string) => (typedMatch(code, text) ? undefined : t('Not what stood on the card; with Esc you can look at it again'));
  const typed = await dialogs.type({ title, prompt, check }).catch(() => undefined);
  // The check only guides the person: a program can accept an input box, so what came out of it is compared again.
  return typedMatch(code, typed);
}

/** Whether a person typed what was asked for. Case and runs of white space do not matter: the alphabet has no look-alikes anyway. */
export function typedMatch(expected: string, typed: string | undefined): boolean {
  const wanted = normal(expected);
  // An empty expectation would be met by pressing Enter, which a program can do.
  return wanted !== '' && typed !== undefined && normal(typed) === wanted;
}

function normal(text: string): string {
  return text.trim().replace(/\s+/g, ' ').toUpperCase();
}

/** The question whether this window's key counts from now on: it outlives the one decision at hand, so it is asked by itself. */
export const trustButton = t('Trust This Key');

interface PinDeps {
  readonly approvals: Pick<Approvals, 'isTrusted' | 'trust'>;
  /** Where keys are pinned, for people. */
  readonly configFile: string;
  /** Whether the person goes on. */
  confirm(question: Confirmation): Promise<boolean>;
}

/** True where the key counts already, or a person says that it shall. */
export async function trustKey(signer: Signer, deps: PinDeps): Promise<boolean> {
  if (await deps.approvals.isTrusted(signer.publicKey)) return true;
  if (!(await deps.confirm(pinQuestion(signer, deps.configFile)))) return false;
  await deps.approvals.trust(signer);
  return true;
}

function pinQuestion(signer: Signer, configFile: string): Confirmation {
  const detail = t(
    'An answer is signed, and counts only by keys that are pinned on this machine. The key of this window is new here. If you trust it, whoever uses this editor profile can approve from now on.',
  );
  return {
    key: 'trust this key',
    title: t('Trust the approval key of this window for {0}?', showPlainly(signer.approver, 100)),
    detail: [
      detail,
      '',
      t('Fingerprint: {0}', keyIdOf(signer.publicKey) ?? 'none'),
      t('Key: {0}', showPlainly(signer.publicKey)),
      t('Pinned in: {0}', showPlainly(configFile)),
    ].join('\n'),
    proceed: trustButton,
    stay: t('Do Not Trust'),
  };
}

/** One dialog at a time. */
export interface ModalQueue {
  /** Runs `task` after all earlier ones. A second task under the same key joins the first instead of asking twice. */
  run<T>(key: string, task: () => Promise<T>): Promise<T>;
}

/** @param settle between two dialogs: one must not take the click that was meant for the one before */
export function createModalQueue(settle: () => Promise<unknown> = async () => undefined): ModalQueue {
  const waiting = new Map<string, Promise<unknown>>();
  let last: Promise<unknown> = Promise.resolve();
  return {
    run<T>(key: string, task: () => Promise<T>): Promise<T> {
      const joined = waiting.get(key);
      // One key always carries one kind of task, so the first one's promise has the type that the second caller expects.
      if (joined) return joined as Promise<T>;
      const mine = last.then(task, task).finally(() => waiting.delete(key));
      waiting.set(key, mine);
      last = mine.catch(() => undefined).then(settle);
      return mine;
    },
  };
}
