/** What a model is told: rules, what was said before, what is said now; and how all of it goes into the room that a model has. */

export interface ToolCall {
  readonly id: string;
  readonly name: string;
  /** As the model gave it: nobody has looked at it. */
  readonly input: unknown;
}

interface ToolAnswer {
  readonly id: string;
  readonly text: string;
}

/** `answers` follow the `model` message whose calls they answer, each call once. */
export type Message =
  | { readonly from: 'person'; readonly text: string }
  | { readonly from: 'model'; readonly text: string; readonly calls: readonly ToolCall[] }
  | { readonly from: 'tools'; readonly answers: readonly ToolAnswer[] };

export interface Conversation {
  readonly rules: string;
  /** Earlier exchanges, oldest first: each begins with the person's words. */
  readonly before: readonly (readonly Message[])[];
  /** The question, and what came of it so far. */
  readonly now: readonly Message[];
}

/**
 * An estimate that is rather too high: three characters of ASCII a token (JSON has about that), one of anything else. Asking the model's own tokenizer is a
 * request each, and some providers answer it with an estimate, too.
 */
export function tokensOf(text: string): number {
  const others = text.length - text.replace(/[^\0-\x7f]/g, '').length;
  return Math.ceil((text.length - others) / 3) + others;
}

/** Roles, ids and the frames that providers put around them. */
const perMessage = 12;

function sizeOf(message: Message): number {
  if (message.from === 'person') return perMessage + tokensOf(message.text);
  if (message.from === 'tools') return message.answers.reduce((sum, { text }) => sum + perMessage + tokensOf(text), 0);
  const calls = message.calls.reduce(
    (sum, { name, input }) => sum + perMessage + tokensOf(name) + tokensOf(JSON.stringify(input) ?? ''),
    0,
  );
  return perMessage + tokensOf(message.text) + calls;
}

/** In tokens, estimated. */
export function sizeOfAll(messages: readonly Message[]): number {
  return messages.reduce((sum, message) => sum + sizeOf(message), 0);
}

/** What stays of an answer that had to make room, in characters. */
const stub = 160;
/** The answers of the last round are what the model is to go on from: they keep this much, in characters. */
const leastOfLast = 1_000;

/**
 * The messages to send, in at most `room` tokens: earlier exchanges leave first, the oldest before the others; then earlier answers of tools are cut to their
 * first words, then those of the last round. undefined: even so it is too much, since the question itself is.
 */
export function fitted({ rules, before, now }: Conversation, room: number): readonly Message[] | undefined {
  const head: Message = { from: 'person', text: rules };
  const left = room - sizeOf(head);
  const cutters = [now, cutAnswers(now, stub, 'but last'), cutAnswers(now, leastOfLast, 'last'), cutAnswers(now, stub, 'last')];
  const kept = cutters.find((messages) => sizeOfAll(messages) <= left);
  if (kept === undefined) return undefined;
  return [head, ...newest(before, left - sizeOfAll(kept)), ...kept];
}

function newest(exchanges: readonly (readonly Message[])[], room: number): readonly Message[] {
  let left = room;
  const first = exchanges.findLastIndex((exchange) => {
    left -= sizeOfAll(exchange);
    return left < 0;
  });
  return exchanges.slice(first + 1).flat();
}

/** @param which `last`: those of the last round are cut to `length`, too, the others to a stub */
function cutAnswers(messages: readonly Message[], length: number, which: 'last' | 'but last'): readonly Message[] {
  const last = messages.findLastIndex(({ from }) => from === 'tools');
  return messages.map((message, index) => {
    if (message.from !== 'tools' || (index === last && which === 'but last')) return message;
    const most = index === last ? length : stub;
    return { ...message, answers: message.answers.map(({ id, text }) => ({ id, text: cut(text, most) })) };
  });
}

function cut(text: string, most: number): string {
  if (text.length <= most) return text;
  return `${text.slice(0, most).toWellFormed()}… [${text.length - most} characters left out for want of room; call the tool again for less at a time]`;
}
