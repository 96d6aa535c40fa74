/** The users' sockets: messages in, answers out, nobody's budget at another's cost. */
import type { Server, Socket } from 'node:net';
import type * as z from 'zod';
import type { LocalApp } from '#app/for-service';
import { Fault, faultData, toFault } from '#kernel/errors';
import type { Log } from '#kernel/ports/log';
import {
  answeredElsewhere,
  type ClientMessage,
  createLineReader,
  otherProtocolWords,
  readClientMessage,
  type ServiceMessage,
  type Welcome,
  type WireMethod,
  wireLimits,
  wireMethods,
  wireProtocol,
} from '#kernel/wire';
import { type Turn, UserBudget } from './budget.ts';
import { type Caller, createMethods } from './methods.ts';

export interface ServeOptions {
  readonly app: LocalApp;
  readonly version: string;
  readonly log: Log;
  /** Where people approve: the page's address, or a command. */
  readonly answersAt: string;
  readonly requireSandbox: boolean;
}

export interface UserServer {
  /** `server` listens on the socket that is this user's. */
  add(user: string, server: Server): void;
  /** Stops listening, and ends every connection: calls under way are cancelled. */
  close(): Promise<void>;
}

/** A client that does not read what it asked for is not read either; in the end (`userLimits.unreadBytes`) it is let go. */
const slowBytes = 8 * 2 ** 20;
/** These look through a whole trail, or ask every cluster. */
const longMethods: ReadonlySet<string> = new Set(['doctor', 'audit.tail', 'audit.verify', 'audit.compare', 'audit.continues']);
/** Each leaves records in the trail. */
const writingMethods: ReadonlySet<string> = new Set([
  'call',
  'runApproved',
  'records.open',
  'records.consume',
  'records.append',
  'plans.control',
  'plans.without',
]);
/** Changes are told at most so often. */
const ringMs = 50;

export function serveUsers(options: ServeOptions): UserServer {
  const budgets = new Map<string, UserBudget>();
  const servers: Server[] = [];
  const open = new Set<Connection>();
  const methods = createMethods(options.app);
  const rings = [options.app.approvals.onChange(() => ringAll('requests')), options.app.security.onChange(() => ringAll('security'))];
  const ringAll = (what: 'requests' | 'security') => {
    for (const connection of open) connection.ring(what);
  };
  return {
    add: (user, server) => {
      const budget = budgets.get(user) ?? new UserBudget();
      budgets.set(user, budget);
      servers.push(server);
      server.on('connection', (socket: Socket) => {
        const connection = new Connection(socket, { ...options, user, budget, methods });
        open.add(connection);
        socket.once('close', () => open.delete(connection));
      });
    },
    close: async () => {
      for (const stop of rings) stop();
      await Promise.all([
        ...servers.map((server) => new Promise((resolve) => void server.close(resolve))),
        ...[...open].map((connection) => connection.end()),
      ]);
    },
  };
}

interface ConnectionParts extends ServeOptions {
  readonly user: string;
  readonly budget: UserBudget;
  readonly methods: ReturnType<typeof createMethods>;
}

type CallMessage = Extract<ClientMessage, { kind: 'call' }>;

class Connection {
  readonly #socket: Socket;
  readonly #parts: ConnectionParts;
  readonly #calls = new Map<number, AbortController>();
  readonly #rung = new Map<string, NodeJS.Timeout>();
  readonly #holds = new Set<'budget' | 'unread'>();
  #leave: () => void = () => undefined;
  #greeted = false;
  #limit: NodeJS.Timeout | undefined;

