/**
 * Compares an answer with a recorded one: what may differ are times, numbers of processes, load figures and key order. Everything else
 * is compared: status, reason phrase, content type, `errors`, message, key sets, value types, and the values that a client decides by.
 */

import type { Recording } from './recordings.ts';

/** What came over the wire, nothing interpreted but JSON. */
export interface WireAnswer {
  readonly status: number;
  readonly statusMessage: string;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: unknown;
}

/** Every difference between an answer and the recorded one, one line each. */
export function compareAnswers({ response, rowsInAll }: Recording, answer: WireAnswer): string[] {
  const { status, statusMessage, contentType, body } = response;
  const type = answer.headers['content-type'] ?? null;
  const found: string[] = [];
  if (answer.status !== status)
    found.push(`status: recorded ${status} ${statusMessage ?? ''}, answered ${answer.status} ${answer.statusMessage}`);
  else if (statusMessage !== undefined && answer.statusMessage !== statusMessage)
    found.push(`reason: recorded ${statusMessage}, answered ${answer.statusMessage}`);
  if (contentType !== undefined && type !== contentType) found.push(`content type: recorded ${contentType}, answered ${String(type)}`);
  if ((answer.headers['connection'] === 'close') !== status >= 400)
    found.push(`connection: answered ${String(answer.headers['connection'])}`);
  return [...found, ...(rowsInAll === undefined ? differences(body, answer.body) : cutDifferences(body, answer.body))];
}

/** A list that was cut when it was recorded: each of its rows must have one of the same shape. */
function cutDifferences(recorded: unknown, answered: unknown): string[] {
  const rows = (body: unknown): readonly unknown[] => (isObject(body) && Array.isArray(body['data']) ? body['data'] : []);
  const shapes = new Set(rows(answered).map(shapeOf));
  return [...new Set(rows(recorded).map(shapeOf))].filter((shape) => !shapes.has(shape)).map((shape) => `body: no row like ${shape}`);
}

/** Fields whose value must be the recorded one, wherever they occur. */
const exactFields = new Set([
  'exitstatus',
  'status',
  'type',
  'subtype',
  'id',
  'user',
  'tokenid',
  'node',
  'name',
  'hostname',
  'quorate',
  'online',
  'local',
  'nodes',
  'nodeid',
  'vmid',
  'template',
  'level',
  'qmpstatus',
  'lock',
  'tags',
  't',
  'n',
  'message',
  'errors',
  'content',
  'format',
  'notes',
  'volid',
  'storage',
  'plugintype',
  'shared',
  'enabled',
  'active',
  'version',
  'release',
  'repoid',
  'username',
  'clustername',
  'agent',
  'memory',
  'cores',
  'ostype',
  'managed',
  'data',
  'cpus',
  'maxcpu',
  'ip',
  'active-state',
  'allowed-tags',
  'crm_state',
  'desc',
  'hastate',
  'path',
  'pool',
  'poolid',
  'propagate',
  'registered-tags',
  'request_state',
  'roleid',
  'service',
  'sid',
  'state',
  'subdir',
  'ugid',
  'unit-state',
]);

/** Details of the hypervisor and the container runtime, for which the lab had stand-ins: no evidence either way. */
const hypervisor = /^(?:blockstat|nics|proxmox-support|running-machine|running-qemu|diskread|diskwrite|balloon\w*|freemem|pressure\w+)$/;

/** A machine's own: results under random keys, the addresses in its certificate. */
const local = new Set(['results', 'san']);

/** Objects of which every value must be the recorded one. */
const exactObjects = new Set(['errors', 'cap']);

/** Every difference, one line each. */
export function differences(recorded: unknown, answered: unknown, path = 'body', exact = false): string[] {
  if (Array.isArray(recorded) && Array.isArray(answered)) return listDifferences(recorded, answered, path, exact);
  if (isObject(recorded) && isObject(answered)) return objectDifferences(recorded, answered, path, exact);
  if (typeOf(recorded) !== typeOf(answered)) return [`${path}: recorded ${show(recorded)}, answered ${show(answered)}`];
  if (exact && stable(recorded) !== stable(answered)) return [`${path}: recorded ${show(recorded)}, answered ${show(answered)}`];
  return [];
}

function objectDifferences(recorded: Fields, answered: Fields, path: string, exact: boolean): string[] {
  const missing = Object.keys(recorded)
    .filter((key) => !Object.hasOwn(answered, key) && !hypervisor.test(key))
    .map((key) => `${path}.${key}: missing, recorded ${show(recorded[key])}`);
  const extra = Object.keys(answered)
    .filter((key) => !Object.hasOwn(recorded, key) && !hypervisor.test(key))
    .map((key) => `${path}.${key}: not recorded, answered ${show(answered[key])}`);
  const common = Object.keys(recorded).filter((key) => Object.hasOwn(answered, key) && !hypervisor.test(key) && !local.has(key));
  return [
    ...missing,
    ...extra,
    ...common.flatMap((key) => differences(recorded[key], answered[key], `${path}.${key}`, isExact(key, recorded, exact))),
  ];
}

function isExact(key: string, recorded: Fields, parentExact: boolean): boolean {
  // How many tasks there were before depends on what else was recorded.
  if (key === 'total' && typeof recorded[key] === 'number' && recorded[key] > 3) return false;
  // The kernel is the machine's.
  if (recorded['sysname'] !== undefined) return false;
  // Paths of `/access/permissions`.
  if (key.startsWith('/')) return true;
  return parentExact || exactObjects.has(key) || (exactFields.has(key) && !isObject(recorded[key]));
}

