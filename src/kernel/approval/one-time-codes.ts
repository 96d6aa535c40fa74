/** Codes that tie an answer at a terminal to the card that was shown there (docs/design.md#requests-and-grants). */

/** What a code is good for. */
export interface CodePurpose {
  readonly requestId: string;
  /** Of the action that was on the card. */
  readonly digest: string;
}

export type CodeVerdict =
  | { readonly ok: true }
  | { readonly ok: false; readonly why: 'none' | 'expired' | 'void'; readonly triesLeft?: never }
  | { readonly ok: false; readonly why: 'wrong'; readonly triesLeft: number };

export interface OneTimeCodes {
  /** A fresh code; a former one of the same request stops counting. @throws {Fault} `store_…` */
  issue(purpose: CodePurpose): Promise<{ readonly code: string; readonly lifeMs: number }>;
  /** Uses a code up where it is the right one. @throws {Fault} `store_…` */
  redeem(purpose: CodePurpose, code: string): Promise<CodeVerdict>;
}
