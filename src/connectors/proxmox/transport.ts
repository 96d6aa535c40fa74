/** Requests to a cluster over whichever of its endpoints works. Reads fail over; what changes something is sent at most once. */
import type { Clock } from '#kernel/ports/clock';
import type { Log } from '#kernel/ports/log';
import { cancelledFault } from '../time-limit.ts';
import { isAmbiguous, isGatewayFailure } from './answer-fault.ts';
import type { ApiAnswer, ApiRequest, Endpoint } from './endpoint.ts';
import { type AttemptOptions, attemptRequest } from './endpoint-attempt.ts';
import { createEndpointOrder, type EndpointOrder } from './endpoint-order.ts';
import { readFailure } from './transport-failure.ts';
import { type EndpointFailure, trustFault, unreachableFault } from './transport-fault.ts';

/** A request that changes something may or may not have been acted on. Its message says what happened to the answer. */
export class AmbiguousSend extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'AmbiguousSend';
  }
}

export interface Transport {
  /** @throws {Fault} when no endpoint answers, one is not to be trusted, or the caller cancels */
  get(path: string, authorization: string, signal: AbortSignal): Promise<ApiAnswer>;
  /**
   * Goes to another endpoint only when provably nothing was sent to the one before.
   * @throws {AmbiguousSend} when it may have arrived, also if the caller cancelled
   * @throws {Fault} as `get`, when it surely did not
   */
  post(request: Omit<ApiRequest, 'method'>, signal: AbortSignal): Promise<ApiAnswer>;
  /** As `get`, over this endpoint and no other; what the gateway there says is an answer, too. */
  getFrom(endpoint: Endpoint, path: string, authorization: string, signal: AbortSignal): Promise<ApiAnswer>;
}

export interface TransportOptions extends AttemptOptions {
  readonly cluster: string;
  /** For one call of `get` or `post`, all attempts together. */
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly log: Log;
}

export function createTransport(options: TransportOptions): Transport {
  const state: TransportState = { ...options, order: createEndpointOrder(options.endpoints, options.clock) };
  return {
    get: (path, authorization, signal) => sendRead(state, { method: 'GET', path, authorization }, signal),
    post: (request, signal) => sendOnce(state, { method: 'POST', ...request }, signal),
    async getFrom(endpoint, path, authorization, signal) {
      try {
        const request = { method: 'GET', path, authorization } as const;
        return await attemptRequest(state, { endpoint, request, limitMs: options.timeoutMs }, signal);
      } catch (thrown) {
        throw unreachableFault(state.cluster, [noteFailure(state, endpoint, thrown, signal)]);
      }
    },
  };
}

interface TransportState extends TransportOptions {
  readonly order: EndpointOrder;
}

async function sendRead(state: TransportState, request: ApiRequest, signal: AbortSignal): Promise<ApiAnswer> {
  const { order, clock, timeoutMs } = state;
  const deadline = clock.now() + timeoutMs;
  const failures: EndpointFailure[] = [];
  let gateway: ApiAnswer | undefined;
  const candidates = order.list();
  for (const [index, endpoint] of candidates.entries()) {
    // A gateway's answer is usually the same everywhere: worth asking another node, not worth waiting for a dead one.
    if (gateway && order.isResting(endpoint)) continue;
    const left = Math.max(1, deadline - clock.now());
    // Half of what is left, so that one that hangs leaves time for the others.
    const limitMs = index < candidates.length - 1 ? Math.ceil(left / 2) : left;
    try {
      const answer = await attemptRequest(state, { endpoint, request, limitMs }, signal);
      if (!isGatewayFailure(answer.status)) {
        order.succeeded(endpoint);
        state.learner?.noteContact(endpoint, request.authorization);
        return answer;
      }
      gateway ??= answer;
    } catch (thrown) {
      failures.push(noteFailure(state, endpoint, thrown, signal));
    }
  }
  if (gateway) return gateway;
  throw unreachableFault(state.cluster, failures);
}

async function sendOnce(state: TransportState, request: ApiRequest, signal: AbortSignal): Promise<ApiAnswer> {
  const { order, clock, timeoutMs } = state;
  const deadline = clock.now() + timeoutMs;
  const failures: EndpointFailure[] = [];
  for (const endpoint of order.list()) {
    const limitMs = Math.max(1, deadline - clock.now());
    let answer: ApiAnswer;
    try {
      answer = await attemptRequest(state, { endpoint, request, limitMs }, signal);
    } catch (thrown) {
      const failure = readFailure(thrown, true);
      // INVARIANT: after the first byte has left there is no second try, here or anywhere above.
      if (failure.sent) throw new AmbiguousSend(failure.message);
      failures.push(noteFailure(state, endpoint, thrown, signal));
      continue;
    }
    if (isAmbiguous(answer.status)) throw new AmbiguousSend(`its gateway answered with status ${answer.status}`);
    order.succeeded(endpoint);
    return answer;
  }
  throw unreachableFault(state.cluster, failures);
}

/** Notes a failed attempt, so that another endpoint is tried. @throws {Fault} when none must be: cancelled, or not to be trusted */
function noteFailure(
  { cluster, order, log, pins }: TransportState,
  endpoint: Endpoint,
  thrown: unknown,
  signal: AbortSignal,
): EndpointFailure {
  const failure = readFailure(thrown, true);
  if (failure.kind === 'cancelled') throw cancelledFault(signal, `request to \`${cluster}\``);
  const noted = { origin: endpoint.origin, failure };
  const fault = trustFault(noted, pins?.pinned !== undefined);
  if (fault) throw fault;
  order.failed(endpoint);
  log.warn(`${cluster}: ${endpoint.origin}: ${failure.message}`);
  return noted;
}
