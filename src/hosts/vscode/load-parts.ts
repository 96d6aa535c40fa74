/** The way to everything that makes schemas. */
import type { ToolDescription } from '#kernel/tool';

/**
 * What a window needs once something is asked of it; the same each time.
 * INVARIANT: `without-eval.ts` runs before any schema is made, so nothing that the window loads at its start may bring schemas along
 * (scripts/build/bundles.mjs holds it to that).
 */
export async function loadParts(): Promise<typeof import('./start-app.ts')> {
  await import('#kernel/without-eval');
  return import('./start-app.ts');
}

/** The catalog, as surfaces know it. */
export const describeTools = onceGood(async () => (await loadParts()).describeTools());

/** One load for all who ask; what failed is tried again by whoever asks next. */
export function onceGood<T>(load: () => Promise<T>): () => Promise<T> {
  let loaded: Promise<T> | undefined;
  return () => {
    loaded ??= load().catch((thrown: unknown) => {
      loaded = undefined;
      throw thrown;
    });
    return loaded;
  };
}

/** @throws {Error} where the manifest names what is no tool: a check makes one of the other */
export async function toolNamed(isIt: (tool: ToolDescription) => boolean): Promise<ToolDescription> {
  const tool = (await describeTools()).find(isIt);
  if (tool === undefined) throw new Error('the manifest and the catalog differ; install the extension again');
  return tool;
}
