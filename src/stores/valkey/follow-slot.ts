/**
 * A cluster's slot on its way from one node to another. While it moves, a key is on the one or the other, and the node that gives it away says `ASK` for what
 * it has no more (https://valkey.io/topics/cluster-spec/). A refused command has done nothing, so it may be sent again.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Command, Redis } from 'iovalkey';
import { Fault } from '#kernel/errors';
import { say } from '#kernel/text/message';
import { type Redirection, redirectionOf } from './find-primary.ts';
import type { Endpoint } from './store-url.ts';
import { isRedirected, isReply } from './valkey-faults.ts';

export interface Following {
  /** Another node, as the same user. */
  dial(endpoint: Endpoint): Promise<Redis>;
  /** How long something that no node can do alone is tried again, in ms. */
  readonly limitMs: number;
  /** The slot has arrived elsewhere: the next use should connect there. */
  onMoved(): void;
  /** For faults. */
  readonly location: string;
}

type Words = readonly [name: string, ...args: (string | Buffer | number)[]];

interface OpenTransaction {
  readonly commands: Words[];
  refused?: Error;
}

export const pauseMs = 25;

/**
 * `ASK` leads to the other node, for that one command; so does `MOVED`, for a transaction, too. What else is refused is tried again until `limitMs`.
 *
 * INVARIANT: what is watched belongs to this connection. A `WATCH` is tried again here alone, and a transaction that was refused after one is its caller's to
 * try again (`createTurn`): nothing is watched any more. Nor is anything of a pipeline followed, whose answers would lose their order.
 */
export function followSlot(client: Redis, following: Following): void {
  const paths = createPaths(client, following);
  let open: OpenTransaction | undefined;
  let isWatched = false;
  const inTransaction = (transaction: OpenTransaction, command: Command, words: Words): void => {
    transaction.commands.push(words);
    if (words[0] !== 'exec') {
      noteRefusal(transaction, command);
      return;
    }
    intercept(command, onRefusedTransaction(paths, transaction, isWatched));
    open = undefined;
    isWatched = false;
  };
  const alone = (command: Command, words: Words): void => {
    const isWatch = words[0] === 'watch';
    if (isWatch || words[0] === 'unwatch') isWatched = isWatch;
    intercept(command, (thrown) => paths.pursue(thrown, [words], { stay: isWatch }));
  };
  client.sendCommand = (command, stream) => {
    if (paths.isResending()) return paths.send(command, stream);
    const words: Words = [command.name.toLowerCase(), ...command.args.map((arg) => arg as string | Buffer)];
    if (words[0] === 'multi') open = { commands: [words] };
    else if (open) inTransaction(open, command, words);
    else if (waits.has(words[0])) waitElsewhere(paths, command, words);
    else if (!isOfPipeline(stream)) alone(command, words);
    return paths.send(command, stream);
  };
  client.once('close', () => paths.close());
}

const waits: ReadonlySet<string> = new Set(['wait', 'waitaof']);

function isOfPipeline(stream: unknown): boolean {
  return typeof stream === 'object' && stream !== null && 'isPipeline' in stream;
}

/** What was rejected is settled as `retry` ends. */
function intercept(command: Command, retry: (thrown: Error) => Promise<unknown>): void {
  const { resolve, reject } = command;
  command.reject = (thrown) => void retry(thrown).then(resolve, reject);
}

/** The reason for an `EXECABORT` stands in what was refused before. */
function noteRefusal(transaction: OpenTransaction, command: Command): void {
  const { reject } = command;
  command.reject = (thrown) => {
    transaction.refused ??= thrown;
    reject(thrown);
  };
}

function onRefusedTransaction(paths: Paths, transaction: OpenTransaction, wasWatched: boolean): (thrown: Error) => Promise<unknown> {
  return async (thrown) => {
    const cause = transaction.refused ?? thrown;
    if (!isRedirected(cause)) throw thrown;
    if (wasWatched) throw cause;
    return paths.pursue(cause, transaction.commands).catch((last) => Promise.reject(isRedirected(last) ? thrown : last));
  };
}

/** Replicas of each node that has changed something for this connection must have it, too. */
function waitElsewhere(paths: Paths, command: Command, words: Words): void {
  const nodes = paths.toAsk();
  if (nodes.length === 0) return;
  const { resolve } = command;
  command.resolve = (mine: unknown) => {
    const counts = nodes.map(({ node, hasChanged }) =>
      // One that has ended with nothing to wait for says nothing.
      node.callBuffer(...words).catch((thrown: Error) => (hasChanged || isReply(thrown) ? Promise.reject(thrown) : mine)),
    );
    void Promise.all(counts).then(
      (all) => resolve([mine, ...all].reduce(fewest)),
      (thrown: Error) => command.reject(thrown),
    );
  };
}

/** `WAIT` answers a number, `WAITAOF` two. */
function fewest(one: unknown, other: unknown): unknown {
  return Array.isArray(one) && Array.isArray(other)
    ? one.map((count, index) => Math.min(Number(count), Number(other[index])))
    : Math.min(Number(one), Number(other));
}

interface Paths extends Omit<Nodes, 'reach'> {
  readonly send: Redis['sendCommand'];
  isResending(): boolean;
  /** Sends the commands, which belong together, where they are taken. @throws what the last node said */
  pursue(refused: Error, commands: readonly Words[], options?: { readonly stay: boolean }): Promise<unknown>;
}

