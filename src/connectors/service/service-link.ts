/** The client's end of the service's socket: connects, connects again, and ends what was under way with what is known. */

import { lstatSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import * as path from 'node:path';
import type { RequestRecord } from '#kernel/approval/request';
import { Fault, faultFrom, reasonMessage } from '#kernel/errors';
import { asIs, isMessage, type Message, say } from '#kernel/text/message';
import { type ClientMessage, createLineReader, type ServiceMessage, type Welcome, wireLimits, wireProtocol } from '#kernel/wire';

export interface LinkOptions {
  readonly socket: string;
  readonly version: string;
  /** In ms; shorter in tests. Default: `wireLimits.helloMs`. */
  readonly helloMs?: number;
}

export interface RequestOptions {
  readonly signal?: AbortSignal;
  /** How long the answer may take, in ms. */
  readonly limitMs?: number;
  readonly onProgress?: ((message: string) => void) | undefined;
  readonly onAsk?: ((request: RequestRecord, done: AbortSignal) => void) | undefined;
}

export interface ServiceLink {
  /** What the service said of itself, last. */
  readonly welcome: Welcome;
  isUp(): boolean;
  /** @throws {Fault} the service's own, `service_unavailable` (it was not sent), `service_lost` (nobody knows); the signal's reason */
  request(method: string, values: readonly unknown[], options?: RequestOptions): Promise<unknown>;
  /** Rings at each change, and once after each new connection: what happened in between was not heard; `security` at the loss of one, too. */
  onChange(what: 'requests' | 'security', listener: () => void): () => void;
  close(): void;
}

const usualLimitMs = 60_000;
/** What was cancelled has this long to say what came of it. */
const cancelMs = 5_000;
/** A request waits this long for a service that restarts. */
const patienceMs = 3_000;
const backoffMs = { first: 50, longest: 5_000 } as const;

/** @throws {Fault} `service_unavailable`, `service_version`, `service_not_trusted` */
export async function connectService(options: LinkOptions): Promise<ServiceLink> {
  const link = new Link(options);
  await link.open();
  return link;
}

interface Waiting {
  readonly settle: (message: ServiceMessage) => void;
  readonly fail: (fault: Fault) => void;
}

class Link implements ServiceLink {
  readonly #options: LinkOptions;
  readonly #waiting = new Map<number, Waiting>();
  readonly #listeners = { requests: new Set<() => void>(), security: new Set<() => void>() };
  readonly #risen = new Set<() => void>();
  #welcome: Welcome | undefined;
  #socket: Socket | undefined;
  #timer: NodeJS.Timeout | undefined;
  #lastId = 0;
  #tries = 0;
  #why: Message = say`it does not answer`;
  #closed = false;

  constructor(options: LinkOptions) {
    this.#options = options;
  }

  get welcome(): Welcome {
    if (this.#welcome === undefined) throw unavailable(this.#why);
    return this.#welcome;
  }

  isUp(): boolean {
    return this.#socket !== undefined;
  }

  async open(): Promise<void> {
    const { socket, welcome } = await greet(this.#options, (message) => this.#take(message));
    if (this.#closed) return void socket.destroy();
    this.#welcome = welcome;
    this.#socket = socket;
    this.#tries = 0;
    socket.once('close', () => this.#lost(socket));
    if (this.#waiting.size === 0) socket.unref();
    for (const ring of [...this.#risen, ...this.#listeners.requests, ...this.#listeners.security]) ring();
  }

  async request(method: string, values: readonly unknown[], options: RequestOptions = {}): Promise<unknown> {
    options.signal?.throwIfAborted();
    const socket = this.#socket ?? (await this.#nextSocket(options.signal));
    this.#lastId += 1;
    const id = this.#lastId;
    const text = line({ kind: 'call', id, method, values });
    if (text.length > wireLimits.messageBytes)
      throw new Fault('too_large', say`\`${method}\`: ${text.length} bytes are more than the service takes (${wireLimits.messageBytes})`, {
        audience: 'user',
      });
    return this.#exchange(socket, { id, text }, options);
  }

  onChange(what: 'requests' | 'security', listener: () => void): () => void {
    this.#listeners[what].add(listener);
    return () => void this.#listeners[what].delete(listener);
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#socket?.destroy();
    this.#failAll(unavailable(say`this process has closed its connection`));
  }

  async #exchange(socket: Socket, { id, text }: { id: number; text: string }, options: RequestOptions): Promise<unknown> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const asked = new Map<string, AbortController>();
    this.#waiting.set(id, {
      fail: reject,
      settle: (message) => {
        if (message.kind === 'answer') resolve(message.value);
        else if (message.kind === 'refusal') reject(faultFrom(message.fault));
        else if (message.kind === 'progress') options.onProgress?.(message.message);
        else if (message.kind === 'ask') {
          const done = new AbortController();
          asked.set(message.request.id, done);
          options.onAsk?.(message.request, done.signal);
        } else for (const done of asked.values()) done.abort();
      },
    });
    const limit = setTimeout(() => reject(lost(say`the service has not answered in time`)), options.limitMs ?? usualLimitMs);
    let grace: NodeJS.Timeout | undefined;
    const cancel = () => {
      this.#send(line({ kind: 'cancel', id }));
      grace = setTimeout(() => reject(lost(say`the service has not said what came of what was cancelled`)), cancelMs);
    };
    options.signal?.addEventListener('abort', cancel, { once: true });
    socket.ref();
    this.#send(text);
    try {
      return await promise;
    } finally {
      clearTimeout(limit);
      clearTimeout(grace);
      options.signal?.removeEventListener('abort', cancel);
      for (const done of asked.values()) done.abort();
      this.#waiting.delete(id);
      if (this.#waiting.size === 0) this.#socket?.unref();
    }
  }

  #send(text: string): void {
    this.#socket?.write(text);
  }

  /** A service that restarts is back in a moment. */
  async #nextSocket(signal: AbortSignal | undefined): Promise<Socket> {
    if (this.#closed) throw unavailable(say`this process has closed its connection`);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const limit = setTimeout(() => reject(unavailable(this.#why)), patienceMs);
    const abort = () => reject(signal?.reason);
    this.#risen.add(resolve);
    signal?.addEventListener('abort', abort, { once: true });
    try {
      await promise;
    } finally {
      clearTimeout(limit);
      this.#risen.delete(resolve);
      signal?.removeEventListener('abort', abort);
    }
    if (this.#socket === undefined) throw unavailable(this.#why);
    return this.#socket;
  }

  #take(message: ServiceMessage): void {
    if (message.kind === 'changed') {
      if (this.#welcome !== undefined) this.#welcome = { ...this.#welcome, level: message.level };
      for (const listener of this.#listeners[message.what]) listener();
    } else if (message.kind !== 'welcome') this.#waiting.get(message.id)?.settle(message);
  }

  #lost(socket: Socket): void {
    if (this.#socket !== socket) return;
    this.#socket = undefined;
    this.#failAll(lost(say`the service went away before it answered`));
    // What was shown may be so no longer.
    for (const ring of [...this.#listeners.security]) ring();
    this.#again();
  }

  #failAll(fault: Fault): void {
    for (const { fail } of [...this.#waiting.values()]) fail(fault);
  }

  #again(): void {
    if (this.#closed) return;
    const wait = Math.min(backoffMs.longest, backoffMs.first * 2 ** this.#tries);
    this.#tries += 1;
    this.#timer = setTimeout(() => {
      this.open().catch((thrown: unknown) => {
        this.#why = whyLost(thrown);
        this.#again();
      });
    }, wait);
    if (this.#risen.size === 0) this.#timer.unref();
  }
}

/** Until the service has said who it is. */
async function greet(
  { socket: file, version, helloMs = wireLimits.helloMs }: LinkOptions,
  onMessage: (message: ServiceMessage) => void,
): Promise<{ readonly socket: Socket; readonly welcome: Welcome }> {
  requireOwn(file);
  const { promise, resolve, reject } = Promise.withResolvers<Welcome>();
  const socket = connect({ path: file });
  let greeted = false;
  const take = (text: string) => {
    const message = JSON.parse(text) as ServiceMessage;
    if (greeted) onMessage(message);
    else if (message.kind === 'welcome' && message.protocol === wireProtocol) {
      greeted = true;
      resolve(message);
    } else reject(message.kind === 'refusal' ? faultFrom(message.fault) : otherVersion());
  };
  const reader = createLineReader(wireLimits.answerBytes, take);
  socket.on('data', (chunk) => {
    try {
      if (!reader.take(chunk)) socket.destroy();
    } catch {
      // What is no JSON is not from the service.
      socket.destroy();
    }
  });
  socket.once('error', (error: NodeJS.ErrnoException) => reject(unavailable(whyOf(error))));
  socket.on('error', () => undefined);
  socket.once('close', () => reject(unavailable(say`it ended the connection`)));
  const limit = setTimeout(() => reject(unavailable(say`its socket is there, but nobody answers`)), helloMs);
  socket.write(line({ kind: 'hello', protocol: wireProtocol, version }));
  try {
    return { socket, welcome: await promise };
  } catch (thrown) {
    socket.destroy();
    throw thrown;
  } finally {
    clearTimeout(limit);
  }
}

/** SECURITY: a directory that others can write may hold anybody's socket. */
function requireOwn(file: string): void {
  const directory = lstatSync(path.dirname(file), { throwIfNoEntry: false });
  if (directory === undefined) throw unavailable(say`its socket is gone`);
  if (directory.uid === 0 && process.getuid?.() !== 0 && (directory.mode & 0o001) === 0) throw unavailable(say`its sockets are being made`);
  const isOwned = directory.uid === 0 || directory.uid === process.getuid?.();
  if (isOwned && (directory.mode & 0o022) === 0) return;
  throw new Fault('service_not_trusted', say`others can write the directory of the service's socket: ${path.dirname(file)}`, {
    next: 'root makes it again: `banksman service install`',
  });
}

function whyOf({ code, message }: NodeJS.ErrnoException): Message {
  if (code === 'EACCES') return say`its socket belongs to another user`;
  if (code === 'ECONNREFUSED') return say`its socket is there, but nobody listens`;
  if (code === 'ENOENT') return say`its socket is gone`;
  return asIs(message);
}

/** What `unavailable` says around it is not said twice. */
function whyLost(thrown: unknown): Message {
  if (thrown instanceof Fault && isMessage(thrown.cause)) return thrown.cause;
  return thrown instanceof Error ? reasonMessage(thrown) : say`it does not answer`;
}

function unavailable(why: Message): Fault {
  return new Fault('service_unavailable', say`Banksman's service cannot be reached: ${why}; nothing was sent`, {
    retryable: true,
    next: 'root looks with `banksman service status`; it is connected to again by itself',
    cause: why,
  });
}

function lost(why: Message): Fault {
  return new Fault('service_lost', why, { retryable: true, next: 'look at `banksman audit tail` once the service is back' });
}

function otherVersion(): Fault {
  return new Fault('service_version', 'the service speaks another version of the protocol', {
    next: 'install the same version on both sides, and start both again',
  });
}

function line(message: ClientMessage): string {
  return `${JSON.stringify(message)}\n`;
}
