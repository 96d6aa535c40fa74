/**
 * The process that an agent starts before it uses a tool of its own: its JSON in, an answer in its form out. Whatever goes wrong ends with 2 and the
 * reason on standard error: with any other end the call would run.
 */
import { spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync, rmSync, statSync } from 'node:fs';
import { connect } from 'node:net';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Fault, toFault } from '#kernel/errors';
import { isJsonObject, type JsonObject, textOf } from '#kernel/json';
import { emptyPlace, whyUnparsed } from '#kernel/text/parse-args';
import { type HookAgent, hookAgent, hookAgents } from './agents.ts';
import { failed, type HookAnswer, type HookQuestion, type HookReply, longestQuestion, readLine } from './answer.ts';
import { type HookPlaces, socketFor, windowSockets, workspaceOf } from './places.ts';

/** @param words what stands behind `banksman hook`. Never rejects; sets the exit status. */
export async function askHook(words: readonly string[]): Promise<void> {
  process.exitCode = 2;
  process.once('uncaughtException', (error) => end(failed(error.message)));
  try {
    const { agent, isManaged, places } = asked(words);
    const { deadlineMs } = agent;
    setTimeout(() => end(failed(`there was no answer within ${deadlineMs} ms`)), deadlineMs).unref();
    if (isManaged) asTheAccount();
    end(await answerOf(agent, await readEvent(process.stdin), places));
  } catch (thrown) {
    const { code, message } = toFault(thrown);
    end(failed(code === 'bad_usage' ? `${message}; see \`banksman hook --help\`` : message));
  }
}

const options = {
  config: { type: 'string' },
  state: { type: 'string' },
  store: { type: 'string' },
  managed: { type: 'boolean' },
} as const;

/** `--help` is none of its options: text on standard output lets the call run. @throws {Fault} `bad_usage` */
function asked(words: readonly string[]): { readonly agent: HookAgent; readonly isManaged: boolean; readonly places: HookPlaces } {
  const { values, positionals } = optionsIn(words);
  const { managed, ...places } = values;
  const [name = '', stray] = positionals;
  const agent = hookAgent(name);
  if (agent === undefined) throw badUsage(`\`banksman hook\` takes one of ${hookAgents.map((one) => one.name).join(', ')}`);
  if (stray !== undefined) throw badUsage(`unexpected \`${stray}\``);
  const empty = emptyPlace(places);
  if (empty !== undefined) throw badUsage(empty);
  return { agent, isManaged: managed === true, places };
}

function optionsIn(words: readonly string[]) {
  try {
    return parseArgs({ args: [...words], options, allowPositionals: true, strict: true });
  } catch (thrown) {
    throw badUsage(whyUnparsed(thrown));
  }
}

function badUsage(message: string): Fault {
  return new Fault('bad_usage', message, { audience: 'user' });
}

/** All of it is written before the process ends. */
function end({ status, stdout, stderr }: HookAnswer): void {
  process.stderr.write(stderr, () => process.stdout.write(stdout, () => process.exit(status)));
}

/**
 * SECURITY: what says where configuration and state are must not come from the agent's environment, which a repository's settings of some agents can set.
 */
function asTheAccount(): void {
  for (const name of ['HOME', 'XDG_CONFIG_HOME', 'XDG_STATE_HOME', 'BANKSMAN_SERVICE']) delete process.env[name];
}

/** Up to the end of the object, a line's or the stream's, whichever comes first. @throws {Fault} `bad_hook_input` */
export async function readEvent(stream: NodeJS.ReadableStream): Promise<JsonObject> {
  const { promise, resolve, reject } = Promise.withResolvers<JsonObject>();
  const parts: Buffer[] = [];
  let length = 0;
  const settle = (isOver: boolean): void => {
    const bytes = Buffer.concat(parts);
    const parsed = parsedObject(bytes);
    if (parsed !== undefined) resolve(parsed);
    else if (isOver || length > longestQuestion)
      reject(new Fault('bad_hook_input', length === 0 ? 'nothing came in' : 'it is no JSON object in UTF-8, or too long'));
  };
  stream.on('data', (part: Buffer) => {
    parts.push(part);
    length += part.length;
    // Only where it can be over: else each piece would be parsed again.
    if (length > longestQuestion || /[}\s]/.test(String.fromCharCode(part.at(-1) ?? 0))) settle(false);
  });
  stream.once('end', () => settle(true)).once('error', reject);
  return promise;
}

/** SECURITY: bytes that are no UTF-8 would be judged as other ones than the agent may go on with. */
const utf8 = new TextDecoder('utf-8', { fatal: true });

