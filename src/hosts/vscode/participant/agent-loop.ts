/**
 * The loop of `@banksman`: a model is asked, what it calls is run, it is told what came of it, until it has nothing more to call. Bounded in rounds, in calls
 * and in what is sent. Nothing here decides whether a call may run: each goes to the pipeline, like anybody's.
 */
import type { ShortTool } from '#app/short-list';
import { canonicalJson, isJsonObject } from '#kernel/json';
import type { Outcome } from '#kernel/outcome';
import type { ToolDescription } from '#kernel/tool';
import { resultText } from '../tools/chat-words.ts';
import { type Conversation, fitted, type Message, sizeOfAll, type ToolCall, tokensOf } from './conversation.ts';
import type { Offer } from './offer.ts';

export type ModelPart = { readonly text: string } | { readonly call: ToolCall };

export interface Model {
  /** Tokens that it takes in all. */
  readonly room: number;
  /** May reject or throw on the way, with whatever its provider does. */
  send(messages: readonly Message[], tools: readonly ShortTool[], signal: AbortSignal): AsyncIterable<ModelPart>;
}

interface LoopDeps {
  readonly model: Model;
  readonly offer: Offer;
  readonly signal: AbortSignal;
  /** Runs a call through the pipeline. Never rejects. */
  call(tool: ToolDescription, input: unknown): Promise<Outcome>;
  /** The model's words as they come. SECURITY: from outside. */
  say(text: string): void;
}

export interface DoneCall {
  readonly tool: string;
  readonly input: unknown;
  readonly outcome: Outcome;
}

export type LoopEnd =
  | { readonly kind: 'answered' }
  /** A person has to answer first. */
  | { readonly kind: 'waits'; readonly call: DoneCall }
  /** `unsure`: calls of which nobody knows yet whether they go on. */
  | { readonly kind: 'cancelled'; readonly unsure: readonly DoneCall[] }
  /** The same call again and again, though it was refused. */
  | { readonly kind: 'repeats'; readonly call: DoneCall }
  /** Nothing but calls that cannot be. */
  | { readonly kind: 'astray' }
  | { readonly kind: 'rounds' }
  | { readonly kind: 'empty' }
  /** It wrote a call as text: it cannot call tools, or was not told how. */
  | { readonly kind: 'written_call' }
  | { readonly kind: 'too_long' }
  | { readonly kind: 'failed'; readonly thrown: unknown };

export interface LoopResult {
  readonly end: LoopEnd;
  /** All that the model said. */
  readonly said: string;
  /** All calls that reached the pipeline, in their order. */
  readonly calls: readonly DoneCall[];
}

export const mostRounds = 50;
/** In one round; what is over is answered, and not run. */
export const mostCalls = 16;
/** What a model may say in one round, in UTF-16 code units. */
const mostText = 60_000;
/** Rounds in a row with nothing but calls that cannot be. */
const mostAstray = 3;
/** What the estimate of tokens may be wrong by, and a bound on what one request costs. */
const usedShare = 0.85;
const mostTokens = 120_000;

/** How often exactly the same call may be refused, or fail, before it is no longer run; asked for a second time after that, the loop ends. */
const mostSame: Readonly<Record<string, number>> = { denied: 1, error: 3 };
const mostAgain = 2;

/** Exactly the same call, ended badly: how often, and how often it was asked for after that. */
interface Failure {
  readonly last: DoneCall;
  readonly times: number;
  again: number;
}

interface LoopState {
  readonly conversation: Omit<Conversation, 'now'>;
  now: Message[];
  room: number;
  halved: boolean;
  nudged: boolean;
  astray: number;
  said: string;
  readonly calls: DoneCall[];
  /** By tool and arguments. */
  readonly failures: Map<string, Failure>;
}

/** @param opening calls to begin with, as if the model had made them: what a person has agreed to meanwhile. Never rejects. */
export async function runLoop(start: Conversation, deps: LoopDeps, opening: readonly ToolCall[] = []): Promise<LoopResult> {
  const tools = deps.offer.tools.reduce((sum, tool) => sum + tokensOf(JSON.stringify(tool)), 0);
  const state: LoopState = {
    conversation: start,
    now: [...start.now],
    room: Math.min(deps.model.room * usedShare, mostTokens) - tools,
    ...{ halved: false, nudged: false, astray: 0, said: '' },
    calls: [],
    failures: new Map(),
  };
  const end = (opening.length === 0 ? undefined : await runCalls('', opening, state, deps)) ?? (await rounds(state, deps));
  return { end, said: state.said, calls: state.calls };
}

