/** Which pools there were, and who was in them, as a recording's outcome tells. */
import type { PoolSeed } from '#demo/pve/state';
import type { Fixture } from './fixture.ts';
import { type Fields, type Recording, rowsOf } from './recordings.ts';

interface Pool {
  readonly id: string;
  readonly comment?: string;
  guests: number[];
  storages: string[];
}

type Pools = Map<string, Pool>;

/** @param words everything that the recordings of the story say, one text */
export function poolsOf({ seed }: Fixture, request: Recording, words: string): PoolSeed[] {
  const known = (seed.pools ?? []).map((pool): [string, Pool] => [
    pool.id,
    { ...pool, guests: [...pool.guests], storages: [...(pool.storages ?? [])] },
  ]);
  const pools: Pools = new Map(known);
  readWords(pools, words);
  if (request.request.path.startsWith('/pools')) readPoolRequest(pools, request, words);
  const own = poolOfIdentity(seed.access.entries, request);
  if (request.response.status === 200 && own !== undefined) for (const vmid of guestsIn(request)) moveTo(pools, own, vmid);
  return [...pools.values()];
}

function poolIn(pools: Pools, id: string): Pool {
  const pool = pools.get(id) ?? { id, guests: [], storages: [] };
  pools.set(id, pool);
  return pool;
}

/** Refusals name the pool that there was, and who was in it. */
function readWords(pools: Pools, words: string): void {
  for (const [, id = ''] of words.matchAll(/pool '([^']+)' (?:already exists|is not empty)/g)) poolIn(pools, id);
  for (const [, vmid, id = ''] of words.matchAll(/VM (\d+) belongs already to pool '([^']+)'/g)) moveTo(pools, id, Number(vmid));
  for (const [, id = '', vmid] of words.matchAll(/pool '([^']+)' is not empty \(contains VM (\d+)\)/g)) moveTo(pools, id, Number(vmid));
}

function moveTo(pools: Pools, id: string, vmid: number): void {
  leave(pools, vmid);
  poolIn(pools, id).guests.push(vmid);
}

function leave(pools: Pools, vmid: number): void {
  for (const pool of pools.values()) pool.guests = pool.guests.filter((one) => one !== vmid);
}

function readPoolRequest(pools: Pools, request: Recording, words: string): void {
  for (const row of rowsOf(request)) readPoolRow(pools, row);
  const { method, path, form = {} } = request.request;
  const id = poolNamed(path, form);
  const done = request.response.status === 200;
  if (done && ['POST', 'DELETE'].includes(method)) pools.delete(id);
  if (mustBeThere(method, words) && id !== '') poolIn(pools, id);
  if (method === 'PUT' && pools.has(id)) readMembers(pools, id, { form, done, words });
}

/** Whatever is done with a pool but making it is done with one that is there, unless the answer says otherwise. */
function mustBeThere(method: string, words: string): boolean {
  return method !== 'POST' && !words.includes('does not exist');
}

function poolNamed(path: string, form: Readonly<Record<string, string>>): string {
  const query = new URLSearchParams(path.split('?')[1] ?? '');
  return form['poolid'] ?? query.get('poolid') ?? /^\/pools\/([^?]+)/.exec(path)?.[1] ?? '';
}

interface Change {
  readonly form: Readonly<Record<string, string>>;
  readonly done: boolean;
  readonly words: string;
}

/** Who was added was no member before, who was taken out was one; `allow-move` moved it from elsewhere. */
function readMembers(pools: Pools, id: string, { form, done, words }: Change): void {
  const removed = done && form['delete'] === '1';
  const moved = form['allow-move'] === '1' || words.includes('belongs already');
  const pool = poolIn(pools, id);
  for (const vmid of listed(form['vms']).map(Number)) {
    if (removed || words.includes(`VM ${vmid} is already a pool member`)) moveTo(pools, id, vmid);
    else if (moved) pool.guests = pool.guests.filter((guest) => guest !== vmid);
    else leave(pools, vmid);
  }
  for (const storage of listed(form['storage'])) {
    pool.storages = pool.storages.filter((one) => one !== storage);
    if (removed || words.includes(`Storage '${storage}' is already`)) pool.storages.push(storage);
  }
}

function listed(text = ''): string[] {
  return text.split(',').filter((one) => one !== '');
}

function readPoolRow(pools: Pools, row: Fields): void {
  if (row['poolid'] === undefined) return;
  const pool = poolIn(pools, String(row['poolid']));
  const members = row['members'] as unknown as readonly Fields[] | undefined;
  if (members === undefined) return;
  pool.guests = members.flatMap((one) => (one['vmid'] === undefined ? [] : [Number(one['vmid'])]));
  pool.storages = members.flatMap((one) => (one['type'] === 'storage' ? [String(one['storage'])] : []));
}

/** The pool of an identity that has rights in a pool and nowhere else. */
function poolOfIdentity(entries: Fixture['seed']['access']['entries'], { request }: Recording): string | undefined {
  const user = `${request.auth ?? ''}@pve`;
  const own = entries.filter(({ subject }) => subject === user || subject.startsWith(`${user}!`));
  const pools = own.map(({ path }) => /^\/pool\/(.+)$/.exec(path)?.[1]);
  return pools.length > 0 && pools.every((one) => one !== undefined) ? pools[0] : undefined;
}

function guestsIn({ request, before }: Recording): number[] {
  const [, vmid] = /\/(?:qemu|lxc)\/(\d+)/.exec(request.path) ?? [];
  return vmid !== undefined && before?.[vmid] !== null ? [Number(vmid)] : [];
}
