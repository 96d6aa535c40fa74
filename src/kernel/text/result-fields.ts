/** The fields of results and of the API's rows, as people read them. */
import { isJsonObject, type JsonObject, type JsonValue, wordOf } from '../json.ts';

/** Titles by the API's names; `memory.used` names a field of an object. A field that is not here is a detail. */
const titles: Readonly<Record<string, string>> = {
  vmid: 'ID',
  name: 'Name',
  node: 'Node',
  storage: 'Storage',
  volid: 'Volume',
  type: 'Type',
  plugintype: 'Kind',
  status: 'Status',
  online: 'Online',
  health: 'Health',
  quorate: 'Quorate',
  ip: 'Address',
  cpu: 'CPU',
  maxcpu: 'Cores',
  mem: 'Memory',
  disk: 'Disk',
  memory: 'Memory',
  rootfs: 'Root file system',
  swap: 'Swap',
  uptime: 'Uptime',
  loadavg: 'Load (1, 5, 15 min)',
  'cpuinfo.model': 'Processor',
  'cpuinfo.cpus': 'Threads',
  kversion: 'Kernel',
  pveversion: 'Proxmox VE',
  lock: 'Lock',
  tags: 'Tags',
  content: 'Holds',
  size: 'Size',
  ctime: 'Made',
  format: 'Format',
  notes: 'Notes',
  starttime: 'Started',
  endtime: 'Ended',
  user: 'User',
  id: 'About',
  celsius: 'Temperature',
  hottest: 'Hottest',
  zone: 'Zone',
  cluster: 'Cluster',
  command: 'Command',
  exit_code: 'Exit code',
  stdout: 'Output',
  stderr: 'Errors',
  endpoint: 'Endpoint',
  certificate: 'Certificate',
};

/** undefined: not worth a person's first look. */
export function fieldTitle(name: string): string | undefined {
  return Object.hasOwn(titles, name) ? titles[name] : undefined;
}

/** A name that the API gave and that is on no list of ours, as a person would write it. */
export function columnTitle(name: string): string {
  return fieldTitle(name) ?? inWords(name);
}

function inWords(name: string): string {
  const words = name
    .replaceAll(/[_-]+/g, ' ')
    .replaceAll(/([a-z])([A-Z])/g, (_all, end: string, start: string) => `${end} ${start.toLowerCase()}`);
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
}

interface TableShape {
  readonly title: string;
  /** The most important first: what does not fit is further to the right. */
  readonly columns: readonly string[];
}

const guestColumns = ['name', 'vmid', 'node', 'status', 'cpu', 'mem', 'uptime'];

/** By the name of the list in the result. */
const tables: Readonly<Record<string, TableShape>> = {
  vms: { title: 'Virtual machines', columns: guestColumns },
  containers: { title: 'Containers', columns: guestColumns },
  endpoints: { title: 'API endpoints', columns: ['endpoint', 'node', 'certificate'] },
  nodes: { title: 'Nodes', columns: ['node', 'online', 'ip'] },
  storage: { title: 'Storage', columns: ['storage', 'node', 'status', 'disk', 'plugintype', 'content'] },
  resources: { title: 'Resources', columns: ['name', 'vmid', 'type', 'node', 'status', 'cpu', 'mem', 'disk'] },
  backups: { title: 'Backups', columns: ['vmid', 'notes', 'ctime', 'size', 'volid'] },
  tasks: { title: 'Tasks', columns: ['type', 'id', 'node', 'status', 'starttime', 'user'] },
  zones: { title: 'Sensors', columns: ['type', 'celsius', 'zone'] },
};

/** The shape of a list that is not known: whatever of its fields has a title. */
export function tableShape(list: string, rows: readonly JsonObject[]): TableShape {
  const known = Object.hasOwn(tables, list) ? tables[list] : undefined;
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const shape = known ?? {
    title: list === '' ? 'Rows' : inWords(list),
    columns: names.filter((name) => fieldTitle(name) !== undefined).slice(0, 7),
  };
  const columns = shape.columns.filter((column) => rows.some((row) => rowField(row, column) !== ''));
  return { title: shape.title, columns: columns.length > 0 ? columns : names.slice(0, 7) };
}

const kinds: Readonly<Record<string, string>> = {
  qemu: 'VM',
  lxc: 'container',
  qmstart: 'Start VM',
  qmstop: 'Stop VM',
  qmreboot: 'Restart VM',
  qmshutdown: 'Shut down VM',
  qmigrate: 'Migrate VM',
  vzstart: 'Start container',
  vzstop: 'Stop container',
  vzreboot: 'Restart container',
  vzshutdown: 'Shut down container',
  vzdump: 'Backup',
  aptupdate: 'Update package lists',
};

