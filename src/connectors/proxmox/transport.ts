/** Requests to a cluster over whichever of its endpoints works. Reads fail over; what changes something is sent at most once. */
import type { Clock } from '#kernel/ports/clock';
import type { Asker } from '#kernel/ports/cluster';
import type { Log } from '#kernel/ports/log';
import { formatDuration } from '#kernel/text/text';
import { cancelledFault, stopReason, withTimeLimit } from '../time-limit.ts';
import { isAmbiguous, isGatewayFailure } from './answer-fault.ts';
import type { ApiAnswer, ApiRequest, ChangeMethod, Endpoint } from './endpoint.ts';
import type { PinLearner, Pins } from './pins.ts';
import type { RequestQueue } from './request-queue.ts';
import { type EndpointFailure, readFailure, TransportFailure, trustFault, unreachableFault } from './transport-failure.ts';

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
  change(request: ApiRequest & { readonly method: ChangeMethod }, signal: AbortSignal): Promise<ApiAnswer>;
  /** As `get`, over this endpoint and no other; what the gateway there says is an answer, too. */
  getFrom(endpoint: Endpoint, path: string, authorization: string, signal: AbortSignal): Promise<ApiAnswer>;
}

interface TransportOptions extends AttemptOptions {
  readonly cluster: string;
  /** For one call of `get` or `change`, all attempts together. */
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly log: Log;
}

export function createTransport(options: TransportOptions): Transport {
  const state: TransportState = { ...options, order: createEndpointOrder(options.endpoints, options.clock) };
  return {
    get: (path, authorization, signal) => sendRead(state, { method: 'GET', path, authorization }, signal),
    change: (request, signal) => sendOnce(state, request, signal),
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

/** The same transport, for one asker: each request waits for its turn, and what changes something goes first. */
export function inTurn(transport: Transport, queue: RequestQueue, asker: Asker): Transport {
  const { until } = asker;
  const ending = (signal: AbortSignal) => (until === undefined ? signal : AbortSignal.any([signal, until]));
  return {
    get(path, authorization, signal) {
      const own = ending(signal);
      return queue.run(asker, own, () => transport.get(path, authorization, own));
    },
    change(request, signal) {
      const own = ending(signal);
      return queue.run({ ...asker, first: true }, own, () => transport.change(request, own));
    },
    getFrom(endpoint, path, authorization, signal) {
      const own = ending(signal);
      return queue.run(asker, own, () => transport.getFrom(endpoint, path, authorization, own));
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
    if (isAmbiguous(answer.status)) throw new AmbiguousSend(`what answered was not the API itself (status ${answer.status})`);
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

// Which endpoint to ask first: the last that answered, then the others as configured, those that failed just now at the end.

const restAfterFailureMs = 30_000;

export interface EndpointOrder {
  list(): readonly Endpoint[];
  /** Whether it failed lately: worth a try only when nothing else is left. */
  isResting(endpoint: Endpoint): boolean;
  succeeded(endpoint: Endpoint): void;
  failed(endpoint: Endpoint): void;
}

export function createEndpointOrder(endpoints: readonly Endpoint[], clock: Clock): EndpointOrder {
  const failedAt = new Map<Endpoint, number>();
  let last: Endpoint | undefined;

  function isResting(endpoint: Endpoint): boolean {
    const at = failedAt.get(endpoint);
    return at !== undefined && clock.now() - at < restAfterFailureMs;
  }

  function rank(endpoint: Endpoint): number {
    if (isResting(endpoint)) return 2;
    return endpoint === last ? 0 : 1;
  }

  return {
    // Array.prototype.sort is stable: equal ranks keep the configured order.
    list: () => [...endpoints].sort((a, b) => rank(a) - rank(b)),
    isResting,
    succeeded(endpoint) {
      last = endpoint;
      failedAt.delete(endpoint);
    },
    failed(endpoint) {
      failedAt.set(endpoint, clock.now());
    },
  };
}

// One try at one endpoint, under its share of the time.

interface AttemptOptions {
  /** All of the cluster's. */
  readonly endpoints: readonly Endpoint[];
  /** With pinned certificates only. */
  readonly pins?: Pins;
  readonly learner?: PinLearner;
  readonly clock: Clock;
}

interface Attempt {
  readonly endpoint: Endpoint;
  readonly request: ApiRequest;
  readonly limitMs: number;
}

/** @throws {TransportFailure} of kind `cancelled` when the caller's signal ended it, `timeout` when the limit did */
async function attemptRequest(options: AttemptOptions, { endpoint, request, limitMs }: Attempt, signal: AbortSignal): Promise<ApiAnswer> {
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
