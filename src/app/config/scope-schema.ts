/** What `protected`, `scopes` and `windows` of the configuration are made of: entries of one kind, however they are used. */
import * as z from 'zod';
import { nodeNamePattern, poolPattern } from '#kernel/arguments';
import { impacts } from '#kernel/tiers';
import { roleKinds } from '#policy/blast/roles';
import { isZone, timesFlaw, windowKinds } from '#policy/scopes/windows';

/** Anything else would silently mean nothing: addresses have a list of their own, and aliases belong to `ssh.nodes`. */
export const nodeName = z
  .string()
  .regex(nodeNamePattern, 'must be a node’s own name (letters, digits, `_` or `-`); addresses go into `addresses`');

/** Why, for people and models: part of the refusal. */
export const reason = z.string().min(1).max(300);

export const vmid = z.number().int().min(100);

/** `pve-tag` of the API; Proxmox VE keeps tags in lower case. */
export const tag = z
  .string()
  .regex(/^[a-zA-Z0-9_][a-zA-Z0-9_.+-]{0,99}$/, 'must be a tag: letters, digits, `_`, `-`, `+` or `.`')
  .transform((text) => text.toLowerCase());

export const poolName = z.string().regex(poolPattern, 'must be a pool such as `prod`, or `prod/db` below it');

/** Of guests' names: a host name in which `*` stands for any characters and `?` for one. */
export const namePattern = z
  .string()
  .regex(/^[a-zA-Z0-9.*?-]{1,100}$/, 'must be a guest’s name; `*` stands for any characters, `?` for one')
  .refine((text) => /[^*?]/.test(text), 'must hold more than `*` and `?`');

const some = <Entry extends z.ZodType>(entry: Entry) => z.array(entry).min(1).max(500).exactOptional();

/** What an entry is about: every list that is there has to fit. */
const selectorSchema = z
  .strictObject({
    clusters: some(z.string().regex(/^[a-zA-Z0-9_*?-]{1,64}$/, 'must be a cluster’s name; `*` and `?` stand for others')),
    guests: some(vmid),
    tags: some(tag),
    pools: some(poolName),
    nodes: some(nodeName),
    names: some(namePattern),
  })
  .refine((only) => Object.keys(only).length > 0, 'must name at least one of clusters, guests, tags, pools, nodes, names');

const entryName = z.string().regex(/^[a-z0-9][a-z0-9_-]{0,63}$/, 'must be lower-case letters, digits, `_` or `-`');

const agentPattern = z
  .string()
  .regex(/^[\x21-\x7e]{1,200}$/, 'must be an agent’s id such as `mcp:ci`, with `*` and `?`, or `host:chat`, `user:alice`');

const roleSchema = z
  .strictObject({
    name: entryName,
    as: z.enum(roleKinds),
    reason,
    guest: vmid.exactOptional(),
    node: nodeName.exactOptional(),
    cluster: z.string().min(1).max(64).exactOptional(),
    of: selectorSchema.exactOptional(),
    except: z.array(vmid).max(500).exactOptional(),
    storages: some(z.string().min(1).max(100)),
  })
  .refine(
    ({ guest, node }) => (guest === undefined) !== (node === undefined),
    'must name the `guest` or the `node` that it is, and not both',
  )
  .refine(({ as, storages }) => (as === 'storage') === (storages !== undefined), {
    path: ['storages'],
    error: 'must name what is served from there where `as` is `storage`, and only there',
  })
  .refine(({ as, of }) => as !== 'storage' || of === undefined, {
    path: ['of'],
    error: 'must be left out: whose disks lie on `storages` is known',
  });

export const rolesSchema = z.array(roleSchema).max(200).refine(namesDiffer, 'two have the same `name`');

export const scopesSchema = z
  .array(
    z.strictObject({
      name: entryName,
      agents: z.array(agentPattern).min(1),
      reason,
      only: selectorSchema.exactOptional(),
      except: z.array(vmid).max(500).exactOptional(),
      admits: z.array(vmid).max(500).exactOptional(),
      impact: z.enum(impacts).exactOptional(),
      changesPerDay: z.number().int().min(0).max(10_000).exactOptional(),
    }),
  )
  .max(200)
  .refine(namesDiffer, 'two have the same `name`');

const windowTimesSchema = z.strictObject({
  start: z.string(),
  duration: z.string(),
  rrule: z.string().max(500).exactOptional(),
  exdates: some(z.string().max(20)),
});

const windowSchema = z
  .strictObject({
    name: entryName,
    kind: z.enum(windowKinds),
    reason,
    only: selectorSchema.exactOptional(),
    except: z.array(vmid).max(500).exactOptional(),
    zone: z.string().refine(isZone, 'must be a time zone of the IANA data base such as `Europe/Berlin`, or `UTC`'),
    times: z.array(windowTimesSchema).min(1).max(50),
  })
  .superRefine(({ times, zone }, context) => {
    times.forEach((one, index) => {
      const flaw = isZone(zone) ? timesFlaw(one, zone) : undefined;
      if (flaw !== undefined) context.addIssue({ code: 'custom', path: ['times', index], message: flaw });
    });
  });

export const windowsSchema = z.array(windowSchema).max(200).refine(namesDiffer, 'two have the same `name`');

function namesDiffer(entries: readonly { readonly name: string }[]): boolean {
  return new Set(entries.map(({ name }) => name)).size === entries.length;
}
