/** What a tool's `touches` names, and the one target of a kind that came of it: the resolved thing, never the raw argument. */
import { Fault } from '#kernel/errors';
import type { Access, GuestResource, GuestTarget, NodeTarget, ServiceTarget, Target } from '#kernel/resource';
import { say } from '#kernel/text/message';

interface NamedGuest {
  readonly vmid: number;
  readonly node?: string | undefined;
}

export function guestNamed(access: Access, { vmid, node }: NamedGuest): GuestResource {
  return { kind: 'guest', access, vmid, ...(node === undefined ? {} : { node }) };
}

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
