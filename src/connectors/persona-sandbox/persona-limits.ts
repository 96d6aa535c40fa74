/** What one agent may keep in its own sandbox. */
import type { PersonaLimits } from '#kernel/ports/persona-ledger';

/** 100 MB each, and no more files than a person can clean up. */
export const usualPersonaLimits: PersonaLimits = { bytes: 100 * 1024 * 1024, files: 10_000 };

/** A sandbox that nobody used for this long is cleaned, in ms. */
export const personaLifeMs = 24 * 3_600_000;

/** How often that is looked for, in ms. */
export const cleaningIntervalMs = 6 * 3_600_000;

const blockBytes = 4_096;

/** What a file costs: whole blocks, one at least, so that empty files are not free. */
export function chargeOf(bytes: number): number {
  return Math.max(1, Math.ceil(bytes / blockBytes)) * blockBytes;
}
