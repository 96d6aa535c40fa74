/**
 * What this editor saw of the audit trail last, kept outside the store: a trail that was rewritten as a whole, cut off with its anchor, or
 * replaced by an older copy fits together, and only who remembers it can tell. The tree's checkpoint goes on telling when the record has left.
 */
import { createHash } from 'node:crypto';
import { hostname } from 'node:os';
import type { App, SeenPoint } from '#kernel/app';
import { isJsonObject, type JsonObject } from '#kernel/json';
import type { SecretStore } from './approval-key.ts';
import { t } from './l10n.ts';

export type SeenApp = Pick<App, 'storeLocation' | 'audit'>;

/** The point that was kept for this store, by any window of this profile; undefined for a store that is new here. */
export async function seenPoint(secrets: SecretStore, app: SeenApp): Promise<SeenPoint | undefined> {
  const { sequence, hash } = kept(await secrets.get(nameFor('trail', app)), ['sequence', 'hash']);
  return isCount(sequence) && typeof hash === 'string' ? { sequence, hash } : undefined;
}

/** The checkpoint of the same time. An entry of its own: what an older version kept has none. */
async function seenCheckpoint(secrets: SecretStore, app: SeenApp): Promise<Pick<SeenPoint, 'checkpoint'>> {
  const { origin, size, root } = kept(await secrets.get(nameFor('tree', app)), ['origin', 'size', 'root']);
  return typeof origin === 'string' && isCount(size) && typeof root === 'string' ? { checkpoint: { origin, size, root } } : {};
}

/** Empty where it is not an object of just these keys: no schema, since this is loaded as the window starts. */
function kept(text: string | undefined, keys: readonly string[]): JsonObject {
  try {
    const value: unknown = JSON.parse(text ?? '');
    return isJsonObject(value) && Object.keys(value).sort().join() === keys.toSorted().join() ? value : {};
  } catch {
    return {};
  }
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) > 0;
}

/**
 * Looks whether the trail goes on from what was kept, and keeps its newest record. After a trail that does not, the new one is kept, so that it is
 * told once.
 * @returns for people: what is wrong, where something is
 */
export async function lookAtTrail(secrets: SecretStore, app: SeenApp): Promise<string | undefined> {
  const seen = await seenPoint(secrets, app);
  const isSame = seen === undefined || (await app.audit.continues({ ...seen, ...(await seenCheckpoint(secrets, app)) }));
  // After the look: what comes in meanwhile goes on from it.
  const head = await app.audit.head();
  if (head !== undefined && (!isSame || head.sequence > (seen?.sequence ?? 0))) await keep(secrets, app, head);
  if (isSame) return undefined;
  const now = head === undefined ? t('is empty') : t('ends at record {0}', head.sequence);
  return t(
    'records of the audit trail were removed or rewritten, or an older copy was put in place: record {0}, which this editor saw, is gone or another (the trail {1}). It is in {2}',
    seen.sequence,
    now,
    app.storeLocation,
  );
}

async function keep(secrets: SecretStore, app: SeenApp, { sequence, hash, checkpoint }: SeenPoint): Promise<void> {
  await secrets.store(nameFor('trail', app), JSON.stringify({ sequence, hash }));
  if (checkpoint !== undefined) await secrets.store(nameFor('tree', app), JSON.stringify(checkpoint));
}

/** The same path on another machine is another store. */
function nameFor(what: 'trail' | 'tree', { storeLocation }: SeenApp): string {
  return `${what}.${createHash('sha256').update(`${hostname()}\n${storeLocation}`).digest('hex').slice(0, 32)}`;
}
