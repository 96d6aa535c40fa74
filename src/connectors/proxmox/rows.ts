/**
 * The API's answers and task ids, checked at the edge. What is typed in `kernel/ports/cluster.ts` is checked; every other field passes as
 * it came.
 */

import * as z from 'zod';
import { Fault } from '#kernel/errors';
import { isJsonObject, type JsonObject } from '#kernel/json';
import {
  type ClusterStatusRow,
  type GuestRow,
  type NodeRow,
  offlineStatus,
  type Permissions,
  type TaskStatus,
} from '#kernel/ports/cluster';
import { say } from '#kernel/text/message';
import { nodeSegment } from './path-parameters.ts';

/** Perl has no booleans: 0, 1, "0" and "1" all occur. */
const flag = z.union([z.boolean(), z.number(), z.string()]).transform((value) => value === true || Number(value) === 1);
/** Numbers come as strings where a value went through a Perl string. */
const integer = z.union([
  z.number().int(),
  z
    .string()
    .regex(/^\d{1,15}$/)
    .transform(Number),
]);

const clusterStatusSchema = z.looseObject({
  type: z.enum(['cluster', 'node']),
  name: z.string(),
  quorate: flag.optional(),
  nodes: integer.optional(),
  nodeid: integer.optional(),
  ip: z.string().optional(),
  online: flag.optional(),
  local: flag.optional(),
});
const nodeSchema = z.looseObject({ node: z.string().min(1), status: z.string().optional() });
const guestSchema = z.object({
  vmid: integer,
  node: z.string().min(1),
  type: z.enum(['qemu', 'lxc']),
  status: z.string().optional(),
  name: z.string().optional(),
});
const taskSchema = z.looseObject({ status: z.string(), exitstatus: z.string().optional() });
const permissionsSchema = z.record(z.string(), z.record(z.string(), flag));
const versionSchema = z.looseObject({ version: z.string(), release: z.string() });
const logSchema = z.array(z.looseObject({ t: z.string().nullish() }));

/**
 * The `data` of an answer.
 * @throws {Fault} `pve_bad_answer` when the body is no JSON object with `data`
 */
export function readData(body: string): unknown {
  let parsed: unknown;
  try {
    parsed = JSON.parse(body);
  } catch {
    throw badAnswer('its body is not JSON');
  }
  if (!isJsonObject(parsed) || !('data' in parsed)) throw badAnswer('its body has no `data`');
  return parsed['data'];
}

export function readObject(data: unknown): JsonObject {
  if (!isJsonObject(data)) throw badAnswer('`data` is not an object');
  return data;
}

export function readObjects(data: unknown): readonly JsonObject[] {
  if (!Array.isArray(data)) throw badAnswer('`data` is not a list');
  return data.map((row: unknown, index) => {
    if (!isJsonObject(row)) throw badAnswer(`\`data.${index}\` is not an object`);
    return row;
  });
}

/** Rows of other types than `cluster` and `node` are left out: later releases may add some. */
export function readClusterStatus(data: unknown): readonly ClusterStatusRow[] {
  const rows = readObjects(data).filter((row) => row['type'] === 'cluster' || row['type'] === 'node');
  return rows.map((row) =>
    pickDefined(parse(clusterStatusSchema, row), ['type', 'name', 'quorate', 'nodes', 'nodeid', 'ip', 'online', 'local']),
  );
}

export function readNodes(data: unknown): readonly NodeRow[] {
  return readObjects(data).map((raw) => {
    const row = parse(nodeSchema, raw);
    return { node: row.node, status: row.status ?? 'unknown', raw };
  });
}

const placedTypes: readonly unknown[] = ['qemu', 'lxc', 'openvz', 'storage'];
/** What a guest did when its node was last heard of. */
const staleFigures = ['cpu', 'mem', 'memhost', 'uptime', 'netin', 'netout', 'diskread', 'diskwrite'];

/**
 * All rows of `GET /cluster/resources`, with what is known of guests and storages whose node is offline: no state, no load. That takes the
 * nodes' rows of the same answer: an answer for one type does not tell.
 */
export function readResources(data: unknown): readonly JsonObject[] {
  const resources = readObjects(data);
  const offline = new Set(resources.filter((row) => row['type'] === 'node' && row['status'] === 'offline').map((row) => row['node']));
  return resources.map((row) => {
    if (!placedTypes.includes(row['type']) || !offline.has(row['node'])) return row;
    const known = Object.entries(row).filter(([key]) => !staleFigures.includes(key));
    const last = typeof row['status'] === 'string' && row['status'] !== 'unknown' ? { last_known_status: row['status'] } : {};
    return { ...Object.fromEntries(known), status: offlineStatus, ...last };
  });
}