  constructor(socket: Socket, parts: ConnectionParts) {
    this.#socket = socket;
    this.#parts = parts;
    const reader = createLineReader(wireLimits.messageBytes, (line) => this.#take(line));
    socket.on('error', () => undefined);
    socket.once('close', () => this.#over());
    try {
      this.#leave = parts.budget.join({
        pause: () => this.#hold('budget'),
        resume: () => this.#release('budget'),
        unread: () => socket.writableLength,
      });
    } catch (thrown) {
      this.#part(toFault(thrown));
      return;
    }
    this.#within(wireLimits.helloMs, 'nothing was said');
    socket.on('data', (chunk) => {
      parts.budget.note({ bytes: chunk.length });
      if (!reader.take(chunk)) return this.#part(new Fault('too_large', `a message may have ${wireLimits.messageBytes} bytes`));
      // From its first byte on: one byte more, now and then, does not keep it open.
      if (this.#greeted && reader.isOpen() && this.#limit === undefined) this.#within(wireLimits.lineMs, 'half a message was sent');
    });
    socket.on('drain', () => this.#release('unread'));
  }

  #hold(why: 'budget' | 'unread'): void {
    this.#holds.add(why);
    this.#socket.pause();
  }

  #release(why: 'budget' | 'unread'): void {
    this.#holds.delete(why);
    if (this.#holds.size === 0) this.#socket.resume();
  }

  ring(what: 'requests' | 'security'): void {
    if (!this.#greeted || this.#rung.has(what)) return;
    const tell = () => {
      this.#rung.delete(what);
      this.#send({ kind: 'changed', what, level: this.#parts.app.securityLevel });
    };
    this.#rung.set(what, setTimeout(tell, ringMs).unref());
  }

  async end(): Promise<void> {
    this.#socket.destroy();
    this.#over();
  }

  #within(ms: number | undefined, why: string): void {
    clearTimeout(this.#limit);
    this.#limit = undefined;
    if (ms !== undefined) this.#limit = setTimeout(() => this.#part(new Fault('too_slow', `${why} for ${ms / 1_000} s`)), ms).unref();
  }

  #over(): void {
    clearTimeout(this.#limit);
    for (const timer of this.#rung.values()) clearTimeout(timer);
    this.#leave();
    for (const call of this.#calls.values()) call.abort(new Fault('cancelled', 'the caller has gone'));
  }

  /** Says why, and ends the connection. */
  #part(fault: Fault): void {
    this.#send({ kind: 'refusal', id: 0, fault: faultData(fault) });
    this.#socket.end();
    this.#socket.destroySoon();
  }

  #take(line: string): void {
    if (this.#socket.destroyed || !this.#socket.writable) return;
    this.#parts.budget.note({ messages: 1 });
    if (this.#greeted) this.#within(undefined, '');
    const message = readClientMessage(line);
    if (message === undefined) this.#part(new Fault('bad_message', 'this is no message of the protocol'));
    else if (message.kind === 'hello') this.#greet(message);
    else if (!this.#greeted) this.#part(new Fault('bad_message', 'the first message must be `hello`'));
    else if (message.kind === 'cancel') this.#calls.get(message.id)?.abort(new Fault('cancelled', 'the caller cancelled'));
    else void this.#answer(message, line.length);
  }

  #greet(hello: Extract<ClientMessage, { kind: 'hello' }>): void {
    if (hello.protocol !== wireProtocol) {
      const words = otherProtocolWords(this.#parts.version, hello);
      this.#part(new Fault('service_version', words, { next: 'install the same version on both sides, and start both again' }));
      return;
    }
    this.#greeted = true;
    this.#within(undefined, '');
    this.#send(welcome(this.#parts));
  }

  async #answer({ id, method, values }: CallMessage, bytes: number): Promise<void> {
    if (this.#calls.has(id)) return this.#refuse(id, new Fault('bad_message', `there is a call ${id} already`, { audience: 'bug' }));
    const call = new AbortController();
    this.#calls.set(id, call);
    let turn: Turn | undefined;
    try {
      const run = this.#prepare(method, values);
      if (writingMethods.has(method)) this.#parts.budget.write(bytes);
      turn = await this.#parts.budget.turn({ bytes, isLong: longMethods.has(method) }, call.signal);
      const value = await run(this.#caller(id, call.signal, turn));
      this.#send({ kind: 'answer', id, value });
    } catch (thrown) {
      this.#refuse(id, toFault(thrown));
    } finally {
      turn?.end();
      this.#calls.delete(id);
    }
  }

  /** @throws {Fault} `answered_elsewhere`, `no_such_method`, `invalid_input` */
  #prepare(method: string, values: readonly unknown[]): (caller: Caller) => Promise<unknown> {
    if (answeredElsewhere.has(method)) throw elsewhere(this.#parts.answersAt);
    const { methods } = this.#parts;
    if (!Object.hasOwn(methods, method))
      throw new Fault('no_such_method', `the service has no \`${method.slice(0, 100)}\``, { audience: 'bug' });
    const schema: z.ZodType = wireMethods[method as WireMethod];
    const parsed = schema.safeParse(values);
    if (!parsed.success) {
      const { path, message } = parsed.error.issues[0] ?? { path: [], message: 'wrong' };
      throw new Fault('invalid_input', `\`${method}\`: ${path.join('.')}: ${message}`, { audience: 'bug' });
    }
    // Each method's values are those that its own schema gave.
    const run = methods[method as WireMethod] as (values: unknown, caller: Caller) => Promise<unknown>;
    return (caller) => run(parsed.data, caller);
  }

  #caller(id: number, signal: AbortSignal, turn: Turn): Caller {
    const ask: Caller['ask'] = {
      ask: (request, done) => {
        turn.waits();
        this.#send({ kind: 'ask', id, request });
        done.addEventListener('abort', () => this.#send({ kind: 'asked', id }), { once: true });
      },
    };
    return { user: this.#parts.user, signal, progress: (message) => this.#send({ kind: 'progress', id, message }), ask };
  }

  #refuse(id: number, fault: Fault): void {
    if (fault.audience === 'bug') this.#parts.log.warn(`${this.#parts.user}: ${fault.code}: ${fault.message}`);
    this.#send({ kind: 'refusal', id, fault: faultData(fault) });
  }

  #send(message: ServiceMessage): void {
    const socket = this.#socket;
    if (socket.destroyed || !socket.writable) return;
    const text = JSON.stringify(message);
    if (text.length > wireLimits.answerBytes && message.kind === 'answer') {
      this.#refuse(message.id, new Fault('too_large', 'the answer is too large; ask for less'));
      return;
    }
    socket.write(`${text}\n`);
    if (this.#parts.budget.isDeaf()) socket.destroy();
    else if (socket.writableLength > slowBytes) this.#hold('unread');
  }
}

/** SECURITY: said clearly, for whoever reads it may be a person who cannot find the button. */
function elsewhere(answersAt: string): Fault {
  return new Fault('answered_elsewhere', `this is not decided here, where programs of this account could do it: ${answersAt}`, {
    audience: 'user',
  });
}

function welcome({ app, version, user, answersAt, requireSandbox }: ConnectionParts): Welcome {
  const { workspaceRoot: _ofItsOwn, ...config } = app.config;
  return {
    kind: 'welcome',
    protocol: wireProtocol,
    version,
    user,
    config: { ...config, answersAt },
    clusters: app.live.clusters,
    level: app.securityLevel,
    requireSandbox,
    storeLocation: app.storeLocation,
  };
}
