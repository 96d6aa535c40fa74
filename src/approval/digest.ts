/** The one number a grant is bound to. */
import { createHash } from 'node:crypto';
import type { EffectiveAction } from '#kernel/approval/request';
import { canonicalJson, type JsonObject } from '#kernel/json';

/**
 * SHA-256, in hex, over the RFC 8785 canonical JSON of the effective action. Recompute it on what is about to run; never take it from a caller.
 * @throws {TypeError} when the action holds what JSON cannot carry
 */
export function digestOf(action: EffectiveAction): string {
  // An interface has no index signature, hence the cast; canonicalJson checks every value itself.
  return createHash('sha256')
    .update(canonicalJson(action as unknown as JsonObject))
    .digest('hex');
}
