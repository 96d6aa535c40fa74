/** The one target of a kind that a handler's `touches` named: the resolved thing, never the raw argument. */

import { Fault } from '#kernel/errors';
import type { GuestTarget, NodeTarget, ServiceTarget, Target } from '#kernel/resource';
import { say } from '#kernel/text/message';

export function guestOf(targets: readonly Target[]): GuestTarget {
  const target = targets.find((entry) => entry.kind === 'guest');
  return target ?? missing('guest');
}

export function nodeOf(targets: readonly Target[]): NodeTarget {
  const target = targets.find((entry) => entry.kind === 'node');
  return target ?? missing('node');
}

export function serviceOf(targets: readonly Target[]): ServiceTarget {
  const target = targets.find((entry) => entry.kind === 'service');
  return target ?? missing('service');
}

function missing(kind: string): never {
  throw new Fault('internal_error', say`internal error: the ${kind} was not resolved`, { audience: 'bug' });
}
