/** UPID, Proxmox VE's name of a task: `UPID:node:pid8:pstart8-9:start8:type:id:user:` in hexadecimal (`PVE/UPID.pm`). */

export interface Upid {
  readonly node: string;
  readonly pid: number;
  /** Process start, in hundredths of a second since the node booted. */
  readonly pstart: number;
  /** Seconds since the epoch. */
  readonly starttime: number;
  readonly type: string;
  readonly id: string;
  /** Full name, a token's with its part after `!`. */
  readonly user: string;
}

const pattern =
  /^UPID:([a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?):([0-9A-Fa-f]{8}):([0-9A-Fa-f]{8,9}):([0-9A-Fa-f]{8}):([^:\s/]+):([^:\s/]*):([^:\s/]+):$/;

export function encodeUpid(upid: Upid): string {
  const numbers = [upid.pid, upid.pstart, upid.starttime].map((value) => value.toString(16).toUpperCase().padStart(8, '0'));
  return `UPID:${upid.node}:${numbers.join(':')}:${upid.type}:${upid.id}:${upid.user}:`;
}

export function decodeUpid(text: string): Upid | undefined {
  const [, node = '', pid = '', pstart = '', starttime = '', type = '', id = '', user = ''] = pattern.exec(text) ?? [];
  if (node === '') return undefined;
  return {
    node,
    pid: Number.parseInt(pid, 16),
    pstart: Number.parseInt(pstart, 16),
    starttime: Number.parseInt(starttime, 16),
    type,
    id,
    user,
  };
}

/** Splits `user@realm!token`; `tokenid` is undefined for a user. */
export function splitTokenId(full: string): { readonly user: string; readonly tokenid: string | undefined } {
  const mark = full.indexOf('!');
  return mark < 0 ? { user: full, tokenid: undefined } : { user: full.slice(0, mark), tokenid: full.slice(mark + 1) };
}
