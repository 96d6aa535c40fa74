/** Requests that change a guest: what is sent for each, and which task it started where the answer was lost. */

import { Fault, toFault } from '#kernel/errors';
import { notSent } from '#kernel/known-effect';
import type { Clock } from '#kernel/ports/clock';
import type { ActionParameters, ClusterPort, GuestAction, GuestOperation, GuestRef } from '#kernel/ports/cluster';
import type { GuestType } from '#kernel/resource';
import { asIs, type Message, say } from '#kernel/text/message';
import { cancelledFault, withTimeLimit } from '../time-limit.ts';
import type { ApiCalls, ChangeRequest } from './api-calls.ts';
import {
  actionSegment,
  guestTypeSegment,
  nodeSegment,
  poolText,
  snapshotSegment,
  storageSegment,
  vmidSegment,
  volumeText,
} from './path-parameters.ts';
import * as rows from './rows.ts';
import { readUpid, type Upid } from './rows.ts';
import { AmbiguousSend } from './transport.ts';

export function guestPath({ node, guestType, vmid }: GuestRef): string {
  return `/nodes/${nodeSegment(node)}/${guestTypeSegment(guestType)}/${vmidSegment(vmid)}`;
}

type Form = Readonly<Record<string, string>>;

/** One change of a guest: its request, and what its task is called, where it has one. */
interface Change {
  /** `stop`, as in `the stop of 100`. */
  readonly what: string;
  readonly request: ChangeRequest;
  /** Under high availability the request becomes a task of the HA manager's. None: it is done when it is answered. */
  readonly taskTypes: readonly string[];
}

/** Without the keys that have no value; the API's booleans are 0 and 1. */
function form(values: Readonly<Record<string, string | number | boolean | undefined>>): Form {
  const given = Object.entries(values).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given.map(([key, value]) => [key, typeof value === 'boolean' ? (value ? '1' : '0') : String(value)]));
}

const haTasks: Partial<Record<GuestAction, string>> = { start: 'hastart', stop: 'hastop', shutdown: 'hastop' };

function actionOf(guest: GuestRef, action: GuestAction, { timeoutSeconds, forceStop }: ActionParameters): Change {
  const ha = haTasks[action];
  return {
    what: action,
    request: {
      method: 'POST',
      path: `${guestPath(guest)}/status/${actionSegment(action)}`,
      form: form({ timeout: timeoutSeconds, forceStop: forceStop === true ? true : undefined }),
    },
    taskTypes: [`${taskPrefix[guest.guestType]}${action}`, ...(ha === undefined ? [] : [ha])],
  };
}

const taskPrefix: Readonly<Record<GuestType, string>> = { qemu: 'qm', lxc: 'vz' };

type OperationOf<Kind extends GuestOperation['kind']> = Extract<GuestOperation, { kind: Kind }>;
type Request = Omit<Change, 'what'>;

