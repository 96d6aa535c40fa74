/** A place outside the store that is told what the trail says. */
import type { Finding } from '../app.ts';
import type { AuditRecord } from '../audit-event.ts';

export interface Sink {
  /**
   * Hands over records, in their order; once it resolves the receiver has them, and the follower goes on behind them. The same records may come again.
   * @returns how many of them the receiver said it will never take
   * @throws {Fault} `sink_refused`: these will never be taken, however often they are sent; anything else: later
   */
  send(records: readonly AuditRecord[], signal: AbortSignal): Promise<number>;
  close(): Promise<void>;
}

/** What the trail amounts to since this process began to count, and what there is now. */
export interface Measures {
  /** When counting began, in ms since the epoch. */
  readonly since: number;
  readonly calls: readonly { readonly tool: string; readonly tier: string; readonly outcome: string; readonly count: number }[];
  readonly durations: readonly Durations[];
  /** Requests that wait for a person; absent where the store could not be asked. */
  readonly pending?: number;
  readonly sinks: readonly SinkMeasures[];
}

/** How long the calls of one tool took, without the time that a person took. */
export interface Durations {
  readonly tool: string;
  /** As many as `durationBounds`, and one more for what took longer. Not cumulative. */
  readonly counts: readonly number[];
  /** In seconds. */
  readonly sum: number;
}

export interface SinkMeasures {
  readonly name: string;
  readonly up: boolean;
  /** How old the oldest record is that it was not told yet, in seconds; 0: none. */
  readonly behind: number;
  readonly told: number;
  /** Gone from the trail, or too old, before it could be told. */
  readonly lost: number;
  /** Never taken by the receiver. */
  readonly refused: number;
}

/** Upper bounds in seconds, as OpenTelemetry's GenAI conventions advise for durations. */
export const durationBounds = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92] as const;

/** A sink that also wants to be told numbers, every `metricsMs`. */
export interface MeasuredSink extends Sink {
  readonly metricsMs: number;
  /** @throws {Fault} */
  measure(measures: Measures, signal: AbortSignal): Promise<void>;
}

/** The trail's followers in one process, all of them. */
export interface ToldElsewhere {
  /** A sink makes spans of the stages' times. */
  readonly wantsStages: boolean;
  /** For `doctor`. */
  findings(): Promise<readonly Finding[]>;
  /** What the trail amounts to, for Prometheus. */
  metrics(): Promise<string>;
  close(): Promise<void>;
}
