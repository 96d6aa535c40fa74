/** Which task, if any, an action started whose answer was lost. */
import { Fault } from '#kernel/errors';
import type { Clock } from '#kernel/ports/clock';
import type { GuestAction, GuestRef } from '#kernel/ports/cluster';
import type { GuestType } from '#kernel/resource';
import { readUpid, type Upid } from './upid.ts';

/** Task types as the API names them; under high availability the request becomes one to the HA manager. */
const taskTypes: Readonly<Record<GuestType, Readonly<Record<GuestAction, readonly string[]>>>> = {
  qemu: { start: ['qmstart', 'hastart'], stop: ['qmstop', 'hastop'], reboot: ['qmreboot'] },
  lxc: { start: ['vzstart', 'hastart'], stop: ['vzstop', 'hastop'], reboot: ['vzreboot'] },
};

/** Waits before each look, in ms: a node under load takes a while to show a new task. */
const looks = [0, 500, 1_500, 3_000];

export interface OwnTaskSearch {
  readonly guest: GuestRef;
  readonly action: GuestAction;
  /** `user@realm!tokenname`, as it stands in a UPID. */
  readonly tokenId: string;
  /** What was there before the action was sent: told by identity, because the clocks of node and client differ. */
  readonly before: ReadonlySet<string>;
  readonly listUpids: (signal: AbortSignal) => Promise<readonly string[]>;
  readonly clock: Clock;
}

/**
 * @returns the UPID of the one task that this very action can have started
 * @throws {Fault} `outcome_unknown` when there is none to be seen, or more than one; `why` says what happened to the answer
 */
export async function findOwnTask(search: OwnTaskSearch, why: string, signal: AbortSignal): Promise<string> {
  for (const wait of looks) {
    if (wait > 0) await search.clock.sleep(wait, signal);
    const upids = await search.listUpids(signal);
    const found = upids.map(readUpid).filter((upid) => upid !== undefined && isOwn(upid, search));
    const [only, ...others] = found;
    if (only && others.length === 0) return only.text;
    if (only) throw outcomeUnknown(search, `${why}; several tasks could be it: ${found.map((upid) => upid?.text).join(', ')}`);
  }
  throw outcomeUnknown(search, `${why}; no task of it shows in the cluster's list`);
}

function isOwn(upid: Upid, { guest, action, tokenId, before }: OwnTaskSearch): boolean {
  const types = taskTypes[guest.guestType][action];
  return types.includes(upid.type) && upid.id === String(guest.vmid) && upid.user === tokenId && !before.has(upid.text);
}

export function outcomeUnknown({ guest, action }: Pick<OwnTaskSearch, 'guest' | 'action'>, why: string): Fault {
  const message = `it is unknown whether the ${action} of ${guest.vmid} was carried out: ${why}`;
  const next = 'do not repeat it blindly: look at the guest with get_vms or get_containers, and at get_recent_tasks, first';
  return new Fault('outcome_unknown', message, { next, effect: { state: 'sent' } });
}
