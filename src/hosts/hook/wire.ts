/** What a hook's process and the warm one behind it say to each other: one line of JSON each way. */
import type { Socket } from 'node:net';
import type { JsonObject } from '#kernel/json';
import type { HookAnswer } from './answer.ts';

export interface HookQuestion {
  readonly agent: string;
  readonly event: JsonObject;
  readonly cwd: string;
}
/** `stale`: this process is made from what is no longer there; ask another one. */
export type HookReply = HookAnswer | { readonly stale: true };

/** In UTF-16 code units; a whole file that is written may stand in it. */
export const longestQuestion = 20_000_000;

/** Up to its first line break: some programs half-close badly, so no end of the stream is waited for. @throws {Error} */
export function readLine(peer: Socket): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const parts: Buffer[] = [];
  let length = 0;
  peer.on('data', (part: Buffer) => {
    const end = part.indexOf(10);
    parts.push(end < 0 ? part : part.subarray(0, end));
    length += part.length;
    if (end >= 0) resolve(Buffer.concat(parts).toString('utf8'));
    else if (length > longestQuestion) reject(new Error('it is too long'));
  });
  peer.once('close', () => reject(new Error('the connection ended before its line')));
  return promise;
}
