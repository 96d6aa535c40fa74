/** A tool's outcome as text for a model: one summary line, then compact JSON (limits: see `maxResultLength`). */
import { isJsonObject, type JsonObject, type JsonValue } from '#kernel/json';
import type { Outcome } from '#kernel/outcome';

/**
 * Copilot writes a text part of more than 8,192 characters to a file and gives the model a pointer instead
 * (`github.copilot.chat.agent.largeToolResultsToDisk`); other callers have no limit. UTF-16 code units, both parts together.
 */
export const maxResultLength = 8000;
const maxSummaryLength = 2000;

export interface ResultText {
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
