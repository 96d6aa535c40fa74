/** One try at one endpoint, under its share of the time. */
import type { Clock } from '#kernel/ports/clock';
import { formatDuration } from '#kernel/text';
import { stopReason, withTimeLimit } from '../time-limit.ts';
import type { ApiAnswer, ApiRequest, Endpoint } from './endpoint.ts';
import type { PinLearner } from './learn-pins.ts';
import type { Pins } from './pins.ts';
import { readFailure, TransportFailure } from './transport-failure.ts';

export interface AttemptOptions {
  /** All of the cluster's. */
  readonly endpoints: readonly Endpoint[];
  /** With pinned certificates only. */
  readonly pins?: Pins;
  readonly learner?: PinLearner;
  readonly clock: Clock;
}

export interface Attempt {
  readonly endpoint: Endpoint;
  readonly request: ApiRequest;
  readonly limitMs: number;
}

/** @throws {TransportFailure} of kind `cancelled` when the caller's signal ended it, `timeout` when the limit did */
export async function attemptRequest(
  options: AttemptOptions,
  { endpoint, request, limitMs }: Attempt,
  signal: AbortSignal,
): Promise<ApiAnswer> {
  return withTimeLimit(options.clock, limitMs, signal, async (limited) => {
    try {
      return await sendTrusted(options, endpoint, request, limited);
    } catch (thrown) {
      const failure = readFailure(thrown, true);
      const reason = stopReason(limited);
      if (reason === 'caller') throw new TransportFailure('cancelled', 'cancelled by the caller', failure.sent);
      if (reason === 'limit') throw new TransportFailure('timeout', `no answer within ${formatDuration(limitMs)}`, failure.sent);
      throw failure;
    }
  });
}

/** A wrong fingerprint stops before anything is sent, so one more try is safe once a verified node has vouched for it. */
async function sendTrusted(options: AttemptOptions, endpoint: Endpoint, request: ApiRequest, signal: AbortSignal): Promise<ApiAnswer> {
  try {
    return await endpoint.send(request, signal);
  } catch (thrown) {
    const got = readFailure(thrown, true).pin?.got;
    if (got === undefined || !(await isVouchedFor({ ...options, endpoint, got }, request.authorization, signal))) throw thrown;
    return endpoint.send(request, signal);
  }
}

async function isVouchedFor(
  { endpoints, pins, learner, endpoint, got }: AttemptOptions & { readonly endpoint: Endpoint; readonly got: string },
  authorization: string,
  signal: AbortSignal,
): Promise<boolean> {
  if (pins === undefined || learner === undefined) return false;
  const others = endpoints.filter((other) => other !== endpoint);
  for await (const _ of learner.askAround(others, authorization, signal)) if (pins.accepts(endpoint.origin, got)) return true;
  return false;
}
