/** The one base error. Expected refusals are values (`Decision`, `Outcome`); this is for I/O and bugs. */

import type { JsonObject } from './json.ts';
import type { KnownEffect } from './known-effect.ts';
import { asIs, type Message } from './text/message.ts';

/** Who must act: the caller, the person who runs the cluster or this machine, or we. */
export type Audience = 'user' | 'operator' | 'bug';

export interface FaultOptions {
  readonly audience?: Audience;
  /** Whether the same call may succeed later with nothing changed. */
  readonly retryable?: boolean;
  /** The remedy, a sentence. */
  readonly next?: string;
  /** Of a call that changes something: what is known of its effect. */
  readonly effect?: KnownEffect;
  /** What there is of a result nevertheless: what a command had printed until it was ended. */
  readonly result?: JsonObject;
  readonly cause?: unknown;
}

/** A failure with a stable code. Its message is fit for a model to read: no stack, no secret. */
export class Fault extends Error {
  readonly code: string;
  readonly audience: Audience;
  readonly retryable: boolean;
  readonly next: string | undefined;
  readonly effect: KnownEffect | undefined;
  readonly result: JsonObject | undefined;

  constructor(code: string, message: string, options: FaultOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'Fault';
    this.code = code;
    this.audience = options.audience ?? 'operator';
    this.retryable = options.retryable ?? false;
    this.next = options.next;
    this.effect = options.effect;
    this.result = options.result;
  }

  /** The same failure, of which more is known. */
  with(more: Pick<FaultOptions, 'effect' | 'result' | 'next'>): Fault {
    const { audience, retryable, next, effect, result } = this;
    const known = {
      ...(next === undefined ? {} : { next }),
      ...(effect === undefined ? {} : { effect }),
      ...(result === undefined ? {} : { result }),
    };
    return new Fault(this.code, this.message, { audience, retryable, cause: this, ...known, ...more });
  }
}

/** Any thrown value as a `Fault`; what is not one yet becomes an `internal_error`, its text kept to one line. */
export function toFault(thrown: unknown): Fault {
  if (thrown instanceof Fault) return thrown;
  const firstLine = textOf(thrown).split('\n', 1)[0] ?? '';
  return new Fault('internal_error', `internal error: ${firstLine}`, { audience: 'bug', cause: thrown });
}

/** A failure's own words, for each reader's language. */
export function faultMessage(thrown: unknown): Message {
  return asIs(toFault(thrown).message);
}

/** Why something failed, for the end of a sentence that says what did: the file system's own words are no internal error there. */
export function reasonOf(thrown: unknown): string {
  return thrown instanceof Fault ? thrown.message : (textOf(thrown).split('\n', 1)[0] ?? '');
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
}

export function faultData(fault: Fault): FaultData {
  const { code, message, audience, retryable, next } = fault;
  return { code, message, audience, retryable, ...(next === undefined ? {} : { next }) };
}

export function faultFrom(data: FaultData): Fault {
  return new Fault(data.code, data.message, data);
}