/** In the order of the API's own pages. SECURITY: only what is named here is ever sent; there is no way to pass a parameter through. */
const operations: { readonly [Kind in GuestOperation['kind']]: (guest: GuestRef, operation: OperationOf<Kind>) => Request } = {
  snapshot: (guest, { name, description, memory }) => ({
    request: {
      method: 'POST',
      path: `${guestPath(guest)}/snapshot`,
      form: form({ snapname: snapshotSegment(name), description, vmstate: memory === true ? true : undefined }),
    },
    taskTypes: [`${taskPrefix[guest.guestType]}snapshot`],
  }),
  rollback: (guest, { name }) => ({
    request: { method: 'POST', path: `${guestPath(guest)}/snapshot/${snapshotSegment(name)}/rollback` },
    taskTypes: [`${taskPrefix[guest.guestType]}rollback`],
  }),
  delete_snapshot: (guest, { name }) => ({
    request: { method: 'DELETE', path: `${guestPath(guest)}/snapshot/${snapshotSegment(name)}` },
    taskTypes: [`${taskPrefix[guest.guestType]}delsnapshot`],
  }),
  clone: (guest, { newVmid, name, target, storage, pool, full, snapshot }) => ({
    request: {
      method: 'POST',
      path: `${guestPath(guest)}/clone`,
      form: form({
        newid: vmidSegment(newVmid),
        ...(guest.guestType === 'qemu' ? { name } : { hostname: name }),
        target: target && nodeSegment(target),
        storage: storage && storageSegment(storage),
        pool: pool && poolText(pool),
        full,
        snapname: snapshot && snapshotSegment(snapshot),
      }),
    },
    taskTypes: [`${taskPrefix[guest.guestType]}clone`],
  }),
  migrate: (guest, { target, live, localDisks, storage }) => ({
    request: {
      method: 'POST',
      path: `${guestPath(guest)}/migrate`,
      form:
        guest.guestType === 'qemu'
          ? form({
              target: nodeSegment(target),
              online: live || undefined,
              'with-local-disks': localDisks || undefined,
              targetstorage: storage && storageSegment(storage),
            })
          : form({ target: nodeSegment(target), restart: live || undefined, 'target-storage': storage && storageSegment(storage) }),
    },
    taskTypes: [guest.guestType === 'qemu' ? 'qmigrate' : 'vzmigrate', 'hamigrate'],
  }),
  resize: (guest, { disk, size, digest }) => ({
    request: { method: 'PUT', path: `${guestPath(guest)}/resize`, form: form({ disk, size, digest }) },
    taskTypes: ['resize'],
  }),
  configure: (guest, { set, remove, digest }) => ({
    request: {
      method: 'PUT',
      path: `${guestPath(guest)}/config`,
      form: form({ ...set, delete: remove.length === 0 ? undefined : remove.join(','), digest }),
    },
    taskTypes: [],
  }),
  destroy: (guest, { purge }) => ({
    request: { method: 'DELETE', path: `${guestPath(guest)}${purge ? '?purge=1' : ''}` },
    taskTypes: [`${taskPrefix[guest.guestType]}destroy`],
  }),
  backup: ({ node, vmid }, { storage, mode, notes }) => ({
    request: {
      method: 'POST',
      path: `/nodes/${nodeSegment(node)}/vzdump`,
      form: form({ vmid: vmidSegment(vmid), storage: storageSegment(storage), mode, compress: 'zstd', 'notes-template': notes }),
    },
    taskTypes: ['vzdump'],
  }),
  restore: ({ node, vmid, guestType }, { archive, storage, pool }) => ({
    request: {
      method: 'POST',
      path: `/nodes/${nodeSegment(node)}/${guestTypeSegment(guestType)}`,
      form: form({
        vmid: vmidSegment(vmid),
        ...(guestType === 'qemu' ? { archive: volumeText(archive), unique: true } : { ostemplate: volumeText(archive), restore: true }),
        storage: storage && storageSegment(storage),
        pool: pool && poolText(pool),
      }),
    },
    taskTypes: [`${taskPrefix[guestType]}restore`],
  }),
};

function operationOf(guest: GuestRef, operation: GuestOperation): Change {
  // Sound: the table has, under each kind, the function for that kind.
  const request = operations[operation.kind] as (guest: GuestRef, operation: GuestOperation) => Request;
  return { what: operation.kind.replaceAll('_', ' '), ...request(guest, operation) };
}

interface Changing {
  readonly tokenId: string;
  readonly clock: Clock;
}

/** How long the search for the task of a lost answer may take, in ms. */
const searchLimitMs = 8_000;

