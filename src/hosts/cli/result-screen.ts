/** What a call found, for a person at a terminal: lists as tables, everything else as lines. Programs get JSON (`--json`, or a pipe). */
import type { WriteStream } from 'node:tty';
import { styleText } from 'node:util';
import { isJsonObject, type JsonObject, type JsonValue, wordOf } from '#kernel/json';
import { columnTitle, formatField, rowField } from '#kernel/text/result-fields';
import { showPlainly } from '#kernel/text/text';

export interface Screen {
  /** In cells. */
  readonly width: number;
  readonly colours: boolean;
}

/** Of standard output. Node asks NO_COLOR, FORCE_COLOR and TERM (tty.WriteStream.getColorDepth). */
export function screenOf(terminal: Pick<WriteStream, 'columns' | 'hasColors'>): Screen {
  // A terminal that does not know its size says 0.
  return { width: terminal.columns || 80, colours: terminal.hasColors() };
}

/** Lines. SECURITY: every text in them went through `showPlainly`: names and notes come from outside, and may hold what a terminal obeys. */
export function resultForPeople(result: JsonValue, screen: Screen): readonly string[] {
  return valueLines('', result, screen);
}

function valueLines(name: string, value: JsonValue | undefined, screen: Screen): readonly string[] {
  const rows = rowsOf(value);
  if (rows !== undefined) return tableLines(rows, screen);
  if (isJsonObject(value)) return fieldLines(value, screen);
  return plain(name, value);
}

/** A text of several lines stays one. */
function plain(name: string, value: JsonValue | undefined): readonly string[] {
  const lines = typeof value === 'string' ? value.trimEnd().split('\n') : [cellText(name, value)];
  return lines.map((line) => shown(line.replaceAll('\t', '  ')));
}

/** Longer than whatever a tool lets through. */
const longestLine = 100_000;

function shown(text: string): string {
  return showPlainly(text, longestLine).replaceAll('\u00a0', ' ');
}

interface Row {
  readonly fields: JsonObject;
  /** Of a row that is the value of a field: that field's name, which says what its numbers count. */
  readonly of?: string;
}

/** A list of objects; or an object of small flat ones, whose keys then are the first column. undefined: no table. */
function rowsOf(value: JsonValue | undefined): readonly Row[] | undefined {
  if (Array.isArray(value))
    return value.length > 0 && value.every(isJsonObject) ? value.map((fields: JsonObject) => ({ fields })) : undefined;
  if (!isJsonObject(value)) return undefined;
  const members = Object.entries(value);
  const isTable = members.length > 1 && members.every(([, member]) => isJsonObject(member) && isFlat(member) && !('name' in member));
  if (!isTable) return undefined;
  return members.map(([key, member]) => ({ fields: { name: key, ...(isJsonObject(member) ? member : {}) }, of: key }));
}

const mostColumnsOfMembers = 8;

function isFlat(value: JsonObject): boolean {
  const members = Object.values(value);
  return !isSet(value) && members.length <= mostColumnsOfMembers && members.every((member) => typeof member !== 'object');
}

/** Short fields first, as aligned lines; then each long one under its name. */
function fieldLines(value: JsonObject, screen: Screen): readonly string[] {
  const fields = Object.entries(value).filter(([key, field]) => field !== undefined && !isCount(key, field, value));
  const short = fields.filter(([, field]) => isShort(field));
  const width = Math.max(0, ...short.map(([key]) => cells(titleOf(key))));
  const lines = short.map(([key, field]) => {
    const text = shown(cellText(key, field)) || 'none';
    return `${padded(titleOf(key), width)}  ${coloured(text, text, key, screen)}`;
  });
  const long = fields.filter(([, field]) => !isShort(field));
  const only = long.length === 1 && short.length === 0;
  const under = long.flatMap(([key, field]) => {
    if (only) return valueLines(key, field, screen);
    const inside = valueLines(key, field, { ...screen, width: screen.width - 2 });
    return ['', `${titleOf(key)}:`, ...inside.map((line) => `  ${line}`)];
  });
  return [...lines, ...(short.length === 0 && !only ? under.slice(1) : under)];
}

/** A path (of a right) is no name of a field. */
function titleOf(key: string): string {
  return shown(/^[\w-]+$/.test(key) ? columnTitle(key) : key);
}

/** `total`, where the list beside it is all there. */
function isCount(key: string, field: JsonValue | undefined, others: JsonObject): boolean {
  return key === 'total' && Object.values(others).some((other) => Array.isArray(other) && other.length === field);
}