async function rounds(state: LoopState, deps: LoopDeps): Promise<LoopEnd> {
  for (let round = 0; round < mostRounds; round += 1) {
    const end = await oneRound(state, deps);
    if (end !== undefined) return end;
  }
  return { kind: 'rounds' };
}

/** undefined: it goes on. */
async function oneRound(state: LoopState, deps: LoopDeps): Promise<LoopEnd | undefined> {
  const messages = fitted({ ...state.conversation, now: state.now }, state.room);
  if (messages === undefined) return { kind: 'too_long' };
  const heard = await listen(messages, state, deps);
  if (deps.signal.aborted) return { kind: 'cancelled', unsure: [] };
  if ('failed' in heard) return afterFailure({ ...heard, sent: sizeOfAll(messages) }, state);
  if (heard.calls.length > 0) return runCalls(heard.text, heard.calls, state, deps);
  if (heard.text.trim() === '') return afterSilence(state);
  return looksLikeCall(heard.text, deps.offer) ? { kind: 'written_call' } : { kind: 'answered' };
}

type Heard = { readonly text: string; readonly calls: readonly ToolCall[] } | { readonly failed: unknown; readonly text: string };

async function listen(messages: readonly Message[], state: LoopState, { model, offer, signal, say }: LoopDeps): Promise<Heard> {
  let text = '';
  const calls: ToolCall[] = [];
  try {
    for await (const part of untilAborted(model.send(messages, offer.tools, signal), signal)) {
      if ('call' in part) calls.push({ ...part.call, id: ownId(part.call.id, state, calls) });
      else {
        text += part.text;
        state.said += part.text;
        say(part.text);
      }
      if (text.length > mostText) break;
    }
  } catch (thrown) {
    return { failed: thrown, text };
  }
  return { text, calls };
}

/** Ends with the signal, whether or not the stream does. */
async function* untilAborted<T>(stream: AsyncIterable<T>, signal: AbortSignal): AsyncGenerator<T> {
  const iterator = stream[Symbol.asyncIterator]();
  const aborted = Promise.withResolvers<undefined>();
  const abort = () => aborted.resolve(undefined);
  signal.addEventListener('abort', abort, { once: true });
  if (signal.aborted) abort();
  try {
    for (;;) {
      const next = await Promise.race([iterator.next(), aborted.promise]);
      if (next === undefined || next.done === true) return;
      yield next.value;
    }
  } finally {
    signal.removeEventListener('abort', abort);
    // What it still does nobody hears.
    iterator.return?.()?.then(undefined, () => undefined);
  }
}

/** Calls and answers are matched by it: one that is missing, or was there before, would mix them up. */
function ownId(given: string, { now }: LoopState, calls: readonly ToolCall[]): string {
  const before = now.flatMap((message) => (message.from === 'model' ? message.calls : []));
  const all = [...before, ...calls];
  return given === '' || given.length > 200 || all.some(({ id }) => id === given) ? `call-${all.length + 1}` : given;
}

/** Providers have no common code for it. */
const tooLong =
  /context.{0,30}(?:length|window|exceed)|maximum.{0,40}tokens|too (?:long|many tokens|large)|token (?:limit|count)|exceed.{0,40}tokens/i;

/** What a model takes is what it says it does, or not: half of what was sent is tried once, where nothing was said yet. */
function afterFailure({ failed, text, sent }: { failed: unknown; text: string; sent: number }, state: LoopState): LoopEnd | undefined {
  const isTooLong = tooLong.test(failed instanceof Error ? failed.message : String(failed));
  if (!isTooLong || text !== '') return { kind: 'failed', thrown: failed };
  if (state.halved) return { kind: 'too_long' };
  state.halved = true;
  state.room = sent / 2;
  return undefined;
}

/** Small models fall silent after a tool's answer: asked once more, most speak. */
function afterSilence(state: LoopState): LoopEnd | undefined {
  if (state.nudged) return { kind: 'empty' };
  state.nudged = true;
  state.now.push({ from: 'person', text: 'Say in a few words what you found or did.' });
  return undefined;
}

