/** What this machine saw of a store's pauses: a file of its own for each store, in the state directory. */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import * as z from 'zod';
import type { PauseMemory } from '#approval/standing-pause';
import { isForService, readPrivateFile, replacePrivateFile } from './private-file.ts';

const time = z.number().int().nonnegative();
const seenSchema = z.strictObject({
  open: z.strictObject({ by: z.string(), at: time, reason: z.string().exactOptional() }).exactOptional(),
  lifted: time.exactOptional(),
});

/** undefined: root looks at a service's store, and leaves nothing of its own there. LIMIT: whoever may write the state directory can take the file away. */
export function createPauseMemory({
  stateDir,
  location,
}: {
  readonly stateDir: string;
  readonly location: string;
}): PauseMemory | undefined {
  if (isForService(stateDir)) return undefined;
  const folder = join(stateDir, 'pauses');
  const name = `${createHash('sha256').update(location).digest('hex').slice(0, 16)}.json`;
  const place = join(folder, name);
  return {
    place,
    read: async () => {
      const text = await readPrivateFile(place);
      return text === undefined ? {} : seenSchema.parse(JSON.parse(text));
    },
    write: async ({ open, lifted }) => {
      const { warning: _, ...pause } = open ?? { by: '', at: 0 };
      const seen = { ...(open === undefined ? {} : { open: pause }), ...(lifted === undefined ? {} : { lifted }) };
      await replacePrivateFile(folder, name, `${JSON.stringify(seen)}\n`);
    },
  };
}
