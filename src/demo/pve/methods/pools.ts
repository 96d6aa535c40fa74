/** `/pools`: guests and storages under one name. A pool that is gone, a guest that is in two of them, and a full one that is deleted are refused. */
import { failed, forbidden } from '../api-error.ts';
import { type ApiCall, type ApiMethod, requirePrivilege, requireQuorum } from '../api-method.ts';
import { operation } from '../declared/read-tables.ts';
import { splitList } from '../formats.ts';
import type { PoolState } from '../state.ts';
import { modifiers } from './access.ts';
import { guestMember, storageMember } from './resources.ts';

export const poolMethods: readonly ApiMethod[] = [
  operation('GET /pools', list),
  operation('POST /pools', create),
  operation('PUT /pools', update),
  operation('DELETE /pools', remove),
  operation('GET /pools/{poolid}', (call) => {
    const { poolid: _, ...pool } = details(call, call.parameters.text('poolid') ?? '') as { readonly poolid: string };
    return pool;
  }),
];

function list(call: ApiCall): unknown {
  const { cluster, user, parameters } = call;
  const only = parameters.text('poolid');
  if (only !== undefined) return [details(call, only)];
  const known = [...cluster.state.pools.values()].sort((one, other) => (one.id < other.id ? -1 : 1));
  return known
    .filter(({ id }) => cluster.access.holds(user, `/pool/${id}`, 'Pool.Audit'))
    .map(({ id, comment }) => ({ poolid: id, ...commented(comment) }));
}

function commented(comment: string | undefined): object {
  return comment === undefined ? {} : { comment };
}

/** @throws {ApiError} 500 */
function requirePool({ cluster }: ApiCall, id: string, before = ''): PoolState {
  const pool = cluster.state.pools.get(id);
  if (pool === undefined) throw failed(`${before}pool '${id}' does not exist`);
  return pool;
}

/** Members with their figures. A storage is shown as one node sees it: the one that was asked, else the first that has it. */
function details(call: ApiCall, id: string): object {
  const { cluster, parameters } = call;
  const pool = requirePool(call, id);
  const type = parameters.text('type');
  const guests = [...pool.guests].sort((one, other) => one - other).flatMap((vmid) => cluster.state.guests.get(vmid) ?? []);
  const storages = type === undefined || type === 'storage' ? [...pool.storages].sort() : [];
  return {
    members: [
      ...guests.filter(({ kind }) => type === undefined || type === kind).map((guest) => guestMember(cluster, guest)),
      ...storages.flatMap((storage) => storageMember(call, storage)),
    ],
    ...commented(pool.comment),
    poolid: id,
  };
}

function create(call: ApiCall): null {
  const { cluster, parameters } = call;
  requireQuorum(call);
  const id = parameters.text('poolid') ?? '';
  const before = 'create pool failed: ';
  if (cluster.state.pools.has(id)) throw failed(`${before}pool '${id}' already exists`);
  const [, parent, leaf = id] = /^(.*)\/([^/]+)$/.exec(id) ?? [];
  if (parent !== undefined && !cluster.state.pools.has(parent)) throw failed(`${before}parent '${parent}' of pool '${id}' does not exist`);
  if (!/^[A-Za-z]/.test(leaf)) throw failed(`${before}pool name must start with a letter`);
  const comment = parameters.text('comment');
  cluster.state.pools.set(id, { id, comment: comment === '' ? undefined : comment, guests: new Set(), storages: new Set() });
  return null;
}

/** Members are changed in order; the first that does not fit is the end, and nothing is changed. */
function update(call: ApiCall): null {
  const { cluster, parameters } = call;
  requireQuorum(call);
  const before = 'update pools failed: ';
  const pool = requirePool(call, parameters.text('poolid') ?? '', before);
  const drafts = new Map(
    [...cluster.state.pools].map(([id, one]) => [id, { ...one, guests: new Set(one.guests), storages: new Set(one.storages) }]),
  );
  const draft = drafts.get(pool.id);
  if (draft === undefined) return null;
  const removes = parameters.flag('delete');
  for (const vmid of splitList(parameters.text('vms') ?? '').map(Number)) changeGuest(call, drafts, { pool: draft, vmid, removes });
  for (const storage of splitList(parameters.text('storage') ?? '')) changeStorage(call, draft, storage, removes);
  if (parameters.has('comment')) draft.comment = parameters.text('comment');
  for (const [id, one] of drafts) cluster.state.pools.set(id, one);
  return null;
}

interface Draft {
  readonly id: string;
  comment: string | undefined;
  readonly guests: Set<number>;
  readonly storages: Set<string>;
}

/** Rights over an object are rights to put it into a pool. @throws {ApiError} 403 */
function requireModify({ cluster, user }: ApiCall, path: string): void {
  const names = modifiers(path);
  if (!names.some((one) => cluster.access.holds(user, path, one))) throw forbidden(`${path}, ${names.join('|')}`);
}

interface Membership {
  readonly pool: Draft;
  readonly vmid: number;
  readonly removes: boolean;
}

function changeGuest(call: ApiCall, drafts: ReadonlyMap<string, Draft>, { pool, vmid, removes }: Membership): void {
  const before = 'update pools failed: ';
  requireModify(call, `/vms/${vmid}`);
  if (removes) {
    if (!pool.guests.delete(vmid)) throw failed(`${before}VM ${vmid} is not a pool member`);
    return;
  }
  if (pool.guests.has(vmid)) throw failed(`${before}VM ${vmid} is already a pool member`);
  const other = [...drafts.values()].find(({ guests }) => guests.has(vmid));
  if (other !== undefined) {
    if (!call.parameters.flag('allow-move'))
      throw failed(`${before}VM ${vmid} belongs already to pool '${other.id}' and 'allow-move' is not set`);
    requirePrivilege(call, `/pool/${other.id}`, 'Pool.Allocate');
    other.guests.delete(vmid);
  }
  pool.guests.add(vmid);
}

function changeStorage(call: ApiCall, pool: Draft, storage: string, removes: boolean): void {
  requireModify(call, `/storage/${storage}`);
  if (removes ? !pool.storages.delete(storage) : pool.storages.has(storage))
    throw failed(`update pools failed: Storage '${storage}' is ${removes ? 'not a' : 'already a'} pool member`);
  if (!removes) pool.storages.add(storage);
}

function remove(call: ApiCall): null {
  const { cluster, parameters } = call;
  requireQuorum(call);
  const before = 'delete pool failed: ';
  const pool = requirePool(call, parameters.text('poolid') ?? '', before);
  const inside = [...cluster.state.pools.keys()].find((id) => id.startsWith(`${pool.id}/`));
  const guest = [...pool.guests].sort((one, other) => one - other).find((vmid) => cluster.state.guests.has(vmid));
  const storage = [...pool.storages].sort().find((one) => cluster.state.storages.has(one));
  const what =
    inside !== undefined
      ? `pool '${inside}'`
      : guest !== undefined
        ? `VM ${guest}`
        : storage !== undefined
          ? `storage '${storage}'`
          : undefined;
  if (what !== undefined) throw failed(`${before}pool '${pool.id}' is not empty (contains ${what})`);
  cluster.state.pools.delete(pool.id);
  cluster.access.forgetPath(`/pool/${pool.id}`);
  return null;
}
