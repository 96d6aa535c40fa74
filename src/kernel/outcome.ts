/** What a call ends with, on every surface (docs/design.md#words). */
import type { JsonObject, JsonValue } from './json.ts';
import type { ActionTier } from './tiers.ts';

export type OutcomeStatus = 'ok' | 'denied' | 'pending' | 'error';

export interface Outcome {
  readonly status: OutcomeStatus;
  /** Stable snake_case code; `ok` for success. */
  readonly code: string;
  /** One sentence a model and a person can act on. */
  readonly message: string;
  /** The request a person has been asked to decide, where there is one. */
  readonly request_id?: string;
  /** Of a call that was refused: its action tier, where it is known. */
  readonly tier?: ActionTier;
  /** What to do next. */
  readonly next?: string;
  /** Of a call that changes something and did not simply succeed: what is known of its effect (`known-effect.ts`). */
  readonly effect?: JsonObject;
  /** A JSON value, never a string that holds JSON. */
  readonly result?: JsonValue;
}
