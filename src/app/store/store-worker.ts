/** Worker entry (`dist/store-worker.cjs`): the embedded store on a thread of its own, so that no fsync and no lock wait blocks the editor. */
import { parentPort, workerData } from 'node:worker_threads';
import { seal } from '#audit/seal';
import { faultData, toFault } from '#kernel/errors';
import type { LocalStore } from '#kernel/ports/store';
import { openSqliteStore } from '#stores/sqlite/open-sqlite-store';
import type { StoreCallMessage, StoreCalls, StoreWorkerData, StoreWorkerMessage } from './store-link.ts';

function callsOf({ requests, audit, security, codes, personas, care, close }: LocalStore): StoreCalls {
  return {
    'requests.open': requests.open,
    'requests.get': requests.get,
    'requests.list': requests.list,
    'requests.countPending': requests.countPending,
    'requests.countApproved': requests.countApproved,
    'requests.identity': requests.identity,
    'requests.advanceCounter': requests.advanceCounter,
    'requests.approve': requests.approve,
    'requests.deny': requests.deny,
    'requests.cancel': requests.cancel,
    'requests.revoke': requests.revoke,
    'requests.consume': requests.consume,
    'requests.noteWait': requests.noteWait,
    'requests.waitOf': requests.waitOf,
    'audit.append': audit.append,
    'audit.appendAll': audit.appendAll,
    'audit.read': audit.read,
    'audit.ofRequest': audit.ofRequest,
    'audit.changesSince': audit.changesSince,
    ...{ 'audit.attempts': audit.attempts, 'audit.endAttempt': audit.endAttempt },
    'audit.head': audit.head,
    ...treeCallsOf(audit.tree),
    'security.level': security.level,
    'security.setLevel': security.setLevel,
    'security.rules': security.rules,
    'security.setRule': security.setRule,
    'security.removeRule': security.removeRule,
    'codes.put': codes.put,
    'codes.take': codes.take,
    'codes.putBack': codes.putBack,
    'security.pause': security.pause,
    'security.setPause': security.setPause,
    'security.liftPause': security.liftPause,
    'care.time': care.time,
    'care.trustClock': care.trustClock,
    'personas.open': personas.open,
    'personas.find': personas.find,
    'personas.reserve': personas.reserve,
    'personas.settle': personas.settle,
    'personas.recount': personas.recount,
    'personas.list': personas.list,
    'personas.takeUnused': personas.takeUnused,
    close,
  };
}

function treeCallsOf({ state, hashes, newestOf, records, find, announceKey }: LocalStore['audit']['tree']) {
  return {
    'tree.state': state,
    'tree.hashes': hashes,
    'tree.newestOf': newestOf,
    'tree.records': records,
    'tree.find': find,
    'tree.announceKey': announceKey,
  };
}

function post(message: StoreWorkerMessage): void {
  parentPort?.postMessage(message);
}

async function answer(calls: StoreCalls, { id, name, values }: StoreCallMessage): Promise<void> {
  try {
    // Sound: the client's `call` types name and values together, and nobody else holds the port.
    const call = calls[name] as (...values: readonly unknown[]) => Promise<unknown>;
    post({ kind: 'answer', id, value: await call(...values) });
  } catch (thrown) {
    post({ kind: 'refusal', id, fault: faultData(toFault(thrown)) });
  }
}

async function serve(): Promise<void> {
  const store = await openSqliteStore({ ...(workerData as StoreWorkerData), seal });
  const calls = callsOf(store);
  store.requests.onChange(() => post({ kind: 'changed' }));
  parentPort?.on('message', (message: StoreCallMessage) => void answer(calls, message));
  post({ kind: 'ready' });
}

serve().catch((thrown: unknown) => post({ kind: 'failed', fault: faultData(toFault(thrown)) }));
