/** Unique task ids of Proxmox VE, as `PVE::UPID` reads and writes them. */
import { Fault } from '#kernel/errors';
import { nodeSegment } from './path-parameters.ts';

/** `UPID:node:pid:pstart:starttime:type:id:user:` taken apart; the hexadecimal numbers decoded, `startTime` in seconds since the epoch. */
export interface Upid {
  readonly text: string;
  /** Where the task runs, and the node to ask about it: not always the node that was called. */
  readonly node: string;
  readonly pid: number;
  readonly startTime: number;
  readonly type: string;
  /** The guest number for guest tasks; may be empty. */
  readonly id: string;
  /** `user@realm`, with `!tokenname` when a token started it. */
  readonly user: string;
}

const pattern = /^UPID:([a-zA-Z0-9_-]{1,63}):([0-9A-Fa-f]{8}):([0-9A-Fa-f]{8,9}):([0-9A-Fa-f]{8}):([^:\s/]+):([^:\s/]*):([^:\s/]+):$/;

/** undefined for what is not a UPID. A `/` in any part is refused: the server would split the path there. */
export function readUpid(text: string): Upid | undefined {
  const match = pattern.exec(text);
  if (!match) return undefined;
  const [, node = '', pid = '', , start = '', type = '', id = '', user = ''] = match;
  return { text, node, pid: Number.parseInt(pid, 16), startTime: Number.parseInt(start, 16), type, id, user };
}

/** @throws {Fault} `bad_target` for what is not a UPID or names no usable node */
export function parseUpid(text: string): Upid {
  const upid = readUpid(text);
  if (!upid)
    throw new Fault('bad_target', 'not a task id; it must look like `UPID:node:…:`', {
      audience: 'user',
      next: 'use a UPID as in get_recent_tasks',
    });
  nodeSegment(upid.node);
  return upid;
}
