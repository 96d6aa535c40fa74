import type * as vscode from 'vscode';

/** What a case of the in-host suite gets; the editor's API is passed in, so that a file of cases can be read outside the editor too. */
export interface InHost {
  readonly api: typeof vscode;
  readonly extension: vscode.Extension<Seam | undefined>;
  readonly seam: Seam;
}

/** The in-host suite's side of test-seam.ts: modal dialogs are refused in this kind of test, so it answers instead. */
export interface Seam {
  answerWith(answer: ((question: Question) => string | undefined | Promise<string | undefined>) | undefined): void;
}

export interface Question {
  readonly id: string;
  readonly title: string;
  readonly buttons: readonly string[];
}

export interface InHostCase {
  readonly name: string;
  run(host: InHost): Promise<void>;
}

/** How a case ended, as the page is told. */
export interface InHostResult {
  readonly name: string;
  /** The error's text; absent when it passed. */
  readonly error?: string;
}

/** Which list of cases to run: in a trusted folder (default) or in one that nobody has trusted. */
export type SuiteName = 'trusted' | 'untrusted';

/** The environment variable of the extension host that names the suite. */
export const SUITE_VARIABLE = 'BANKSMAN_IN_HOST_SUITE';

/** Begins each line of the suite: the page gets the editor's whole log beside it. */
export const RESULT_PREFIX = 'banksman-in-host ';
