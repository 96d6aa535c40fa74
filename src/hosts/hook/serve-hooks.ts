/**
 * What answers hooks: a warm process with an App, so that each costs little more than the start of its own process, which ends by itself when nobody
 * asks for a while; and a window of the editor, for the agent that runs in it. They answer what may be done and approve nothing.
 */
import { chmodSync, lstatSync, renameSync, rmSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { osUser } from '#app/config/paths';
import { hookAgent as agentOf, modelTierOf } from '#app/for-hosts';
import { isOwnRun } from '#app/workspace/own-tools';
import { agentToolNames } from '#kernel/agent-call';
import type { CallingApp, CallRequest } from '#kernel/app';
import { toFault } from '#kernel/errors';
import { isJsonObject, type JsonObject, textOf } from '#kernel/json';
import { type HookAgent, hookAgent } from './agents.ts';
import { answerTo, failed, type HookAnswer, type HookReply, readLine } from './answer.ts';
import { type OwnerOf, readCall } from './read-call.ts';

interface Serving {
  /** Where it listens. */
  readonly socket: string;
  readonly idleMs: number;
  /** Changes with what this process is made from. */
  stamp(): string;
  readonly signal: AbortSignal;
}

/** Until nobody asked for a while, or it is stale. */
export async function serveHooks(app: CallingApp, { socket, idleMs, stamp, signal }: Serving): Promise<void> {
  const made = stamp();
  const { promise: over, resolve: end } = Promise.withResolvers<void>();
  let asked = 0;
  const idle = setInterval(() => {
    asked -= 1;
    if (asked < 0) end();
  }, idleMs / 4);
  const listening = await listen(socket, async (question) => {
    asked = 4;
    if (stamp() === made) return judgeHook(app, question, { signal });
    end();
    listening.withdraw();
    return { stale: true };
  });
  signal.addEventListener('abort', () => end(), { once: true });
  try {
    await over;
  } finally {
    clearInterval(idle);
    listening.withdraw();
    await listening.closed();
  }
}

export interface Listening {
  /** Nobody comes any more; who is being answered still is. */
  withdraw(): void;
  closed(): Promise<void>;
}

/** One question a connection. */
export async function listen(socket: string, answer: (question: unknown) => Promise<HookReply>): Promise<Listening> {
  const own = `${socket}.${process.pid}`;
  const server = createServer((peer) => void answerPeer(peer, answer));
  rmSync(own, { force: true });
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(own, resolve));
  chmodSync(own, 0o600);
  const { ino: inode } = lstatSync(own, { bigint: true });
  // At once: whoever comes finds the one before or this one.
  renameSync(own, socket);
  return {
    withdraw: () => withdraw(socket, inode),
    closed: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

/** Not where another one listens by now. */
function withdraw(socket: string, inode: bigint): void {
  if (lstatSync(socket, { throwIfNoEntry: false, bigint: true })?.ino === inode) rmSync(socket, { force: true });
}

/** How long a question may take to come in, in ms. */
const readMs = 10_000;

async function answerPeer(peer: Socket, answer: (question: unknown) => Promise<HookReply>): Promise<void> {
  peer.on('error', () => peer.destroy()).setTimeout(readMs, () => peer.destroy());
  try {
    const line = await readLine(peer);
    peer.setTimeout(0);
    peer.end(`${JSON.stringify(await answer(JSON.parse(line)))}\n`);
  } catch (thrown) {
    peer.end(`${JSON.stringify(failed(toFault(thrown).message))}\n`);
  }
}

/** How the one who answers stands to the agent. */
interface Judging extends Pick<CallRequest, 'signal' | 'restrict'> {
  /** The file of the command line, where this process was not started with it. */
  readonly cliFile?: string;
  readonly ownerOf?: OwnerOf;
}

export async function judgeHook(app: CallingApp, question: unknown, judging: Judging): Promise<HookAnswer> {
  if (!isJsonObject(question)) return failed('the question is no object');
  const { agent: name, event, cwd } = question;
  const agent = hookAgent(textOf(name) ?? '');
  if (agent === undefined || !isJsonObject(event) || typeof cwd !== 'string')
    return failed('the question names no agent, event or directory');
  try {
    return await judgeCall(app, { agent, event, cwd }, judging);
  } catch (thrown) {
    return failed(toFault(thrown).message);
  }
}

interface Asked {
  readonly agent: HookAgent;
  readonly event: JsonObject;
  readonly cwd: string;
}

async function judgeCall(app: CallingApp, { agent, event, cwd }: Asked, { cliFile, ownerOf, ...more }: Judging): Promise<HookAnswer> {
  const { kind, input, model } = readCall(agent, event, cwd, ownerOf);
  const tier = model === undefined ? app.config.hookModelTier : modelTierOf(model);
  const outcome = await app.call({
    tool: agentToolNames[kind === 'shell' && isOwnRun(textOf(input['command']) ?? '', cliFile) ? 'run' : kind],
    input,
    agent: { ...agentOf(agent.name, osUser().username, tier, model), label: agent.title },
    waitMs: 0,
    ...more,
  });
  // What could not be judged is no answer of the policy's.
  return outcome.status === 'error' && outcome.request_id === undefined ? failed(outcome.message) : answerTo(agent, event, outcome);
}
