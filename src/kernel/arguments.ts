/** Zod building blocks that the tools' inputs share. Sanitizing happens here, at the edge. */
import * as z from 'zod';
import { sanitizeText } from './text/text.ts';

/** A string argument: sanitized, then not empty. */
export function text(description: string) {
  return z.string().transform(sanitizeText).pipe(z.string().min(1)).meta({ description });
}

/** Proxmox VE's own pattern is narrower; this is what a caller may write. The name must then be a row of the cluster's node list. */
export const nodeNamePattern = /^[a-zA-Z0-9_-]{1,50}$/;

/**
 * A node as named by a caller. Taken in as any short text and checked when it is resolved, not here: so that a protected node that is
 * named by its address or alias is refused (and recorded) as protected, instead of as a typo.
 */
export const nodeArgument = z
  .string()
  .transform(sanitizeText)
  .pipe(z.string().min(1).max(255))
  .meta({ description: 'Node name as in get_cluster_status, for example `pve`. Not an address.', pattern: '^[a-zA-Z0-9_-]{1,50}$' });

/** A guest's number. `"100"` and `0100` are taken as 100 (models send both), anything else that is no integer is refused. */
export const vmidArgument = z
  .preprocess(numberFromDigits, z.number().int().min(100).max(999_999_999))
  .meta({ description: 'Guest number (VMID), for example 100; see get_vms and get_containers.' });

function numberFromDigits(value: unknown): unknown {
  return typeof value === 'string' && /^\s*\d{1,12}\s*$/.test(value) ? Number.parseInt(value, 10) : value;
}

export const clusterArgument = z
  .string()
  .transform(sanitizeText)
  .pipe(z.string().min(1).max(64))
  .optional()
  .meta({ description: 'Configured cluster; needed only when there are several.' });

export const reasonArgument = z
  .string()
  .transform(sanitizeText)
  .pipe(z.string().max(500))
  .optional()
  .meta({ description: 'Why you want this; shown to the person who decides, as your claim.' });

/** What every change to a guest takes. */
export const guestOperationShape = {
  vmid: vmidArgument,
  node: nodeArgument.optional(),
  cluster: clusterArgument,
  reason: reasonArgument,
};

/** `pve-configid` of the API schema, without the names that are its own. */
export const snapshotNameArgument = z
  .string()
  .transform(sanitizeText)
  .pipe(z.string().regex(/^[a-zA-Z][a-zA-Z0-9_-]{1,39}$/, 'must be 2 to 40 letters, digits, `_` or `-`, a letter first'))
  .refine((name) => name !== 'current' && name !== 'pending', 'must not be `current` or `pending`')
  .meta({ description: 'Snapshot name, for example `before_update`.' });

/** `pve-tag` of the API schema. A blank or `;` in one would make two of it. */
export const tagsArgument = z
  .array(
    z
      .string()
      .transform(sanitizeText)
      .pipe(z.string().regex(/^[a-zA-Z0-9_][a-zA-Z0-9_.+-]{0,63}$/, 'must be letters, digits, `_`, `-`, `+` or `.`')),
  )
  .max(50)
  .meta({ description: 'All tags that it is to have; they are kept in lower case.' });

/** `pve-poolid` of the API schema, at most three deep. */
export const poolPattern = /^[a-zA-Z0-9._-]{1,100}(?:\/[a-zA-Z0-9._-]{1,100}){0,2}$/;

export const poolArgument = z
  .string()
  .transform(sanitizeText)
  .pipe(z.string().regex(poolPattern, 'must be a pool such as `prod`, or `prod/db` below it'))
  .meta({ description: 'Pool that the new guest gets into.' });

/** `pve-storage-id` of the API schema. */
export const storageArgument = z
  .string()
  .transform(sanitizeText)
  .pipe(z.string().regex(/^[a-zA-Z][a-zA-Z0-9._-]{0,98}[a-zA-Z0-9]$/, 'must be a storage name such as `local`'))
  .meta({ description: 'Storage name; see get_storage.' });

/** A systemd unit, suffix optional: no path, no glob, no option, no instance tricks (`systemd.unit(5)` names minus the rest). */
export const serviceArgument = z
  .string()
  .transform(sanitizeText)
  .pipe(z.string().regex(/^[a-zA-Z0-9][a-zA-Z0-9_.@:-]{0,127}$/, 'must be a plain systemd unit name such as `nginx` or `nginx.service`'))
  .meta({ description: 'Systemd service name, for example `nginx` or `nginx.service`.' });

/** Paging that every list takes. */
export const pagingArguments = {
  limit: z.number().int().min(1).max(500).optional().meta({ description: 'Most rows to return.' }),
  cursor: z.string().max(500).optional().meta({ description: 'Continue after a former answer; pass its `cursor`.' }),
  filter: z
    .string()
    .transform(sanitizeText)
    .pipe(z.string().max(200))
    .optional()
    .meta({ description: 'Keep rows in which a value contains this text (case-insensitive); large numbers (times, sizes) match whole.' }),
};