/** `{"name": "banksman_get_vms", "arguments": …}` or `<tool_call>` in the place of a call. */
function looksLikeCall(text: string, { tools }: Offer): boolean {
  const trimmed = text.trim().replace(/^```\w*\s*/, '');
  if (!/^(?:[[{]|<\|?(?:tool_call|function|python_tag))/.test(trimmed)) return false;
  return tools.some(({ name }) => trimmed.includes(name) || trimmed.includes(`"${name.replace(/^banksman_/, '')}"`));
}

/** Runs them one after the other and tells the model. undefined: it goes on. */
async function runCalls(text: string, calls: readonly ToolCall[], state: LoopState, deps: LoopDeps): Promise<LoopEnd | undefined> {
  const answers: { id: string; text: string }[] = [];
  let stop: Stop | undefined;
  let useful = false;
  for (const [index, call] of calls.entries()) {
    const answer = index >= mostCalls ? notRun(`at most ${mostCalls} calls are run at once`) : await answerTo(call, stop, state, deps);
    const { summary, json } = resultText(answer.outcome);
    answers.push({ id: call.id, text: `${summary}${json}` });
    stop ??= answer.stop;
    useful ||= answer.ran;
  }
  state.now.push({ from: 'model', text, calls }, { from: 'tools', answers });
  if (stop?.end !== undefined) return stop.end;
  state.astray = useful ? 0 : state.astray + 1;
  return state.astray >= mostAstray ? { kind: 'astray' } : undefined;
}

/** Why the calls behind one are not run. */
interface Stop {
  readonly why: string;
  /** The loop ends, too. */
  readonly end?: LoopEnd;
}

interface Answer {
  readonly outcome: Outcome;
  /** It reached the pipeline, and was a call that can be. */
  readonly ran: boolean;
  readonly stop?: Stop;
}

function notRun(why: string, stop?: Stop): Answer {
  const outcome: Outcome = { status: 'error', code: 'not_run', message: `not run: ${why}; nothing was done` };
  return { outcome, ran: false, ...(stop === undefined ? {} : { stop }) };
}

async function answerTo(call: ToolCall, stop: Stop | undefined, state: LoopState, deps: LoopDeps): Promise<Answer> {
  if (stop !== undefined) return notRun(stop.why);
  const meaning = deps.offer.meaning(call.name, call.input);
  if ('outcome' in meaning) return { outcome: meaning.outcome, ran: false };
  const { run: tool, input } = meaning;
  const key = `${tool.name} ${keyOf(input)}`;
  const failure = state.failures.get(key);
  if (failure !== undefined && failure.times >= (mostSame[failure.last.outcome.status] ?? 1)) return sameAgain(failure);
  const outcome = await deps.call(tool, input);
  const done = { tool: tool.name, input, outcome };
  state.calls.push(done);
  if (outcome.status in mostSame) state.failures.set(key, { last: done, times: (failure?.times ?? 0) + 1, again: 0 });
  const after = stopAfter(done, deps.signal);
  return { outcome, ran: outcome.code !== 'invalid_input', ...(after === undefined ? {} : { stop: after }) };
}

function sameAgain(failure: Failure): Answer {
  failure.again += 1;
  const { last } = failure;
  const why = `exactly this call ended as \`${last.outcome.code}\` before; do not repeat it, tell the person`;
  return notRun(why, failure.again < mostAgain ? undefined : { why, end: { kind: 'repeats', call: last } });
}

function keyOf(input: unknown): string {
  try {
    return isJsonObject(input) ? canonicalJson(input) : String(input);
  } catch {
    return String(input);
  }
}

/** A person's answer, or that there is none yet, is about more than the one call. */
function stopAfter(done: DoneCall, signal: AbortSignal): Stop | undefined {
  const { status, code } = done.outcome;
  if (signal.aborted) return { why: 'the person cancelled', end: { kind: 'cancelled', unsure: isUnsure(done) ? [done] : [] } };
  if (status === 'pending') return { why: 'a call before it waits for a person', end: { kind: 'waits', call: done } };
  return code === 'denied_by_person' ? { why: 'the person refused a call before it; ask before you go on' } : undefined;
}

/** It left, and nobody has seen its end. */
function isUnsure({ outcome: { effect } }: DoneCall): boolean {
  return effect?.['state'] === 'sent' || (effect?.['state'] === 'task' && effect['last_seen'] !== 'ended');
}
