/** A result as a page of markdown that a person reads; everything from outside is escaped. */
import type { Finding } from '#app/app';
import { isJsonObject, type JsonObject, type JsonValue } from '#kernel/json';
import type { Outcome } from '#kernel/outcome';
import { codeSpan, escapeMarkdown } from '../markdown.ts';
import { formatField } from './format-field.ts';

const maxColumns = 10;
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
  if (!isJsonObject(value)) return codeSpan(formatField('', value), 1000);
  const entries = Object.entries(value).filter((entry): entry is [string, JsonValue] => entry[1] !== undefined);
  const plain = entries.filter(([, item]) => !isTable(item));
  const tables = entries.filter(([, item]) => isTable(item)).map(([key, item]) => `## ${escapeMarkdown(key)}\n\n${valueMarkdown(item)}`);
  const facts =
    plain.length === 0
      ? []
      : [['| | |', '|:--|:--|', ...plain.map(([key, item]) => `| ${escapeMarkdown(key)} | ${cell(key, item)} |`)].join('\n')];
  return [...facts, ...tables].join('\n\n');
}

function isTable(value: JsonValue): boolean {
  return Array.isArray(value) && value.some(isJsonObject);
}

function listMarkdown(values: readonly JsonValue[]): string {
  const rows = values.filter(isJsonObject);
  if (values.length === 0) return 'Nothing there.';
  if (rows.length !== values.length)
    return values
      .slice(0, maxRows)
      .map((value) => `- ${cell('', value)}`)
      .join('\n');
  const columns = columnsOf(rows);
  const lines = rows.slice(0, maxRows).map((row) => `| ${columns.map((column) => cell(column, row[column])).join(' | ')} |`);
  const more = rows.length > maxRows ? `\n\n${rows.length - maxRows} more rows are not shown.` : '';
  return [`| ${columns.map(escapeMarkdown).join(' | ')} |`, `|${columns.map(() => ':--|').join('')}`, ...lines].join('\n') + more;
}

function columnsOf(rows: readonly JsonObject[]): string[] {
  const all = [...new Set(rows.flatMap((row) => Object.keys(row)))].filter((column) => !hiddenColumns.has(column));
  const first = firstColumns.filter((column) => all.includes(column));
  return [...first, ...all.filter((column) => !first.includes(column))].slice(0, maxColumns);
}

function cell(name: string, value: JsonValue | undefined): string {
  const text = formatField(name, value);
  // GFM: a pipe ends a cell even in a code span, unless escaped.
  return text === '' ? '' : codeSpan(text, 200).replaceAll('|', '\\|');
}
