/** What a turn leaves behind for the next one: the editor keeps it with the chat, as JSON, and shows it to nobody else. */
import { requestIdPattern } from '#kernel/approval/request';
import { isJsonObject, type JsonObject, type JsonValue } from '#kernel/json';
import type { DoneCall } from './agent-loop.ts';
import type { Message } from './conversation.ts';

/** A call that waits for a person. */
export interface WaitingCall {
  readonly requestId: string;
  readonly tool: string;
  readonly input: JsonObject;
}

export interface TurnMemory {
  readonly said: string;
  /** `summary`: the outcome's one sentence. */
  readonly calls: readonly { readonly tool: string; readonly input: JsonObject; readonly summary: string }[];
  readonly waits?: WaitingCall;
  /** A call was refused, not by a person. */
  readonly refused?: true;
  /** Something in the workspace was changed, and can be undone. */
  readonly undoable?: true;
  /** It stopped at a bound, with more to do. */
  readonly unfinished?: true;
}

const mostSaid = 4_000;
const mostCalls = 20;
const longestInput = 1_000;
const longestSummary = 300;

/** Of a turn that called tools. Whatever is in it was made fit to leave before. */
export function remember(said: string, calls: readonly DoneCall[]): TurnMemory {
  const undoable = calls.some(({ outcome }) => isUndoable(outcome.result));
  const refused = calls.some(({ outcome: { status, code } }) => status === 'denied' && code !== 'denied_by_person');
  return {
    said: said.slice(0, mostSaid).toWellFormed(),
    calls: calls.slice(-mostCalls).map(({ tool, input, outcome }) => ({
      tool,
      input: smallInput(input),
      summary: `${outcome.status}: ${outcome.message}`.slice(0, longestSummary).toWellFormed(),
    })),
    ...(refused ? { refused } : {}),
    ...(undoable ? { undoable } : {}),
  };
}

/** `changes.run_id` of a command, `run_id` of a write. */
function isUndoable(result: JsonValue | undefined): boolean {
  if (!isJsonObject(result)) return false;
  return typeof result['run_id'] === 'string' || (isJsonObject(result['changes']) && typeof result['changes']['run_id'] === 'string');
}

function smallInput(input: unknown): JsonObject {
  return isJsonObject(input) && JSON.stringify(input).length <= longestInput ? input : {};
}

/** SECURITY: it lies in the editor's storage, where others write, too. All that is done with it goes through the pipeline, as a call of the model's would. */
export function recall(metadata: unknown): TurnMemory | undefined {
  const kept = isJsonObject(metadata) ? metadata['turn'] : undefined;
  if (!isJsonObject(kept) || typeof kept['said'] !== 'string') return undefined;
  const { waits } = kept;
  const call = isJsonObject(waits) ? waitingCall(waits) : undefined;
  return {
    said: kept['said'].slice(0, mostSaid),
    calls: objectsIn(kept['calls']).slice(-mostCalls).flatMap(doneBefore),
    ...(call === undefined ? {} : { waits: call }),
    ...(kept['refused'] === true ? { refused: true } : {}),
    ...(kept['undoable'] === true ? { undoable: true } : {}),
    ...(kept['unfinished'] === true ? { unfinished: true } : {}),
  };
}

function waitingCall({ requestId, tool, input }: JsonObject): WaitingCall | undefined {
  if (typeof requestId !== 'string' || !requestIdPattern.test(requestId) || !isToolName(tool) || !isJsonObject(input)) return undefined;
  return { requestId, tool, input };
}

function doneBefore({ tool, input, summary }: JsonObject): TurnMemory['calls'] {
  if (!isToolName(tool) || !isJsonObject(input) || typeof summary !== 'string') return [];
  return [{ tool, input: smallInput(input), summary: summary.slice(0, longestSummary) }];
}

/** One of this version or of another; a provider takes no name of another form. */
function isToolName(value: JsonValue | undefined): value is string {
  return typeof value === 'string' && /^[a-z][a-z0-9_]{0,50}$/.test(value);
}

function objectsIn(value: JsonValue | undefined): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter((item) => isJsonObject(item)) : [];
}

/** An earlier exchange as a model is told it: calls stay calls, or small models would write them as text. `turn` tells the ids of several apart. */
export function exchangeOf(prompt: string, memory: TurnMemory, turn: number): readonly Message[] {
  const calls = memory.calls.map(({ tool, input }, index) => ({ id: `t${turn}-${index}`, name: `banksman_${tool}`, input }));
  const answers = memory.calls.map(({ summary }, index) => ({ id: `t${turn}-${index}`, text: summary }));
  const said: Message[] = memory.said.trim() === '' ? [] : [{ from: 'model', text: memory.said, calls: [] }];
  const called: Message[] =
    calls.length === 0
      ? []
      : [
          { from: 'model', text: '', calls },
          { from: 'tools', answers },
        ];
  const end: Message[] = said.length + called.length === 0 ? [{ from: 'model', text: '(no answer)', calls: [] }] : said;
  return [{ from: 'person', text: prompt === '' ? '(nothing)' : prompt }, ...called, ...end];
}
