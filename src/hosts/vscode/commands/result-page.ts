/** A result as a page of markdown that a person reads; everything from outside is escaped. */
import type { Finding } from '#app/app';
import { isJsonObject, type JsonObject, type JsonValue } from '#kernel/json';
import type { Outcome } from '#kernel/outcome';
import { codeSpan, escapeMarkdown } from '../markdown.ts';
import { formatField } from './format-field.ts';

const maxColumns = 9;
const maxRows = 500;
/** What people look for first; the rest follows in the rows' own order. */
const firstColumns = [
  'vmid',
  'name',
  'node',
  'storage',
  'volid',
  'type',
  'status',
  'cpu',
  'mem',
  'maxmem',
  'disk',
  'maxdisk',
  'uptime',
  'tags',
];
/** Counters and copies of other columns; the model gets them all the same. */
const hiddenColumns = new Set(['id', 'netin', 'netout', 'diskread', 'diskwrite', 'template', 'memhost', 'pid']);

export function resultPage(title: string, outcome: Outcome): string {
  const body = outcome.result === undefined ? '' : valueMarkdown(outcome.result);
  return [`# ${escapeMarkdown(title)}`, escapeMarkdown(outcome.message), body].filter((part) => part !== '').join('\n\n');
}

const marks: Record<Finding['state'], string> = { ok: '✔ ok', warning: '⚠ warning', failed: '✘ failed' };

export function doctorPage(findings: readonly Finding[]): string {
  const rows = findings.map(({ topic, state, message }) => `| ${marks[state]} | ${escapeMarkdown(topic)} | ${escapeMarkdown(message)} |`);
  const remedies = findings.flatMap(({ topic, remedy }) =>
    remedy === undefined ? [] : [`- **${escapeMarkdown(topic)}**: ${escapeMarkdown(remedy)}`],
  );
  const table = ['| | Topic | Finding |', '|:--|:--|:--|', ...rows].join('\n');
  return ['# Banksman Doctor', table, ...(remedies.length === 0 ? [] : ['## What to do', remedies.join('\n')])].join('\n\n');
}

function valueMarkdown(value: JsonValue): string {
  if (Array.isArray(value)) return listMarkdown(value as readonly JsonValue[]);
  if (!isJsonObject(value)) return fieldText('', value);
  const facts = flatFacts(value).map(([name, item]) => `| ${escapeMarkdown(name)} | ${fieldText(name, item)} |`);
  const tables = Object.entries(value).filter((entry): entry is [string, readonly JsonValue[]] => isTable(entry[1]));
  const sections = tables.map(([name, rows]) => `## ${escapeMarkdown(name)}\n\n${listMarkdown(rows)}`);
  return [...(facts.length === 0 ? [] : [['| | |', '|:--|:--|', ...facts].join('\n')]), ...sections].join('\n\n');
}

/** `memory.used` beside `uptime`: one level of objects is laid out flat, tables come after. */
function flatFacts(value: JsonObject): [string, JsonValue | undefined][] {
  return Object.entries(value).flatMap(([name, item]): [string, JsonValue | undefined][] => {
    if (isTable(item)) return [];
    return isJsonObject(item) ? Object.entries(item).map(([inner, field]) => [`${name}.${inner}`, field]) : [[name, item]];
  });
}

function isTable(value: JsonValue | undefined): boolean {
  return Array.isArray(value) && value.some(isJsonObject);
}

function listMarkdown(values: readonly JsonValue[]): string {
  const rows = values.filter(isJsonObject);
  if (values.length === 0) return 'Nothing there.';
  const more = values.length > maxRows ? `\n\n${values.length - maxRows} more are not shown.` : '';
  if (rows.length !== values.length)
    return (
      values
        .slice(0, maxRows)
        .map((value) => `- ${fieldText('', value)}`)
        .join('\n') + more
    );
  const columns = columnsOf(rows);
  const lines = rows.slice(0, maxRows).map((row) => `| ${columns.map((column) => fieldText(column, row[column])).join(' | ')} |`);
  return [`| ${columns.map(escapeMarkdown).join(' | ')} |`, `|${columns.map(() => ':--|').join('')}`, ...lines].join('\n') + more;
}

/** Known ones first; columns in which every row says nothing (or 0) are left out. */
function columnsOf(rows: readonly JsonObject[]): string[] {
  const all = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const telling = all.filter(
    (column) => !hiddenColumns.has(column) && rows.some((row) => row[column] !== 0 && formatField(column, row[column]) !== ''),
  );
  const first = firstColumns.filter((column) => telling.includes(column));
  return [...first, ...telling.filter((column) => !first.includes(column))].slice(0, maxColumns);
}

function fieldText(name: string, value: JsonValue | undefined): string {
  const text = formatField(name.slice(name.lastIndexOf('.') + 1), value);
  if (typeof value !== 'object') return escapeMarkdown(text);
  // GFM: a pipe ends a cell even in a code span, unless escaped.
  return text === '' ? '' : codeSpan(text, 200).replaceAll('|', '\\|');
}