function isShort(field: JsonValue | undefined): boolean {
  if (typeof field === 'string') return !field.trimEnd().includes('\n');
  if (Array.isArray(field)) return field.every((item) => typeof item !== 'object');
  return !isJsonObject(field) || isSet(field) || typeof field['used'] === 'number';
}

/** Privileges: each is there, and that is all. Also where there is nothing. */
function isSet(field: JsonObject): boolean {
  return Object.values(field).every((member) => member === true);
}

/** Counted in bytes, as those that the fields' page knows. */
const counters = /^(?:net(?:in|out)|disk(?:read|write)|memhost)$/;

/** Times in s, as `ctime`. */
const spans = /^(?:from|to)$/;

function cellText(name: string, value: JsonValue | undefined): string {
  if (typeof value === 'number' && counters.test(name)) return formatField('size', value);
  if (typeof value === 'number' && spans.test(name)) return formatField('ctime', value);
  if (typeof value === 'number' && !Number.isInteger(value)) return formatField(name, Math.round(value * 1000) / 1000);
  if (Array.isArray(value)) return value.map((item: JsonValue) => cellText(name, item)).join(', ');
  if (!isJsonObject(value) || typeof value['used'] === 'number') return formatField(name, value);
  const members = Object.entries(value);
  return members.map(([key, member]) => (member === true ? key : `${key} ${cellText(key, member)}`)).join(', ');
}

interface Column {
  readonly name: string;
  readonly title: string;
  readonly texts: readonly string[];
  /** Numbers stand at the right and are never cut. */
  readonly isNumber: boolean;
  readonly width: number;
  /** The highest goes first where there is no room. */
  readonly spare: number;
}

const gap = '  ';
const narrowest = 8;

function tableLines(rows: readonly Row[], screen: Screen): readonly string[] {
  const names = [...new Set(rows.flatMap(({ fields }) => Object.keys(fields)))];
  const all = names.filter((name) => !isToldElsewhere(name, rows)).map((name) => columnOf(name, rows));
  const columns = fitted(
    all.filter(({ texts }) => texts.some((text) => text !== '')),
    screen.width,
  );
  const line = (cell: (column: Column) => string) => columns.map(cell).join(gap).trimEnd();
  const title = (column: Column) => styled('bold', aligned(cut(column.title, column.width), column), screen);
  const body = rows.map((_, index) =>
    line((column) => {
      const text = cut(column.texts[index] ?? '', column.width);
      return coloured(text, aligned(text, column), column.name, screen);
    }),
  );
  const left = all.filter((column) => column.texts.some((text) => text !== '') && !columns.some(({ name }) => name === column.name));
  const note = `\`--json\` has the rest: ${left.map((column) => column.title).join(', ')}`;
  return [line(title), ...body, ...(left.length === 0 ? [] : [styled('dim', cut(note, screen.width), screen)])];
}

/** `qemu/100` beside `qemu` and `100`; the whole of what is in use, which its cell names; what the status says. */
function isToldElsewhere(name: string, rows: readonly Row[]): boolean {
  const beside = (other: string) => rows.some(({ fields }) => fields[other] !== undefined);
  if (name === 'maxmem' || name === 'maxdisk') return beside(name.slice(3));
  if (name === 'template' || name === 'lock') return beside('status');
  return rows.every(({ fields }) => {
    const { [name]: value, ...others } = fields;
    if (typeof value !== 'string' || !value.includes('/')) return false;
    return value.split('/').every((part) => Object.values(others).some((other) => wordOf(other) === part));
  });
}

function columnOf(name: string, rows: readonly Row[]): Column {
  const texts = rows.map((row) => shown(tableCell(name, row)));
  const title = titleOf(name);
  const values = rows.map(({ fields }) => fields[name]).filter((value) => value !== undefined && value !== null);
  const isNumber = values.every((value) => typeof value === 'number');
  const spare = spareOf(name, texts, isNumber);
  return { name, title, texts, isNumber, spare, width: Math.max(cells(title), ...texts.map(cells)) };
}

/** Counters first, then what is the same everywhere, then plain numbers, and names too long to be read when cut (a task's, a volume's). */
function spareOf(name: string, texts: readonly string[], isNumber: boolean): number {
  if (counters.test(name)) return 3;
  if (texts.length > 2 && new Set(texts).size === 1 && !stateFields.test(name)) return 2;
  const isPlain = isNumber && name !== 'vmid' && texts.every((text) => /^\d*$/.test(text));
  return isPlain || texts.some((text) => /^[!-~]{32,}$/.test(text)) ? 1 : 0;
}