function parsedObject(bytes: Buffer): JsonObject | undefined {
  try {
    const text = utf8.decode(bytes);
    if (!text.trimEnd().endsWith('}')) return undefined;
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

async function answerOf(agent: HookAgent, event: JsonObject, places: HookPlaces): Promise<HookAnswer> {
  const cwd = process.cwd();
  const inWindow = agent.runsInWindow ? await askWindows({ agent: agent.name, event, cwd }, places) : undefined;
  if (inWindow !== undefined) return inWindow;
  const workspace = workspaceOf(event, process.env, cwd);
  const socket = socketFor(workspace, places);
  for (;;) {
    const reply = (await ask(socket, { agent: agent.name, event, cwd })) ?? (await started(socket, workspace, places));
    if (reply !== undefined && !('stale' in reply)) return reply;
  }
}

/**
 * The window that the agent runs in: its settings count there. Without one (its extension is switched off), the machine's configuration does.
 * LIMIT: of several windows with one folder any answers; all have this user's settings.
 */
async function askWindows(question: HookQuestion, places: HookPlaces): Promise<HookAnswer | undefined> {
  if (places.config !== undefined || places.store !== undefined) return undefined;
  const folder = path.resolve(question.cwd, textOf(question.event['cwd']) ?? '.');
  for (const socket of windowSockets(folder, places)) {
    const reply = await ask(socket, question);
    if (reply !== undefined && !('stale' in reply)) return reply;
  }
  return undefined;
}

/** undefined: nobody answers there. @throws {Error} where somebody does and breaks off */
async function ask(socket: string, question: HookQuestion): Promise<HookReply | undefined> {
  const peer = connect(socket);
  const isThere = await new Promise<boolean>((resolve) => peer.once('connect', () => resolve(true)).once('error', () => resolve(false)));
  if (!isThere) return undefined;
  peer.on('error', () => undefined);
  peer.write(`${JSON.stringify(question)}\n`);
  const reply = JSON.parse(await readLine(peer)) as HookReply;
  peer.destroy();
  return reply;
}

/** How long one that is being started by somebody else is waited for before another is started, in ms. */
const patienceMs = 8_000;

/** Waits until somebody listens there. One of several that come at once starts it. @throws {Fault} `hook_not_started` with its last words */
async function started(socket: string, workspace: string, places: HookPlaces): Promise<undefined> {
  const lock = `${socket}.starting`;
  const before = identityOf(socket);
  const isMine = takeLock(lock);
  const exit = isMine ? start(socket, workspace, places) : undefined;
  try {
    while (identityOf(socket) === before || identityOf(socket) === undefined) {
      if (exit?.over === true) throw new Fault('hook_not_started', `the process behind the hook ended at once: ${lastWords(socket)}`);
      if (!isMine && identityOf(lock) === undefined) return undefined;
      await sleep(10);
    }
    return undefined;
  } finally {
    if (isMine) rmSync(lock, { recursive: true, force: true });
  }
}

function takeLock(lock: string): boolean {
  const age = Date.now() - (statSync(lock, { throwIfNoEntry: false })?.mtimeMs ?? Date.now());
  if (age > patienceMs) rmSync(lock, { recursive: true, force: true });
  try {
    mkdirSync(lock);
    return true;
  } catch {
    return false;
  }
}

/** The number alone is given again, once a dead socket was taken away. */
function identityOf(file: string): string | undefined {
  const found = statSync(file, { throwIfNoEntry: false, bigint: true });
  return found && `${found.ino}:${found.ctimeNs}`;
}

function start(socket: string, workspace: string, places: HookPlaces): { over: boolean } {
  const log = openSync(`${socket}.log`, 'w', 0o600);
  const named = Object.entries(places).flatMap(([name, value]) =>
    typeof value === 'string' ? [`--${name}`, path.isAbsolute(value) || name !== 'state' ? value : path.resolve(value)] : [],
  );
  const { NODE_OPTIONS: _injected, ...env } = process.env;
  const child = spawn(process.execPath, [process.argv[1] ?? '', 'hook', 'serve', socket, ...named], {
    ...{ cwd: workspace, env, detached: true, stdio: ['ignore', 'ignore', log] },
  });
  closeSync(log);
  const exit = { over: false };
  child.once('exit', () => {
    exit.over = true;
  });
  child.once('error', () => {
    exit.over = true;
  });
  child.unref();
  return exit;
}

function lastWords(socket: string): string {
  try {
    return readFileSync(`${socket}.log`, 'utf8').trim().split('\n').at(-1) ?? '';
  } catch {
    return 'it said nothing';
  }
}
