/** What the gate needs of a window. The real one is `window-dialogs.ts`; the in-host suite answers through its own. */

export interface Question {
  /** Of the stored request, for whoever answers in a test. */
  readonly id: string;
  readonly severity: 'warning' | 'error';
  readonly title: string;
  readonly detail: string;
  /** The first one is the default (Enter): it must be the safe one. */
  readonly buttons: readonly string[];
}

export interface TypedQuestion {
  readonly title: string;
  readonly prompt: string;
  /** A message while `text` is wrong. */
  check(text: string): string | undefined;
}

export interface Dialogs {
  /** A modal dialog. Resolves with the button, undefined on Esc or close; rejects when the window goes away. */
  ask(question: Question): Promise<string | undefined>;
  /** Resolves with what was typed, undefined on Esc. */
  type(question: TypedQuestion): Promise<string | undefined>;
  /** A line of words that a person may leave out: undefined on Esc, on leaving the box, and after a minute. It decides nothing. */
  note(question: { readonly title: string; readonly prompt: string }): Promise<string | undefined>;
  tell(kind: 'status' | 'info' | 'warning' | 'error', message: string): void;
  /** A notification whose only button reads `label`. A program can press it, so it must lead to a question, never to an answer. */
  offer(message: string, label: string): Promise<boolean>;
}
