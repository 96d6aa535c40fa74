/** What this machine saw of a store's pauses: a file of its own for each store, in the state directory. */
import { createHash } from 'node:crypto';
import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import type { PauseMemory, SeenPauses } from '#approval/standing-pause';
import { isForService } from '#files/folder-owner';
import { readPrivateFile, replacePrivateFile } from './private-file.ts';

const time = z.number().int().nonnegative();
const seenSchema = z.strictObject({
  open: z.strictObject({ by: z.string(), at: time, reason: z.string().exactOptional() }).exactOptional(),
  lifted: time.exactOptional(),
});

/** undefined: there is none. */
function fileState(file: string): string | undefined {
  const found = lstatSync(file, { bigint: true, throwIfNoEntry: false });
  return found && [found.dev, found.ino, found.size, found.mode, found.mtimeNs, found.ctimeNs].join(' ');
}

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
  let known: { readonly as: string; readonly seen: SeenPauses } | undefined;
  return {
    place,
    // Asked at each call: read again only where it is another file, or was changed.
    read: async () => {
      const as = fileState(place);
      if (as === undefined) return {};
      if (known?.as !== as) {
        const text = await readPrivateFile(place);
        known = text === undefined ? undefined : { as, seen: seenSchema.parse(JSON.parse(text)) };
      }
      return known?.seen ?? {};
    },
    write: async ({ open, lifted }) => {
      const { warning: _, ...pause } = open ?? { by: '', at: 0 };
      const seen = { ...(open === undefined ? {} : { open: pause }), ...(lifted === undefined ? {} : { lifted }) };
      await replacePrivateFile(folder, name, `${JSON.stringify(seen)}\n`);
    },
  };
}
