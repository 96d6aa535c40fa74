/**
 * What this editor saw of the audit trail last, kept outside the store: a trail that was rewritten as a whole, cut off with its anchor, or
 * replaced by an older copy fits together, and only who remembers it can tell.
 */
import { createHash } from 'node:crypto';
import { hostname } from 'node:os';
import * as z from 'zod';
import type { App } from '#kernel/app';
import type { ChainPoint } from '#kernel/audit-event';
import type { SecretStore } from './approval-key.ts';

const pointSchema = z.strictObject({ sequence: z.int().positive(), hash: z.string() });

export type SeenApp = Pick<App, 'storeLocation' | 'audit'>;

/** The point that was kept for this store, by any window of this profile; undefined for a store that is new here. */
export async function seenPoint(secrets: SecretStore, app: SeenApp): Promise<ChainPoint | undefined> {
  const kept = await secrets.get(nameFor(app));
  try {
    return kept === undefined ? undefined : pointSchema.parse(JSON.parse(kept));
  } catch {
    return undefined;
  }
}

/**
 * Looks whether the trail goes on from what was kept, and keeps its newest record. After a trail that does not, the new one is kept, so that it is
 * told once.
 * @returns for people: what is wrong, where something is
 */
export async function lookAtTrail(secrets: SecretStore, app: SeenApp): Promise<string | undefined> {
  const seen = await seenPoint(secrets, app);
  const isSame = seen === undefined || (await app.audit.continues(seen));
  // After the look: what comes in meanwhile goes on from it.
  const head = await app.audit.head();
  if (head !== undefined && (!isSame || head.sequence > (seen?.sequence ?? 0)))
    await secrets.store(nameFor(app), JSON.stringify(pointOf(head)));
  if (isSame) return undefined;
  const now = head === undefined ? 'is empty' : `ends at record ${head.sequence}`;
  return `records of the audit trail were removed or rewritten, or an older copy was put in place: record ${seen.sequence}, which this editor saw, is gone or another (the trail ${now}). It is in ${app.storeLocation}`;
}

/** The same path on another machine is another store. */
function nameFor({ storeLocation }: SeenApp): string {
  return `trail.${createHash('sha256').update(`${hostname()}\n${storeLocation}`).digest('hex').slice(0, 32)}`;
}

function pointOf({ sequence, hash }: ChainPoint): ChainPoint {
  return { sequence, hash };
}
