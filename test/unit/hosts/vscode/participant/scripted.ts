/** A model that says what a test wrote down, round by round, and a pipeline that answers by a table. */
import { describeTools } from '#app/catalog';
import { type DoneCall, type LoopResult, type Model, type ModelPart, runLoop } from '#hosts/vscode/participant/agent-loop';
import type { Conversation, Message, ToolCall } from '#hosts/vscode/participant/conversation';
import { type Circumstances, offerFor } from '#hosts/vscode/participant/offer';
import type { Outcome } from '#kernel/outcome';

export const here: Circumstances = { tier: 'intermediate', clusters: 1, hasWorkspace: true, looksOnly: false, first: [], room: 100_000 };

export const ok = (message = 'done'): Outcome => ({ status: 'ok', code: 'ok', message, result: { fine: true } });
export const denied = (code = 'protected_resource'): Outcome => ({ status: 'denied', code, message: 'it is protected' });

let calls = 0;
export function call(name: string, input: unknown = {}): { readonly call: ToolCall } {
  calls += 1;
  return { call: { id: `id-${calls}`, name: `banksman_${name}`, input } };
}

export type Round = readonly ModelPart[] | Error | ((messages: readonly Message[]) => readonly ModelPart[]);

export interface Scripted {
  readonly model: Model;
  /** What it was sent, a round each. */
  readonly sent: (readonly Message[])[];
}

/** The last round is repeated for ever. */
export function scripted(rounds: readonly Round[], room = 100_000): Scripted {
  const sent: (readonly Message[])[] = [];
  return {
    sent,
    model: {
      room,
      async *send(messages) {
        sent.push(messages);
        await Promise.resolve();
        const round = rounds[Math.min(sent.length, rounds.length) - 1] ?? [];
        if (round instanceof Error) throw round;
        yield* typeof round === 'function' ? round(messages) : round;
      },
    },
  };
}

export interface Asked {
  readonly before?: Conversation['before'];
  readonly question?: string;
  readonly here?: Partial<Circumstances>;
  readonly signal?: AbortSignal;
  readonly opening?: readonly ToolCall[];
  outcome?(tool: string, input: unknown, done: readonly DoneCall[]): Outcome | Promise<Outcome>;
}

export interface Result extends LoopResult {
  readonly heard: string;
}

export async function ask(model: Model, asked: Asked = {}): Promise<Result> {
  let heard = '';
  const done: DoneCall[] = [];
  const result = await runLoop(
    { rules: 'RULES', before: asked.before ?? [], now: [{ from: 'person', text: asked.question ?? 'what runs?' }] },
    {
      model,
      offer: offerFor(describeTools(), { ...here, ...asked.here }),
      signal: asked.signal ?? new AbortController().signal,
      async call(tool, input) {
        const outcome = await (asked.outcome?.(tool.name, input, done) ?? ok());
        done.push({ tool: tool.name, input, outcome });
        return outcome;
      },
      say: (text) => {
        heard += text;
      },
    },
    asked.opening,
  );
  return { ...result, heard };
}

/** What the model was told its calls came to, in the round `index`. */
export function toldIn({ sent }: Scripted, index: number): readonly string[] {
  const last = sent[index]?.findLast(({ from }) => from === 'tools');
  return last?.from === 'tools' ? last.answers.map(({ text }) => text) : [];
}
