/**
 * Compares an answer with a recorded one: what may differ are times, numbers of processes, load figures and key order. Everything else
 * is compared: status, reason phrase, content type, `errors`, message, key sets, value types, and the values that a client decides by.
 */

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
  'total',
  'maxmem',
  'maxdisk',
  'cpus',
  'maxcpu',
  'ip',
]);

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
    .filter((key) => !Object.hasOwn(answered, key))
    .map((key) => `${path}.${key}: missing, recorded ${show(recorded[key])}`);
  const extra = Object.keys(answered)
    .filter((key) => !Object.hasOwn(recorded, key))
    .map((key) => `${path}.${key}: not recorded, answered ${show(answered[key])}`);
  const common = Object.keys(recorded).filter((key) => Object.hasOwn(answered, key));
  return [
    ...missing,
    ...extra,
    ...common.flatMap((key) => differences(recorded[key], answered[key], `${path}.${key}`, isExact(key, recorded, exact))),
  ];
}

function isExact(key: string, recorded: Fields, parentExact: boolean): boolean {
  // Content types of a storage come out of a Perl hash: their order changes from run to run.
  if (key === 'content' && String(recorded[key]).includes(',')) return false;
  // How many tasks there were before depends on what else was recorded.
  if (key === 'total' && typeof recorded[key] === 'number' && recorded[key] > 3) return false;
  // The kernel is the machine's.
  if (recorded['sysname'] !== undefined) return false;
  return parentExact || exactObjects.has(key) || (exactFields.has(key) && !isObject(recorded[key]));
}

/** Rows are matched by what they are about. Rows of tasks are not: there only the set of row shapes counts. */
function listDifferences(recorded: readonly unknown[], answered: readonly unknown[], path: string, exact: boolean): string[] {
  if (recorded.some((row) => isObject(row) && 'upid' in row)) return shapeDifferences(recorded, answered, path);
  if (recorded.length !== answered.length) return [`${path}: recorded ${recorded.length} rows, answered ${answered.length}`];
  const rows = new Map(answered.map((row, index) => [identity(row, index), row]));
  return recorded.flatMap((row, index) => {
    const key = identity(row, index);
    return rows.has(key) ? differences(row, rows.get(key), `${path}[${key}]`, exact && !isObject(row)) : [`${path}: no row ${key}`];
  });
}

function identity(row: unknown, index: number): string {
  if (!isObject(row)) return String(index);
  return String(row['id'] ?? row['vmid'] ?? row['node'] ?? row['volid'] ?? index);
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

/** A value with times and process numbers taken out. */
function stable(value: unknown): unknown {
  return typeof value === 'string' ? value.replace(/UPID:([^:]*):[0-9A-F]{8}:[0-9A-F]{8,9}:[0-9A-F]{8}:/g, 'UPID:$1:…:') : value;
}

function show(value: unknown): string {
  return (JSON.stringify(value) ?? 'nothing').slice(0, 160);
}
