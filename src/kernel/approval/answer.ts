/** A person's answer: who signs it, and what came of it. */
import { type Message, say } from '../text/message.ts';
import type { RequestRecord } from './request.ts';
import type { Display } from './security.ts';

export const keyKinds = ['window', 'terminal'] as const;

/** A key that was pinned in machine-scoped configuration: one name for one key. */
export interface ApproverKey {
  readonly name: string;
  /** `ed25519:` + base64url of the 32 raw bytes; of a passkey `es256:` + base64url of x and y, or `eddsa:` + base64url of the 32 raw bytes. */
  readonly key: string;
  /** Who is counted where several have to agree. Absent: the name, without `user:`. */
  readonly person?: string;
  /** Of an `ed25519:` key. Absent counts as `window`, the weaker. */
  readonly kind?: (typeof keyKinds)[number];
  /** Set for an `es256:` or `eddsa:` key, and for no other. */
  readonly passkey?: PasskeyFacts;
}

export interface PasskeyFacts {
  /** The credential's id, base64url. */
  readonly id: string;
  /** Where it was made, and the only place its answers may come from (`https://banksman.lan`). Its host name is the relying party's id. */
  readonly origin: string;
  readonly display: Display;
  /** ISO 8601, UTC. */
  readonly enrolledAt: string;
  /** The enrolled browser's own key, for the page that it speaks to. */
  readonly device?: string;
}

/** Signs for a person. The private key stays with whoever implements it (SecretStorage, an encrypted file). */
export interface Signer {
  /** Who: `user:alice`. */
  readonly approver: string;
  /** `ed25519:` + base64url of the 32 raw bytes. */
  readonly publicKey: string;
  sign(message: Uint8Array): Promise<Uint8Array>;
}

export type AnswerCode =
  | 'approved'
  | 'approved_partly'
  | 'denied'
  | 'cancelled'
  | 'revoked'
  | 'already_decided'
  | 'expired'
  | 'not_found'
  | 'tampered'
  | 'self_approval'
  | 'key_not_trusted'
  | 'needs_outside'
  | 'not_allowed'
  | 'counted_already'
  | 'bad_assertion'
  | 'challenge_over'
  | 'other_store'
  /** The service decides, and not through this socket. */
  | 'not_here';

/** What came of an answer, in words for the person who gave it. */
export interface AnswerResult {
  readonly ok: boolean;
  readonly code: AnswerCode;
  readonly message: string;
  /** The same, for each reader's language. */
  readonly words?: Message;
  readonly record?: RequestRecord;
}

/** A stored request as a person must see it: nothing in it unescaped, nothing from anywhere but the record itself. */
export interface ReviewCard {
  readonly id: string;
  /** What it was made from. */
  readonly record: RequestRecord;
  /** `Stop VM 100 (web) on pve?` */
  readonly title: string;
  /** The same, without the mark, for each reader's language. */
  readonly titleWords: Message;
  /** Plain-text lines in English: what it does, the exact call, who asks and why, whether anybody waits, expiry. */
  readonly detail: string;
  /** Irreversible, or strict level: the target's name and a random code, to be typed exactly so (`web 7KQ2`). */
  readonly typeToConfirm?: string;
  /** A call would hear the answer, as far as was known when the card was made. */
  readonly waits: boolean;
  /** The record does not match its own digest: it must not be approved. */
  readonly tampered: boolean;
  /** The same lines as `detail`, by what they are about. */
  readonly sections: readonly CardSection[];
  readonly progress: ApprovalProgress;
}

export interface CardSection {
  readonly kind: 'warning' | 'effect' | 'report' | 'changes' | 'plan' | 'call' | 'asker' | 'rules' | 'wait' | 'state';
  readonly lines: readonly Message[];
}

/** Sections as one text, with an empty line between them. A report belongs to the effect, and the state to what stands before it. */
export function cardText(sections: readonly CardSection[], inWords: (line: Message) => string): string {
  const joins = ({ kind }: CardSection, index: number) => index === 0 || kind === 'report' || kind === 'state';
  const texts = sections.flatMap((section, index) => {
    const lines = section.lines.map(inWords);
    return joins(section, index) ? lines : ['', ...lines];
  });
  return texts.join('\n');
}

/** @param title as a statement */
export function titleQuestion(title: Message): Message {
  return say`${title}?`;
}

/** How many people have agreed to a request, and how many have to. */
export interface ApprovalProgress {
  readonly needed: number;
  /** Whose approvals count as things are. */
  readonly people: readonly string[];
  /** Only approvals from a display outside the agents' account count. */
  readonly outside: boolean;
}

// Codes that tie an answer at a terminal to the card that was shown there (docs/design.md#requests-and-grants).

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
