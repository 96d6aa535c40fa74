/** Proxmox VE's numbers in people's units. Field names are those of its API. */
import type { JsonValue } from '#kernel/json';

const byteFields = new Set(['mem', 'maxmem', 'disk', 'maxdisk', 'size', 'used', 'avail', 'total', 'free', 'swap', 'maxswap']);
const timeFields = new Set(['starttime', 'endtime', 'ctime']);
/** Below this a `total` is a count, not a size. */
const mebibyte = 2 ** 20;

/** Text for a table's cell; `''` for nothing. */
export function formatField(name: string, value: JsonValue | undefined): string {
  if (value === undefined || value === null) return '';
  if (typeof value === 'number') return formatNumber(name, value);
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

function formatNumber(name: string, value: number): string {
  if (byteFields.has(name) && value >= mebibyte) return bytes(value);
  if (name === 'cpu' && value >= 0 && value <= 1) return `${(value * 100).toFixed(1)}\u00a0%`;
  if (name === 'uptime') return age(value);
  if (timeFields.has(name) && value > 1e9) return new Date(value * 1000).toISOString().slice(0, 16).replace('T', ' ');
  return String(value);
}

function bytes(value: number): string {
  const gibibytes = value / 2 ** 30;
  return gibibytes >= 1 ? `${gibibytes.toFixed(1)}\u00a0GiB` : `${Math.round(value / mebibyte)}\u00a0MiB`;
}

/** @param seconds since the start; 0 is what the API says of something that does not run */
function age(seconds: number): string {
  if (seconds <= 0) return '';
  const minutes = Math.floor(seconds / 60);
  const [days, hours] = [Math.floor(minutes / 1440), Math.floor(minutes / 60) % 24];
  if (days > 0) return `${days} d ${hours} h`;
  return hours > 0 ? `${hours} h ${minutes % 60} min` : `${minutes} min`;
}