/** Guests of other types (`openvz` of old releases) are left out; a partial row of an offline node counts, with status `unknown`. */
export function readGuests(data: unknown): readonly GuestRow[] {
  const guests = readResources(data).filter((row) => row['type'] === 'qemu' || row['type'] === 'lxc');
  return guests.map((raw) => {
    const { vmid, node, type, status, name } = isGuest(raw) ? raw : parse(guestSchema, raw);
    return { vmid, node, type, status: status ?? 'unknown', ...(name === undefined ? {} : { name }), raw };
  });
}

/** As the schema has it, said without a copy: there are thousands, and hardly any is otherwise. */
function isGuest(row: JsonObject): row is JsonObject & z.output<typeof guestSchema> {
  const { vmid, node, status = '', name = '' } = row;
  return Number.isSafeInteger(vmid) && typeof node === 'string' && node !== '' && typeof status === 'string' && typeof name === 'string';
}

export function readTaskStatus(data: unknown, upid: Upid): TaskStatus {
  const { status, exitstatus } = parse(taskSchema, data);
  const running = status === 'running';
  const exitStatus = running ? undefined : (exitstatus ?? 'unknown');
  return { upid: upid.text, node: upid.node, running, ...(exitStatus === undefined ? {} : { exitStatus }) };
}

export function readTaskLog(data: unknown): readonly string[] {
  return parse(logSchema, data).map((line) => line.t ?? '');
}

export function readPermissions(data: unknown): Permissions {
  return parse(permissionsSchema, data);
}

export function readVersion(data: unknown): { readonly version: string; readonly release: string } {
  const { version, release } = parse(versionSchema, data);
  return { version, release };
}

export function readText(data: unknown): string {
  if (typeof data !== 'string') throw badAnswer('`data` is not a text');
  return data;
}

function parse<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw badAnswer(`\`${issue?.path.join('.') || 'data'}\`: ${issue?.message ?? 'unexpected'}`);
}

/** The named keys that have a value: a key that is there but undefined is not the same as an absent one to the kernel's types. */
function pickDefined<Row extends object, Key extends keyof Row>(
  row: Row,
  keys: readonly Key[],
): { [K in Key]: Exclude<Row[K], undefined> } {
  const present = keys.filter((key) => row[key] !== undefined).map((key) => [key, row[key]]);
  return Object.fromEntries(present) as { [K in Key]: Exclude<Row[K], undefined> };
}

/** What came back is not what the API's schema promises. */
function badAnswer(what: string): Fault {
  const next = 'check that the endpoint is a Proxmox VE API and its version is supported (8 or 9)';
  return new Fault('pve_bad_answer', say`Proxmox VE sent an answer that cannot be used: ${what}`, { next });
}

/** `UPID:node:pid:pstart:starttime:type:id:user:` taken apart; the hexadecimal numbers decoded, `startTime` in seconds since the epoch. */
export interface Upid {
  readonly text: string;
  /** Where the task runs, and the node to ask about it: not always the node that was called. */
  readonly node: string;
  readonly pid: number;
  readonly startTime: number;
  readonly type: string;
  /** The guest number for guest tasks; may be empty. */
  readonly id: string;
  /** `user@realm`, with `!tokenname` when a token started it. */
  readonly user: string;
}

const upidPattern = /^UPID:([a-zA-Z0-9_-]{1,63}):([0-9A-Fa-f]{8}):([0-9A-Fa-f]{8,9}):([0-9A-Fa-f]{8}):([^:\s/]+):([^:\s/]*):([^:\s/]+):$/;

/** undefined for what is not a UPID. A `/` in any part is refused: the server would split the path there. */
export function readUpid(text: string): Upid | undefined {
  const match = upidPattern.exec(text);
  if (!match) return undefined;
  const [, node = '', pid = '', , start = '', type = '', id = '', user = ''] = match;
  return { text, node, pid: Number.parseInt(pid, 16), startTime: Number.parseInt(start, 16), type, id, user };
}

/** @throws {Fault} `bad_target` for what is not a UPID or names no usable node */
export function parseUpid(text: string): Upid {
  const upid = readUpid(text);
  if (!upid)
    throw new Fault('bad_target', 'not a task id; it must look like `UPID:node:…:`', {
      audience: 'user',
      next: 'use a UPID as in get_recent_tasks',
    });
  nodeSegment(upid.node);
  return upid;
}
