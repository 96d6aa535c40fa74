/** `get_vms` and `get_containers`: the same rows, one kind each. */

import * as z from 'zod';
import { clusterArgument, pagingArguments } from '#kernel/arguments';
import { offlineStatus } from '#kernel/ports/cluster';
import type { GuestType } from '#kernel/resource';
import { type Message, say } from '#kernel/text/message';
import { defineTool, type Tool, type ToolContext, type ToolResult } from '#kernel/tool';
import { type PagingInput, pageOf } from './paging.ts';
import { guestNeeds, listOutcome } from './visible.ts';

interface GuestListing {
  readonly name: string;
  readonly type: GuestType;
  /** The result's key, for example `vms`. */
  readonly key: string;
  readonly noun: string;
  readonly headline: Message;
  readonly which: string;
  readonly others: string;
}

const listings: readonly GuestListing[] = [
  {
    name: 'get_vms',
    type: 'qemu',
    key: 'vms',
    noun: 'VM',
    headline: say`List the VMs`,
    which: 'VMs (qemu)',
    others: 'Containers: get_containers.',
  },
  {
    name: 'get_containers',
    type: 'lxc',
    key: 'containers',
    noun: 'container',
    headline: say`List the containers`,
    which: 'containers (lxc)',
    others: 'VMs: get_vms.',
  },
];

export const guestListTools: readonly Tool[] = listings.map((listing) =>
  defineTool({
    name: listing.name,
    title: `Get ${listing.noun}s`,
    description: `The ${listing.which} of the Proxmox VE cluster: vmid, name, node, status, CPU, memory, tags. ${listing.others}`,
    group: 'cluster',
    tier: 'green',
    impact: 'none',
    permission: 'data:read',
    input: z.strictObject({ cluster: clusterArgument, ...pagingArguments }),
    touches: () => [],
    headline: () => listing.headline,
    run: (input, context) => listGuests(listing, input, context),
  }),
);

async function listGuests(listing: GuestListing, input: PagingInput, context: ToolContext): Promise<ToolResult> {
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
