/** Which endpoint to ask first: the last that answered, then the others as configured, those that failed just now at the end. */
import type { Clock } from '#kernel/ports/clock';
import type { Endpoint } from './endpoint.ts';

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
