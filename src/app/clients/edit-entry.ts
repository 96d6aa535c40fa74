/**
 * One named entry in somebody else's configuration file: put in, changed or taken out, and every other byte stays. What comes out is read again
 * and compared with what went in; where the two differ by more than the entry, nothing is changed.
 */

import { applyEdits, modify, type ParseError, parse, printParseErrorCode } from 'jsonc-parser';
import { parse as parseToml } from 'smol-toml';
import { Fault, reasonOf } from '#kernel/errors';
import { canonicalJson } from '#kernel/json';
import { say } from '#kernel/text/message';
import { type Place, tomlTable } from './mcp-clients.ts';

/** @param entry undefined: it is taken out @returns the whole new text @throws {Fault} `not_editable` */
export function withEntry(text: string, place: Place, name: string, entry: object | undefined): string {
  const mark = text.startsWith('\ufeff') ? '\ufeff' : '';
  const before = text.slice(mark.length);
  const after = place.format === 'json' ? editJson(before, place.key, name, entry) : editToml(before, place.key, name, entry);
  const expected = contentWith(contentOf(before, place.format), place.key, name, entry);
  if (plainly(contentOf(after, place.format)) !== plainly(expected))
    throw notEditable('what would come out is not what was in it and the entry');
  return mark + after;
}

/** The entry that is there. @throws {Fault} `not_editable` */
export function entryIn(text: string, place: Place, name: string): unknown {
  const entries = contentOf(text.replace(/^\ufeff/, ''), place.format)[place.key];
  return isTable(entries) ? entries[name] : undefined;
}

/** In any order of keys; TOML's dates as text. */
function plainly(content: Table): string {
  return canonicalJson(JSON.parse(JSON.stringify(content)));
}

type Table = Readonly<Record<string, unknown>>;

function isTable(value: unknown): value is Table {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function contentOf(text: string, format: Place['format']): Table {
  const value = format === 'json' ? readJson(text) : readToml(text);
  if (!isTable(value)) throw notEditable('it holds no object');
  return value;
}

/** Where the last entry goes, its key goes, too. */
function contentWith(content: Table, key: string, name: string, entry: object | undefined): Table {
  const entries = content[key] ?? {};
  if (!isTable(entries)) throw notEditable(`\`${key}\` is no object`);
  const { [name]: _old, ...others } = entries;
  const { [key]: _entries, ...rest } = content;
  if (entry !== undefined) return { ...rest, [key]: { ...others, [name]: { ...entry } } };
  return Object.keys(others).length === 0 ? rest : { ...rest, [key]: others };
}

function readJson(text: string): unknown {
  if (text.trim() === '') return {};
  const errors: ParseError[] = [];
  const value: unknown = parse(text, errors, { allowTrailingComma: true });
  const [first] = errors;
  if (first === undefined) return value;
  const line = text.slice(0, first.offset).split('\n').length;
  throw notEditable(`line ${line}: ${printParseErrorCode(first.error)}`);
}

function editJson(text: string, key: string, name: string, entry: object | undefined): string {
  const left = contentWith(contentOf(text, 'json'), key, name, entry);
  const where = key in left ? [key, name] : [key];
  const indent = /^([ \t]+)\S/m.exec(text)?.[1] ?? '  ';
  const formattingOptions = {
    insertSpaces: !indent.startsWith('\t'),
    tabSize: indent.startsWith('\t') ? 1 : indent.length,
    eol: endOfLine(text),
  };
  const base = text.trim() === '' ? `{}${endOfLine(text)}` : text;
  return applyEdits(base, modify(base, where, entry, { formattingOptions }));
}

function readToml(text: string): unknown {
  try {
    return parseToml(text);
  } catch (thrown) {
    throw notEditable(reasonOf(thrown).split('\n')[0] ?? 'it is no TOML');
  }
}

/** A table of its own at the end; one that is there already goes with its lines, the comments between them included. */
function editToml(text: string, key: string, name: string, entry: object | undefined): string {
  const eol = endOfLine(text);
  const kept = withoutTable(text.split(/(?<=\n)/), `${key}.${name}`).join('');
  if (entry === undefined) return kept;
  const table = tomlTable(`${key}.${name}`, entry).replaceAll('\n', eol);
  const gap = kept === '' ? '' : kept.endsWith('\n') ? eol : eol + eol;
  return kept + gap + table;
}

/** With the empty line before it. */
function withoutTable(lines: readonly string[], table: string): readonly string[] {
  let inside = false;
  const isIts = lines.map((line) => {
    const header = /^\s*\[\[?\s*([^\]]+?)\s*\]/.exec(line)?.[1]?.replaceAll(/["'\s]/g, '');
    if (header !== undefined) inside = header === table || header.startsWith(`${table}.`);
    return inside;
  });
  return lines.filter((line, index) => !isIts[index] && !(line.trim() === '' && isIts[index + 1] === true));
}

function endOfLine(text: string): string {
  return text.includes('\r\n') ? '\r\n' : '\n';
}

function notEditable(why: string): Fault {
  return new Fault('not_editable', say`the file cannot be changed safely: ${why}`, {
    audience: 'user',
    next: 'correct the file, or write the entry into it by hand: `--print` prints it',
  });
}
