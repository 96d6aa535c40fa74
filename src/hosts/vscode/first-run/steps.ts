/** Questions in the editor's own boxes: each can be gone back from, and left with Esc. */

import { type Disposable, ProgressLocation, QuickInputButtons, type QuickPickItem, QuickPickItemKind, window } from 'vscode';
import { faultWords } from '../fault-words.ts';
import { plainNotice } from '../markdown.ts';
import type { Frame, Went } from './walk.ts';

interface TextQuestion<T> {
  readonly prompt: string;
  readonly placeHolder?: string;
  readonly value?: string;
  readonly password?: true;
  /** What is wrong with it; undefined: nothing. */
  check(text: string): string | undefined;
  /** Looks whether it works. What it throws is said below the box, which stays. */
  accept(text: string, signal: AbortSignal): Promise<T>;
}

export function askText<T>(frame: Frame, { check, accept, ...question }: TextQuestion<T>): Promise<Went<T>> {
  const box = window.createInputBox();
  const { prompt, placeHolder = '', value = '', password = false } = question;
  Object.assign(box, { ...frame, prompt, placeholder: placeHolder, value, password, ignoreFocusOut: true });
  return answered(box, frame, (settle, signal) => [
    box.onDidChangeValue((text) => {
      box.validationMessage = plainly(text === '' ? undefined : check(text));
    }),
    box.onDidAccept(async () => {
      box.validationMessage = plainly(check(box.value));
      if (box.validationMessage !== undefined || box.busy) return;
      Object.assign(box, { busy: true, enabled: false });
      try {
        settle({ value: await accept(box.value, signal) });
      } catch (thrown) {
        box.validationMessage = plainly(faultWords(thrown));
      } finally {
        Object.assign(box, { busy: false, enabled: true });
      }
    }),
  ]);
}

/** SECURITY: the words below a box become links to commands as those of a notification do, and a server's answer is in them. */
function plainly(words: string | undefined): string | undefined {
  return words === undefined ? undefined : plainNotice(words);
}

/** A row to choose; one without `act` is there to be read. */
export interface ActRow<T> extends QuickPickItem {
  /** undefined: the list stays, with what `rows` says then. */
  act?(signal: AbortSignal): Promise<Went<T>>;
}

interface RowsQuestion<T> {
  readonly placeHolder: string;
  rows(): readonly ActRow<T>[];
}

/** One row is chosen. What it throws is said above the list, which stays. */
export function askRow<T>(frame: Frame, { placeHolder, rows }: RowsQuestion<T>): Promise<Went<T>> {
  const pick = window.createQuickPick<ActRow<T>>();
  Object.assign(pick, { ...frame, placeholder: placeHolder, items: rows(), ignoreFocusOut: true, matchOnDetail: true });
  return answered(pick, frame, (settle, signal) => [
    pick.onDidAccept(async () => {
      const [row] = pick.selectedItems;
      if (row?.act === undefined || pick.busy) return;
      pick.busy = true;
      try {
        const went = await row.act(signal);
        if (went !== undefined) return settle(went);
        pick.placeholder = placeHolder;
      } catch (thrown) {
        pick.placeholder = faultWords(thrown);
      } finally {
        pick.busy = false;
      }
      pick.items = rows();
    }),
  ]);
}

/** Any number of rows, none included. */
export function askRows<Row extends QuickPickItem>(frame: Frame, placeHolder: string, rows: readonly Row[]): Promise<Went<readonly Row[]>> {
  const pick = window.createQuickPick<Row>();
  Object.assign(pick, { ...frame, placeholder: placeHolder, items: rows, canSelectMany: true, ignoreFocusOut: true });
  pick.selectedItems = rows.filter(({ picked }) => picked === true);
  return answered(pick, frame, (settle) => [pick.onDidAccept(() => settle({ value: [...pick.selectedItems] }))]);
}

export function separator(label: string): QuickPickItem {
  return { label, kind: QuickPickItemKind.Separator };
}

/** What takes longer than a blink, between two questions. */
export function whileLooking<T>(title: string, work: () => Promise<T>): Promise<T> {
  return Promise.resolve(window.withProgress({ location: ProgressLocation.Notification, title }, work));
}

type Input = ReturnType<typeof window.createInputBox> | ReturnType<typeof window.createQuickPick>;

function answered<T>(
  input: Input,
  { step }: Frame,
  listen: (settle: (went: Went<T>) => void, signal: AbortSignal) => readonly Disposable[],
): Promise<Went<T>> {
  const left = new AbortController();
  const { promise, resolve } = Promise.withResolvers<Went<T>>();
  if (step > 1) input.buttons = [QuickInputButtons.Back, ...input.buttons];
  const listeners = [
    ...listen(resolve, left.signal),
    input.onDidTriggerButton((button) => {
      if (button === QuickInputButtons.Back) resolve('back');
    }),
    input.onDidHide(() => resolve(undefined)),
  ];
  input.show();
  return promise.finally(() => {
    left.abort(new Error('the person went on'));
    for (const listener of listeners) listener.dispose();
    input.dispose();
  });
}