/** What a task of this type does; the type itself where it is not known. */
export function taskTitle(type: JsonValue | undefined): string {
  return typeof type === 'string' && Object.hasOwn(kinds, type) ? (kinds[type] ?? type) : wordOf(type);
}

/** One cell of a table; `''` for nothing. Sizes are of the row: `0.7 GiB of 2.0 GiB`. */
export function rowField(row: JsonObject, name: string): string {
  const value = row[name];
  if (name === 'mem' || name === 'disk') return used(value, row[`max${name}`]);
  if (name === 'cpu' && row['status'] === 'stopped') return '';
  if (name === 'type' && typeof value === 'string') return kinds[value] ?? value;
  if (name === 'status') return statusOf(row);
  return formatField(name, name === 'name' ? nameOf(row) : value);
}

/** A template is never anything but stopped. */
function statusOf({ status, template, lock }: JsonObject): string {
  const state = template === 1 ? 'template' : formatField('status', status);
  return typeof lock === 'string' && lock !== '' ? `${state}, locked (${lock})` : state;
}

/** A storage or a node has no name of its own in the list of everything. */
function nameOf({ name, storage, node }: JsonObject): JsonValue | undefined {
  return name ?? storage ?? node;
}

/** Bytes in use of how many there are. Of a stopped guest, and of a VM's disk, the API knows the latter alone. */
function used(value: JsonValue | undefined, most: JsonValue | undefined): string {
  const all = typeof most === 'number' && most > 0 ? bytes(most) : '';
  const some = typeof value === 'number' && value > 0 ? bytes(value) : '';
  return some !== '' && all !== '' ? `${some} of ${all}` : some || all;
}

const byteFields = new Set(['mem', 'maxmem', 'disk', 'maxdisk', 'size', 'used', 'avail', 'total', 'free', 'swap', 'maxswap']);
const timeFields = new Set(['starttime', 'endtime', 'ctime']);
/** Below this a `total` is a count, not a size. */
const mebibyte = 2 ** 20;

/** Text for people; `''` for nothing. */
export function formatField(name: string, value: JsonValue | undefined): string {
  if (value === undefined || value === null) return '';
  if (typeof value === 'number') return formatNumber(name, value);
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value === 'string') return name === 'tags' || name === 'content' ? value.replaceAll(/[;,]/g, ', ') : value;
  return formatObject(value);
}

function formatObject(value: JsonObject | readonly JsonValue[]): string {
  if (isJsonObject(value)) return typeof value['used'] === 'number' ? used(value['used'], value['total']) : JSON.stringify(value);
  return value.every((item) => typeof item !== 'object') ? value.join(', ') : JSON.stringify(value);
}

const units: Readonly<Record<string, (value: number) => string>> = {
  cpu: (value) => (value >= 0 && value <= 1 ? `${(value * 100).toFixed(1)}\u00a0%` : String(value)),
  celsius: (value) => `${value}\u00a0°C`,
  hottest: (value) => `${value}\u00a0°C`,
  uptime: age,
};

function formatNumber(name: string, value: number): string {
  if (byteFields.has(name) && value >= mebibyte) return bytes(value);
  if (timeFields.has(name) && value > 1e9) return localTime(value * 1000);
  return (units[name] ?? String)(value);
}

/** `Nov 22, 14:02`, with the year where it is another one; in the reader's own time zone. */
export function localTime(at: number): string {
  const time = new Date(at);
  const year = time.getFullYear() === new Date().getFullYear() ? {} : { year: 'numeric' as const };
  return time.toLocaleString('en', { month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit', hour12: false, ...year });
}

function bytes(value: number): string {
  const gibibytes = value / 2 ** 30;
  if (gibibytes >= 1024) return `${(gibibytes / 1024).toFixed(1)}\u00a0TiB`;
  return gibibytes >= 1 ? `${gibibytes.toFixed(1)}\u00a0GiB` : `${Math.round(value / mebibyte)}\u00a0MiB`;
}

/** @param seconds since the start; 0 is what the API says of something that does not run */
function age(seconds: number): string {
  if (seconds <= 0) return '';
  const minutes = Math.floor(seconds / 60);
  const [days, hours] = [Math.floor(minutes / 1440), Math.floor(minutes / 60) % 24];
  if (days > 0) return `${days}\u00a0d ${hours}\u00a0h`;
  return hours > 0 ? `${hours}\u00a0h ${minutes % 60}\u00a0min` : `${minutes}\u00a0min`;
}