/** Rows are matched by what they are about. Rows of tasks are not: there only the set of row shapes counts. */
function listDifferences(recorded: readonly unknown[], answered: readonly unknown[], path: string, exact: boolean): string[] {
  if (recorded.some((row) => isObject(row) && 'upid' in row)) return shapeDifferences(recorded, answered, path);
  if (recorded.some(isLogLine)) return logDifferences(recorded, answered, path);
  if (recorded.length !== answered.length) return [`${path}: recorded ${recorded.length} rows, answered ${answered.length}`];
  const rows = new Map(answered.map((row, index) => [identity(row, index), row]));
  return recorded.flatMap((row, index) => {
    const key = identity(row, index);
    return rows.has(key) ? differences(row, rows.get(key), `${path}[${key}]`, exact && !isObject(row)) : [`${path}: no row ${key}`];
  });
}

/** A line of a task's log: its number and its text. */
function isLogLine(row: unknown): boolean {
  return isObject(row) && 't' in row && 'n' in row;
}

/** What a copy reports while it goes on, and its figures at the end: how often depends on how long it takes. */
const progress = /^INFO: {1,3}\d+% \(|\d+\+\d+ records |\d+ bytes .* copied, /;

function logDifferences(recorded: readonly unknown[], answered: readonly unknown[], path: string): string[] {
  const linesOf = (rows: readonly unknown[]) =>
    rows.map((row) => (isObject(row) ? String(row['t']) : '')).filter((line) => !progress.test(line));
  const [wanted, got] = [linesOf(recorded), linesOf(answered)];
  const numbered = answered.every((row, index) => isObject(row) && row['n'] === Number((answered[0] as Fields)['n']) + index);
  return [
    ...(wanted.length === got.length ? [] : [`${path}: recorded ${wanted.length} lines, answered ${got.length}`]),
    ...(numbered ? [] : [`${path}: the lines are not numbered in order`]),
    ...wanted.flatMap((line, index) => differences(line, got[index] ?? '', `${path}[${index}].t`, true)),
  ];
}

function identity(row: unknown, index: number): string {
  if (!isObject(row)) return String(index);
  const keys = [
    'id',
    'volid',
    'vmid',
    'storage',
    'service',
    'key',
    'sid',
    'poolid',
    'subdir',
    'iface',
    'filename',
    'userid',
    'node',
    'ugid',
    'name',
  ];
  const key = keys.find((name) => row[name] !== undefined);
  return key === undefined ? String(index) : String(row[key]);
}

function shapeDifferences(recorded: readonly unknown[], answered: readonly unknown[], path: string): string[] {
  const wanted = new Set(recorded.map(shapeOf));
  const got = new Set(answered.map(shapeOf));
  return [
    ...[...wanted].filter((shape) => !got.has(shape)).map((shape) => `${path}: no row like ${shape}`),
    ...[...got].filter((shape) => !wanted.has(shape)).map((shape) => `${path}: a row of its own ${shape}`),
  ];
}

function shapeOf(row: unknown): string {
  if (!isObject(row)) return typeOf(row);
  return Object.keys(row)
    .sort()
    .map((key) => `${key}:${typeOf(row[key])}`)
    .join(' ');
}

type Fields = Readonly<Record<string, unknown>>;

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function typeOf(value: unknown): string {
  return value === null ? 'null' : typeof value;
}

/** A value with times, process numbers and random order taken out. */
function stable(value: unknown): unknown {
  if (typeof value !== 'string') return value;
  // The order of a storage's content types changes from call to call.
  if (/^[a-z]+(?:,[a-z]+)+$/.test(value)) return value.split(',').sort().join(',');
  return withoutFigures(value)
    .replace(/UPID:([^:]*):[0-9A-F]{8}:[0-9A-F]{8,9}:[0-9A-F]{8}:/g, 'UPID:$1:…:')
    .replace(/\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4}/g, 'date')
    .replace(/\d{4}-\d\d-\d\d(?: \d\d:\d\d:\d\d)?/g, 'date');
}

function show(value: unknown): string {
  return (JSON.stringify(value) ?? 'nothing').slice(0, 160);
}

/** A log line without what differs between two runs: sizes, speeds, durations, identities, the order of a command line's options. */
function withoutFigures(line: string): string {
  const [, job, options = ''] = /^(INFO: starting new backup job: vzdump[ \d]*)(.*)$/.exec(line) ?? [];
  if (job !== undefined) return `${job.trim()} ${options.split(/ ?--/).sort().join(' --').trim()}`;
  return line
    .replace(/\d{4}_\d\d_\d\d-\d\d_\d\d_\d\d/g, 'date')
    .replace(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/gi, 'uuid')
    .replace(/SHA256:\S+/g, 'fingerprint')
    .replace(/\(duration \d\d:\d\d:\d\d\)|\(\d\d:\d\d:\d\d\)$/g, 'duration')
    .replace(/\d+\+\d+ records/g, 'records')
    .replace(/copied, .*$/, 'copied')
    .replace(/(Total bytes (?:read|written): |archive file size: |transferred |backup is sparse: ).*$/, '$1figure')
    .replace(/after (?:<1|\d+) seconds/, 'after some seconds')
    .replace(/(saving the VM state in ).*$/, '$1figures');
}