function tableCell(name: string, { fields, of }: Row): string {
  const value = fields[name];
  if (of !== undefined) return cellText(typeof value === 'number' ? of : name, value);
  const isOwn =
    counters.test(name) || typeof value === 'object' || (typeof value === 'number' && !Number.isInteger(value) && name !== 'cpu');
  return isOwn ? cellText(name, value) : rowField(fields, name);
}

/** Whole columns go before texts are cut to less than a word; one stays. */
function fitted(columns: readonly Column[], room: number): readonly Column[] {
  const total = (all: readonly Column[], width: (column: Column) => number) =>
    all.reduce((sum, column) => sum + width(column) + gap.length, -gap.length);
  const least = ({ isNumber, width }: Column) => (isNumber ? width : Math.min(width, narrowest));
  let kept = columns;
  const drop = (spare: number): boolean => {
    const index = kept.findLastIndex((column) => column.spare >= spare);
    if (index < 0 || kept.length === 1) return false;
    kept = kept.toSpliced(index, 1);
    return true;
  };
  for (const spare of [3, 2, 1]) while (total(kept, ({ width }) => width) > room && drop(spare));
  while (total(kept, least) > room && drop(0));
  while (total(kept, ({ width }) => width) > room) {
    const widest = Math.max(...kept.map((column) => (column.width > least(column) ? column.width : 0)));
    // One column, and the terminal is narrower than its text may become.
    if (widest === 0) break;
    const index = kept.findIndex((column) => column.width === widest && column.width > least(column));
    kept = kept.map((column, at) => (at === index ? { ...column, width: column.width - 1 } : column));
  }
  return kept;
}

function aligned(text: string, { isNumber, width }: Column): string {
  return isNumber ? `${' '.repeat(Math.max(0, width - cells(text)))}${text}` : padded(text, width);
}

export function padded(text: string, width: number): string {
  return `${text}${' '.repeat(Math.max(0, width - cells(text)))}`;
}

export function cut(text: string, width: number): string {
  if (cells(text) <= width) return text;
  let kept = '';
  for (const { segment } of graphemes.segment(text)) {
    if (cells(kept + segment) >= width) break;
    kept += segment;
  }
  return `${kept}…`;
}

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });

/** Two cells each: emoji, and the scripts and forms that UAX #11 calls wide or fullwidth. */
const wide =
  /(?![\uff61-\uffdc])[\p{Emoji_Presentation}\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Hang}\p{scx=Bopo}\u3000-\u303e\uff01-\uff60\uffe0-\uffe6]/u;

/** How many cells of a terminal a text takes that `showPlainly` let through. */
export function cells(text: string): number {
  if (/^[ -~]*$/.test(text)) return text.length;
  let sum = 0;
  for (const { segment } of graphemes.segment(text)) sum += wide.test(segment) ? 2 : 1;
  return sum;
}

const stateFields = /^(?:.*-)?(?:status|state|health|online|quorate|certificate|allowed)$/;

/** By the state's first word. One that is not here has no colour. */
const stateColours: ReadonlyMap<string, 'green' | 'yellow' | 'red' | 'gray'> = new Map([
  ...['active', 'available', 'enabled', 'healthy', 'ok', 'online', 'pinned', 'running', 'started', 'yes'].map(
    (word) => [word, 'green'] as const,
  ),
  ...['degraded', 'locked', 'paused', 'pending', 'suspended', 'unknown', 'warnings'].map((word) => [word, 'yellow'] as const),
  ...['critical', 'denied', 'error', 'failed', 'no', 'offline', 'unhealthy'].map((word) => [word, 'red'] as const),
  ...['dead', 'disabled', 'inactive', 'stopped', 'template', 'unseen'].map((word) => [word, 'gray'] as const),
]);

/** @param as what is printed: the text with what aligns it */
function coloured(text: string, as: string, name: string, screen: Screen): string {
  const colour = stateFields.test(name) ? stateColour(text) : undefined;
  return colour === undefined ? as : styled(colour, as, screen);
}

/** The colour of a state, as `running` or `WARNINGS: 1`. */
export function stateColour(text: string): Parameters<typeof styleText>[0] | undefined {
  return stateColours.get(/^[a-z]+/.exec(text.toLowerCase())?.[0] ?? '');
}

export function styled(style: Parameters<typeof styleText>[0], text: string, { colours }: Screen): string {
  return colours && text !== '' ? styleText(style, text, { validateStream: false }) : text;
}
