/** The one base error. Expected refusals are values (`Decision`, `Outcome`); this is for I/O and bugs. */

import type { JsonObject } from './json.ts';
import type { KnownEffect } from './known-effect.ts';
import { asIs, english, type Message, say, wordsOf } from './text/message.ts';

/** Who must act: the caller, the person who runs the cluster or this machine, or we. */
export type Audience = 'user' | 'operator' | 'bug';

export interface FaultOptions {
  readonly audience?: Audience;
  /** Whether the same call may succeed later with nothing changed. */
  readonly retryable?: boolean;
  /** The remedy, a sentence. */
  readonly next?: string | Message;
  /** Of a call that changes something: what is known of its effect. */
  readonly effect?: KnownEffect;
  /** What there is of a result nevertheless: what a command had printed until it was ended. */
  readonly result?: JsonObject;
  readonly cause?: unknown;
}

/** What a failure says, for each reader's language; absent where it is a text that translations have whole, or not at all. */
export interface FaultWords {
  readonly message?: Message;
  readonly next?: Message;
}

/** A failure with a stable code. Its message is fit for a model to read: no stack, no secret; English. */
export class Fault extends Error {
  readonly code: string;
  readonly audience: Audience;
  readonly retryable: boolean;
  readonly next: string | undefined;
  readonly effect: KnownEffect | undefined;
  readonly result: JsonObject | undefined;
  readonly words: FaultWords;

  constructor(code: string, message: string | Message, options: FaultOptions = {}) {
    super(inEnglish(message), options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'Fault';
    this.code = code;
    this.audience = options.audience ?? 'operator';
    this.retryable = options.retryable ?? false;
    this.next = options.next === undefined ? undefined : inEnglish(options.next);
    this.words = { ...asWords('message', message), ...asWords('next', options.next) };
    this.effect = options.effect;
    this.result = options.result;
  }

  /** The same failure, of which more is known. */
  with(more: Pick<FaultOptions, 'effect' | 'result' | 'next'>): Fault {
    const { audience, retryable, effect, result } = this;
    const next = this.words.next ?? this.next;
    const known = {
      ...(next === undefined ? {} : { next }),
      ...(effect === undefined ? {} : { effect }),
      ...(result === undefined ? {} : { result }),
    };
    return new Fault(this.code, this.words.message ?? this.message, { audience, retryable, cause: this, ...known, ...more });
  }
}

function inEnglish(text: string | Message): string {
  return typeof text === 'string' ? text : english(text);
}

function asWords(key: keyof FaultWords, text: string | Message | undefined): FaultWords {
  return typeof text === 'object' ? { [key]: text } : {};
}

/** Any thrown value as a `Fault`; what is not one yet becomes an `internal_error`, its text kept to one line. */
export function toFault(thrown: unknown): Fault {
  if (thrown instanceof Fault) return thrown;
  const firstLine = textOf(thrown).split('\n', 1)[0] ?? '';
  return new Fault('internal_error', say`internal error: ${firstLine}`, { audience: 'bug', cause: thrown });
}

/** A failure's own words, for each reader's language. */
export function faultMessage(thrown: unknown): Message {
  const { message, words } = toFault(thrown);
  return words.message ?? asIs(message);
}

/** Why something failed, for the end of a sentence that says what did: the file system's own words are no internal error there. */
export function reasonOf(thrown: unknown): string {
  return english(reasonMessage(thrown));
}

/** The same, for each reader's language. */
export function reasonMessage(thrown: unknown): Message {
  return thrown instanceof Fault ? faultMessage(thrown) : asIs(textOf(thrown).split('\n', 1)[0] ?? '');
}

/** Anything can be thrown, an object without a string form included. */
function textOf(thrown: unknown): string {
  try {
    return String(thrown instanceof Error ? thrown.message : thrown);
  } catch {
    return 'something without a text was thrown';
  }
}

/** A fault as plain data, for another thread or process; without its cause, which may not be cloneable. */
export interface FaultData {
  readonly code: string;
  readonly message: string;
  readonly audience: Fault['audience'];
  readonly retryable: boolean;
  readonly next?: string;
  readonly words?: FaultWords;
}

export function faultData(fault: Fault): FaultData {
  const { code, message, audience, retryable, next, words } = fault;
  return { code, message, audience, retryable, ...(next === undefined ? {} : { next }), words };
}

/** SECURITY: words count only where they say in English what the fault says (docs/adr/0043-german.md); a service of an earlier version has none. */
export function faultFrom({ words, ...data }: FaultData): Fault {
  const { code, message, next } = data;
  const said = next === undefined ? {} : { next: wordsFor(next, words?.next) };
  return new Fault(code, wordsFor(message, words?.message), { ...data, ...said });
}

function wordsFor(text: string, words: Message | undefined): string | Message {
  return words === undefined ? text : wordsOf(text, words);
}
