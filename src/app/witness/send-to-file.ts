/** A list of checkpoints elsewhere, only ever added to: another disk, a share, a path that another user or a write-once mount keeps. */
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { checkpointsIn, requireContinued, type Send } from './witness.ts';

/** So much of the list's end is looked at. */
const lookBytes = 64 * 1024;

export function sendToFile(file: string): Send {
  return async ({ tree, checkpoint, note }) => {
    const handle = await open(file, constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | (constants.O_NOFOLLOW ?? 0), 0o600);
    try {
      const { size } = await handle.stat();
      const from = Math.max(0, size - lookBytes);
      const { buffer, bytesRead } = await handle.read({ buffer: Buffer.alloc(size - from), position: from });
      const last = checkpointsIn(buffer.toString('utf8', 0, bytesRead), checkpoint.origin).at(-1);
      await requireContinued(tree, last);
      if (last?.size === checkpoint.size) return undefined;
      await handle.appendFile(`${size === 0 ? '' : '\n'}${note}`);
      await handle.sync();
      return undefined;
    } finally {
      await handle.close();
    }
  };
}
