/** Entries of `tiers` that do nothing, for doctor and for the log at start. */
import { stricterTier } from '#kernel/tiers';
import type { Finding } from './app.ts';
import { catalog } from './catalog.ts';
import type { Config } from './config.ts';

/** `tiers` can only make a known tool stricter; an entry that does nothing is probably a mistake. */
export function uselessTiers(config: Config): readonly (Finding & { readonly remedy: string })[] {
  return Object.entries(config.tiers).flatMap(([name, tier]) => {
    const tool = catalog.find((entry) => entry.name === name);
    if (tool !== undefined && stricterTier(tool.tier, tier) !== tool.tier) return [];
    if (tool?.tier === tier) return [];
    const why =
      tool === undefined ? 'no tool has that name' : `\`${name}\` is ${tool.tier} already, and configuration only makes a tool stricter`;
    return [
      {
        topic: 'tiers',
        state: 'warning' as const,
        message: `\`tiers.${name}\` has no effect: ${why}`,
        remedy: 'correct or remove the entry',
      },
    ];
  });
}