export function guestChanges(api: ApiCalls, { tokenId, clock }: Changing) {
  async function listUpids(signal: AbortSignal): Promise<readonly string[]> {
    const tasks = rows.readObjects(await api.get('/cluster/tasks', signal));
    return tasks.map((task) => task['upid']).filter((upid): upid is string => typeof upid === 'string');
  }

  async function resolveLostAnswer(search: OwnTaskSearch, lost: AmbiguousSend, signal: AbortSignal): Promise<string> {
    if (signal.aborted) throw outcomeUnknown(search, say`${asIs(lost.message)} after the request had been sent`);
    if (search.taskTypes.length === 0) throw outcomeUnknown(search, say`${asIs(lost.message)}; it has no task to look for`);
    try {
      return await withTimeLimit(clock, searchLimitMs, signal, (limited) => findOwnTask(search, asIs(lost.message), limited));
    } catch (thrown) {
      if (thrown instanceof Fault && thrown.code === 'outcome_unknown') throw thrown;
      throw outcomeUnknown(search, say`${asIs(lost.message)}; the cluster's task list could not be read either`);
    }
  }

  /** @returns what the API answered: a UPID, nothing, or a word of its own */
  async function send(guest: GuestRef, change: () => Change, needsTask: boolean, signal: AbortSignal): Promise<unknown> {
    let search: OwnTaskSearch | undefined;
    try {
      const { what, request, taskTypes } = change();
      // Before, not after: a task is recognised as ours by not having been there. If this fails, nothing has been sent yet.
      const before = new Set(taskTypes.length === 0 ? [] : await listUpids(signal));
      search = { guest, what, taskTypes, tokenId, clock, listUpids, before };
      if (signal.aborted) throw cancelledFault(signal, `${what} of ${guest.vmid} was not sent`);
      const answer = await api.change(request, signal);
      if (needsTask && (typeof answer !== 'string' || !readUpid(answer))) throw new AmbiguousSend('the answer names no task');
      return answer;
    } catch (thrown) {
      if (thrown instanceof AmbiguousSend && search !== undefined) return resolveLostAnswer(search, thrown, signal);
      // Not sent, or refused at once: the API starts no task then.
      throw toFault(thrown).with({ effect: notSent });
    }
  }

  return {
    changeGuest: async (guest, action, signal, parameters = {}) =>
      String(await send(guest, () => actionOf(guest, action, parameters), true, signal)),
    async operate(guest, operation, signal) {
      const change = () => operationOf(guest, operation);
      const answer = await send(guest, change, operation.kind !== 'configure' && operation.kind !== 'backup', signal);
      if (typeof answer !== 'string') return {};
      return readUpid(answer) ? { upid: answer } : { said: answer.slice(0, 100) };
    },
  } satisfies Partial<ClusterPort>;
}

// Which task, if any, a change started whose answer was lost.

/** Waits before each look, in ms: a node under load takes a while to show a new task. */
const looks = [0, 500, 1_500, 3_000];

interface OwnTaskSearch extends Pick<Change, 'what' | 'taskTypes'> {
  readonly guest: GuestRef;
  /** `user@realm!tokenname`, as it stands in a UPID. */
  readonly tokenId: string;
  /** What was there before the change was sent: told by identity, because the clocks of node and client differ. */
  readonly before: ReadonlySet<string>;
  readonly listUpids: (signal: AbortSignal) => Promise<readonly string[]>;
  readonly clock: Clock;
}

/**
 * @returns the UPID of the one task that this very change can have started
 * @throws {Fault} `outcome_unknown` when there is none to be seen, or more than one; `why` says what happened to the answer
 */
async function findOwnTask(search: OwnTaskSearch, why: Message, signal: AbortSignal): Promise<string> {
  for (const wait of looks) {
    if (wait > 0) await search.clock.sleep(wait, signal);
    const upids = await search.listUpids(signal);
    const found = upids.map(readUpid).filter((upid) => upid !== undefined && isOwn(upid, search));
    const [only, ...others] = found;
    if (only && others.length === 0) return only.text;
    if (only) throw outcomeUnknown(search, say`${why}; several tasks could be it: ${found.map((upid) => upid?.text).join(', ')}`);
  }
  throw outcomeUnknown(search, say`${why}; no task of it shows in the cluster's list`);
}

function isOwn(upid: Upid, { guest, taskTypes, tokenId, before }: OwnTaskSearch): boolean {
  return taskTypes.includes(upid.type) && upid.id === String(guest.vmid) && upid.user === tokenId && !before.has(upid.text);
}

function outcomeUnknown({ guest, what }: Pick<OwnTaskSearch, 'guest' | 'what'>, why: Message): Fault {
  const message = say`it is unknown whether the ${what} of ${guest.vmid} was carried out: ${why}`;
  const next = 'do not repeat it blindly: look at the guest with get_vms or get_containers, and at get_recent_tasks, first';
  return new Fault('outcome_unknown', message, { next, effect: { state: 'sent' } });
}