function createPaths(client: Redis, following: Following): Paths {
  const nodes = createNodes(following);
  const send = client.sendCommand.bind(client);
  const asked = { host: client.options.host ?? '', port: client.options.port ?? 0 };
  let resending = false;
  const again = (commands: readonly Words[]): Promise<unknown> => {
    resending = true;
    try {
      return sendTogether(client, commands);
    } finally {
      resending = false;
    }
  };
  /** undefined: there it cannot be done now, either. */
  const elsewhere = async (refused: Error, commands: readonly Words[]): Promise<{ readonly reply: unknown } | undefined> => {
    const to = whereTo(refused, asked, commands);
    if (to?.kind === 'MOVED') following.onMoved();
    const onlyLooks = commands.every(([name]) => looks.has(name));
    const node = to && (await nodes.reach(to.endpoint, onlyLooks));
    if (!node) return undefined;
    try {
      return { reply: await sendTogether(node, to.kind === 'ASK' ? [['asking'], ...commands] : commands) };
    } catch (thrown) {
      // The node may have closed the connection while nobody used it. Of a change nobody knows then whether it was made.
      if (isRedirected(thrown) || (onlyLooks && !isReply(thrown))) return undefined;
      throw thrown;
    }
  };
  return {
    ...nodes,
    send,
    isResending: () => resending,
    pursue: async (first, commands, { stay } = { stay: false }) => {
      const limit = performance.now() + following.limitMs;
      for (let refused = first; ; ) {
        if (isFinal(refused, stay) || performance.now() > limit) throw refused;
        const done = stay ? undefined : await elsewhere(refused, commands);
        if (done) return done.reply;
        await sleep(pauseMs);
        // Given up meanwhile; what was refused has still not been done.
        if (client.status !== 'ready') throw refused;
        try {
          return await again(commands);
        } catch (thrown) {
          refused = thrown as Error;
        }
      }
    },
  };
}

/** SAFETY: a transaction waits for the slot. Valkey 8.0 carried out some after `ASKING` whose keys had not all come. */
function whereTo(refused: Error, asked: Endpoint, commands: readonly Words[]): Redirection | undefined {
  const to = redirectionOf(refused, asked);
  return to?.kind === 'ASK' && commands.length > 1 ? undefined : to;
}

/** Not for where the keys are; or for what is watched here, which has gone for good. */
function isFinal(refused: Error, stay: boolean): boolean {
  return !isRedirected(refused) || (stay && refused.message.startsWith('MOVED'));
}

/** What may be sent again where no answer came. */
const looks: ReadonlySet<string> = new Set(
  'exists get hget hmget hstrlen llen lrange mget sismember zcard zcount zrange zrangebyscore'.split(' '),
);

interface Nodes {
  /** undefined: it cannot be reached now. @throws {Fault} `store_unavailable`: too many are named */
  reach(endpoint: Endpoint, onlyLooks: boolean): Promise<Redis | undefined>;
  /** Those whose replicas must follow. `hasChanged`: and have what was changed there since this was last asked. */
  toAsk(): readonly { readonly node: Redis; readonly hasChanged: boolean }[];
  close(): void;
}

/** A slot is on two nodes at a time. Whoever names more than this is misconfigured, or no node: each of them would be told the role's password. */
const mostNodes = 16;

/**
 * One connection for each. INVARIANT: a change is waited for on the connection that made it, also where that has ended meanwhile (the wait fails then); one
 * that ended with nothing to wait for is made again.
 */
function createNodes({ dial, location }: Following): Nodes {
  const named = new Set<string>();
  const open = new Map<string, Promise<Redis>>();
  const ready = new Set<Redis>();
  const changed = new Set<Redis>();
  const openTo = async (endpoint: Endpoint, name: string): Promise<Redis | undefined> => {
    const node = open.get(name) ?? dial(endpoint);
    open.set(name, node);
    try {
      const found = await node;
      ready.add(found);
      if (found.status === 'ready') return found;
      ready.delete(found);
    } catch {
      // It is asked again at the next turn.
    }
    if (open.get(name) === node) open.delete(name);
    return undefined;
  };
  return {
    reach: async (endpoint, onlyLooks) => {
      const name = `${endpoint.host}:${endpoint.port}`;
      if (named.add(name).size > mostNodes) throw tooManyNodes(location);
      const isKnown = open.has(name);
      const node = (await openTo(endpoint, name)) ?? (isKnown ? await openTo(endpoint, name) : undefined);
      if (node && !onlyLooks) changed.add(node);
      return node;
    },
    toAsk: () => {
      const nodes = [...new Set([...ready, ...changed])].map((node) => ({ node, hasChanged: changed.has(node) }));
      changed.clear();
      return nodes.filter(({ node, hasChanged }) => hasChanged || node.status === 'ready');
    },
    close: () => {
      // What is under way there ends first.
      for (const node of open.values()) void node.then((found) => found.quit()).catch(() => undefined);
    },
  };
}

function tooManyNodes(location: string): Fault {
  return new Fault(
    'store_unavailable',
    say`the store \`${location}\` names more than ${mostNodes} servers one after the other for its keys, so none of them is asked any more`,
    { next: 'look at `CLUSTER SLOTS` and `CLUSTER NODES` there, and at who answers under these addresses' },
  );
}

/** In one go, nothing between them. The reply of the last; where it was refused, what was refused first. */
async function sendTogether(node: Redis, commands: readonly Words[]): Promise<unknown> {
  const replies = await Promise.allSettled(commands.map((words) => node.callBuffer(...words)));
  const last = replies.at(-1);
  if (last?.status === 'fulfilled') return last.value;
  const reason = replies.find((reply) => reply.status === 'rejected' && isRedirected(reply.reason)) ?? last;
  throw reason?.status === 'rejected' ? reason.reason : new Error('nothing was sent');
}
