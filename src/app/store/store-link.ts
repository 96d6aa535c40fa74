/** One running store worker: its calls under way, its end. */

import { Worker } from 'node:worker_threads';
import { Fault, type FaultData, faultFrom } from '#kernel/errors';
import type { AuditLog, TrailTree } from '#kernel/ports/audit-log';
import type { RequestStore } from '#kernel/ports/request-store';
import type { CodeStore, PersonaLedger, SecurityStore, StoreCare } from '#kernel/ports/store';
import { say } from '#kernel/text/message';

export interface WorkerStoreOptions extends StoreWorkerData {
  /** The worker's file: `dist/store-worker.cjs`, or another of plain JavaScript. */
  readonly worker: string | URL;
}

export interface StoreLink {
  /** Resolves with what the method of that name gave, rejects with its fault. */
  call(name: StoreCallName, values: readonly unknown[]): Promise<unknown>;
  /** Closes the store, then the worker; after `limitMs` the worker is ended anyway. */
  close(limitMs: number): Promise<void>;
}

export interface StoreLinkEvents {
  readonly onChange: () => void;
  /** The worker is gone without having been asked to go. */
  readonly onLost: () => void;
}

/** What it answers is gone from it at once: more room for what is young is only taken, and not given back. */
const maxYoungGenerationSizeMb = 4;

interface Waiting {
  readonly resolve: (value: unknown) => void;
  readonly reject: (fault: Fault) => void;
}

/** Resolves once the store is open. @throws {Fault} what the store threw on opening, or `store_unavailable` */
export function startStoreLink(options: WorkerStoreOptions, events: StoreLinkEvents): Promise<StoreLink> {
  const { promise, resolve, reject } = Promise.withResolvers<StoreLink>();
  const { worker: file, ...workerData } = options;
  requirePlain(file);
  const worker = new Worker(file, { workerData, resourceLimits: { maxYoungGenerationSizeMb } });
  const calls = createCalls(worker);
  let ready = false;
  let ending = false;

  const end = (cause?: unknown): void => {
    if (ending) return;
    ending = true;
    const fault = crashFault(cause);
    calls.rejectAll(fault);
    reject(fault);
    if (ready) events.onLost();
  };
  worker.on('error', end);
  worker.on('exit', () => end());
  worker.on('message', (message: StoreWorkerMessage) => {
    if (message.kind === 'changed') events.onChange();
    else if (message.kind === 'answer' || message.kind === 'refusal') calls.settle(message);
    else if (message.kind === 'failed') {
      reject(faultFrom(message.fault));
      ending = true;
      void worker.terminate();
    } else {
      ready = true;
      // An idle store must not keep a process alive; calls under way do (see `createCalls`).
      worker.unref();
      resolve({ call: calls.call, close: (limitMs) => close(limitMs) });
    }
  });
  async function close(limitMs: number): Promise<void> {
    const limit = setTimeout(() => void worker.terminate(), limitMs);
    try {
      await calls.call('close', []);
    } catch {
      // It crashed or would not close in time: either way it is ended now, and every commit it acknowledged is on disk.
    } finally {
      clearTimeout(limit);
      ending = true;
      await worker.terminate();
      calls.rejectAll(new Fault('store_closed', 'the store has been closed', { audience: 'bug' }));
    }
  }
  return promise;
}

/**
 * Node strips types by WebAssembly, on the thread that loads them. When such a thread has ended, and the next one runs, the V8 of Node 24
 * sometimes frees the code of the first one twice, which ends the process (https://github.com/nodejs/node/issues/66366).
 */
function requirePlain(file: string | URL): void {
  if (!/\.[cm]?ts$/.test(String(file))) return;
  throw new Fault('internal_error', say`internal error: \`${String(file)}\` is not plain JavaScript, and the store's worker must be`, {
    audience: 'bug',
  });
}

interface Calls {
  readonly call: StoreLink['call'];
  settle(message: Extract<StoreWorkerMessage, { id: number }>): void;
  rejectAll(fault: Fault): void;
}

function createCalls(worker: Worker): Calls {
  const waiting = new Map<number, Waiting>();
  let lastId = 0;
  let over: Fault | undefined;
  return {
    call: (name, values) =>
      new Promise((resolve, reject) => {
        // A message to a worker that is gone is never answered.
        if (over) return reject(over);
        lastId += 1;
        const message: StoreCallMessage = { id: lastId, name, values };
        waiting.set(lastId, { resolve, reject });
        worker.ref();
        worker.postMessage(message);
      }),
    settle: (message) => {
      const waiter = waiting.get(message.id);
      waiting.delete(message.id);
      if (waiting.size === 0) worker.unref();
      if (message.kind === 'answer') waiter?.resolve(message.value);
      else waiter?.reject(faultFrom(message.fault));
    },
    rejectAll: (fault) => {
      over ??= fault;
      for (const waiter of waiting.values()) waiter.reject(fault);
      waiting.clear();
    },
  };
}

function crashFault(cause: unknown): Fault {
  const detail = cause instanceof Error ? ` (${cause.message})` : '';
  return new Fault('store_unavailable', say`the store's worker ended unexpectedly${detail}; whether the change was made is not known`, {
    cause,
    retryable: true,
    next: 'try again; look at the request or the audit trail first where it matters',
  });
}

/** What the store's worker and its client say to each other over the message port. */
type RequestCalls = { [Name in Exclude<keyof RequestStore, 'onChange'> as `requests.${Name}`]: RequestStore[Name] };
type AuditCalls = { [Name in Exclude<keyof AuditLog, 'tree'> as `audit.${Name}`]: AuditLog[Name] };
type TreeCalls = { [Name in Exclude<keyof TrailTree, 'pin' | 'begin'> as `tree.${Name}`]: Required<TrailTree>[Name] };
type SecurityCalls = { [Name in Exclude<keyof SecurityStore, 'onChange'> as `security.${Name}`]: SecurityStore[Name] };
type CodeCalls = { [Name in keyof CodeStore as `codes.${Name}`]: CodeStore[Name] };
type CareCalls = { [Name in keyof StoreCare as `care.${Name}`]: StoreCare[Name] };
type PersonaCalls = { [Name in keyof PersonaLedger as `personas.${Name}`]: PersonaLedger[Name] };

/** Every method that crosses, by name. */
export type StoreCalls = RequestCalls &
  AuditCalls &
  TreeCalls &
  SecurityCalls &
  CodeCalls &
  PersonaCalls &
  CareCalls & { close(): Promise<void> };
export type StoreCallName = keyof StoreCalls;

export interface StoreCallMessage {
  readonly id: number;
  readonly name: StoreCallName;
  readonly values: readonly unknown[];
}

export type StoreWorkerMessage =
  | { readonly kind: 'ready' }
  | { readonly kind: 'failed'; readonly fault: FaultData }
  | { readonly kind: 'changed' }
  | { readonly kind: 'answer'; readonly id: number; readonly value: unknown }
  | { readonly kind: 'refusal'; readonly id: number; readonly fault: FaultData };

/** What the worker is started with. */
export interface StoreWorkerData {
  readonly file: string;
  readonly busyDeadlineMs?: number;
}
