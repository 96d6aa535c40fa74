/** Between the chat and a call: a tool’s outcome as text for a model (one summary line, then compact JSON), and who calls. */

import { createHash } from 'node:crypto';
import { chatAgent } from '#app/for-hosts';
import type { Agent } from '#kernel/agent';
import { canonicalJson, isJsonObject, type JsonObject, type JsonValue } from '#kernel/json';
import type { Outcome } from '#kernel/outcome';
import type { ModelTier } from '#kernel/tiers';

/**
 * Copilot writes a text part of more than 8,192 characters to a file and gives the model a pointer instead
 * (`github.copilot.chat.agent.largeToolResultsToDisk`); other callers have no limit. UTF-16 code units, both parts together.
 */
export const maxResultLength = 8000;
const maxSummaryLength = 2000;

interface ResultText {
  /** Ends with a newline: the parts reach the model with nothing between them. */
  readonly summary: string;
  readonly json: string;
}

export function resultText(outcome: Outcome): ResultText {
  const summary = `${cut(oneLine(outcome), maxSummaryLength - 1)}\n`;
  return { summary, json: fitJson(outcome, maxResultLength - summary.length) };
}

function oneLine(outcome: Outcome): string {
  const said = outcome.status === 'ok' ? outcome.message : `${outcome.status.toUpperCase()} (${outcome.code}): ${outcome.message}`;
  if (outcome.request_id === undefined && outcome.next === undefined) return onOneLine(said);
  const request = outcome.request_id === undefined ? '' : ` Request ${outcome.request_id}.`;
  const next = outcome.next === undefined ? '' : ` Next: ${outcome.next}`;
  return onOneLine(`${said.trimEnd().replace(/[^.!?…]$/, '$&.')}${request}${next}`);
}

function onOneLine(text: string): string {
  return text.replace(/\s*[\r\n]\s*/g, ' ');
}

function fitJson(outcome: Outcome, room: number): string {
  const whole = JSON.stringify(outcome);
  if (whole.length <= room) return whole;
  // The summary holds them already; what is left of the room belongs to the result.
  const { message: _message, next: _next, ...rest } = outcome;
  return (
    fitRows(rest, room) ??
    `${cut(JSON.stringify(rest), room - 160)}\n[cut: ${whole.length} characters in all; the JSON above is not complete]`
  );
}

/** Keeps as many rows of the result's longest list as fit, and says how many there were. */
function fitRows(outcome: JsonObject, room: number): string | undefined {
  const list = longestList(outcome.result);
  if (!list) return undefined;
  const withRows = (count: number) =>
    JSON.stringify({ ...outcome, cut: cutNote(count, list.rows.length), result: list.put(list.rows.slice(0, count)) });
  let [fits, tooMany] = [0, list.rows.length];
  if (withRows(0).length > room) return undefined;
  while (tooMany - fits > 1) {
    const middle = (fits + tooMany) >> 1;
    if (withRows(middle).length <= room) fits = middle;
    else tooMany = middle;
  }
  return withRows(fits);
}

function cutNote(shown: number, all: number): string {
  return `only the first ${shown} of ${all} rows fit; ask again with a smaller \`limit\`, a \`cursor\` or a \`filter\``;
}

interface FoundList {
  readonly rows: readonly JsonValue[];
  put(rows: readonly JsonValue[]): JsonValue;
}

function longestList(result: JsonValue | undefined): FoundList | undefined {
  if (Array.isArray(result)) return { rows: result as readonly JsonValue[], put: (rows) => rows };
  if (!isJsonObject(result)) return undefined;
  const lists = Object.entries(result).flatMap(([key, value]) =>
    Array.isArray(value) ? [{ key, rows: value as readonly JsonValue[] }] : [],
  );
  const longest = lists.sort((a, b) => JSON.stringify(b.rows).length - JSON.stringify(a.rows).length)[0];
  if (!longest) return undefined;
  return { rows: longest.rows, put: (rows) => ({ ...result, [longest.key]: rows }) };
}

/** Never through the middle of a surrogate pair. */
function cut(text: string, length: number): string {
  if (text.length <= length) return text;
  return `${text.slice(0, Math.max(0, length - 1)).replace(/[\ud800-\udbff]$/, '')}…`;
}

// Who calls through the chat (docs/design.md#words).

/**
 * The agent behind a language-model tool call. Its id is a hash of the chat session, which the opaque token happens to carry; a token is
 * neither secret nor checked by the editor, so it tells sessions apart and proves nothing. Callers that bring none (another extension's
 * `lm.invokeTool`) share one agent, `chat:unknown-caller`: the same after a restart, and no easier to get away with than any other.
 */
export function chatCaller(token: unknown, modelTier: ModelTier): Agent {
  const session = chatSession(token);
  if (session === undefined) return { ...chatAgent('unknown-caller', modelTier), label: 'no chat session' };
  return chatAgent(createHash('sha256').update(session).digest('hex').slice(0, 16), modelTier);
}

function chatSession(token: unknown): string | undefined {
  try {
    // Through JSON: what is left is data, with no getters or cycles.
    const data: unknown = JSON.parse(JSON.stringify(token) ?? 'null');
    if (!isJsonObject(data)) return undefined;
    return uriText(data.sessionResource) ?? canonicalJson(data);
  } catch {
    return undefined;
  }
}

/** A URI's parts only: its `external` and `fsPath` are caches that are there or not, `workingDirectory` beside it may change. */
function uriText(value: JsonValue | undefined): string | undefined {
  if (!isJsonObject(value) || typeof value.scheme !== 'string') return undefined;
  return canonicalJson(['scheme', 'authority', 'path', 'query'].map((part) => value[part] ?? ''));
}
