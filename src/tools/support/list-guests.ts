/** `get_vms` and `get_containers`: the same rows, one kind each. */
import { offlineStatus } from '#kernel/ports/cluster';
import type { GuestType } from '#kernel/resource';
import type { ToolContext, ToolResult } from '#kernel/tool';
import { type PagingInput, pageOf } from './paging.ts';
import { guestNeeds, listOutcome } from './visible.ts';

export interface GuestListing {
  readonly type: GuestType;
  /** The result's key, for example `vms`. */
  readonly key: string;
  readonly noun: string;
}

export async function listGuests(listing: GuestListing, input: PagingInput, context: ToolContext): Promise<ToolResult> {
  const { api } = context.cluster();
  const rows = (await api.guests(context.signal)).filter((guest) => guest.type === listing.type);
  const count = (status: string) => rows.filter((guest) => guest.status === status).length;
  const unknown = count(offlineStatus) === 0 ? '' : `, ${count(offlineStatus)} unknown (node offline)`;
  // Of a filtered list it would count what the list leaves out.
  const running = (input.filter ?? '') === '' ? `, ${count('running')} running${unknown}` : '';
  const page = pageOf(
    rows.map((guest) => guest.raw),
    input,
    { name: `${listing.key} of ${api.name}`, key: (row) => [Number(row['vmid'])] },
  );
  return listOutcome({ page, key: listing.key, noun: listing.noun, needs: guestNeeds, also: running }, api, context.signal);
}
