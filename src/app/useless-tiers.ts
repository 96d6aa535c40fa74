/** Entries of `tiers` that do nothing, for doctor and for the log at start. */
import { stricterTier } from '#kernel/tiers';
import type { Finding } from './app.ts';
import { catalog } from './catalog.ts';
import type { Config } from './config.ts';

/** `tiers` can only make a tool stricter; an entry that does nothing is probably a mistake. */
export function uselessTiers(config: Config): readonly (Finding & { readonly remedy: string })[] {
  return Object.entries(config.tiers).flatMap(([name, tier]) => {
    const own = catalog.find((entry) => entry.name === name)?.tier;
    if (own === undefined || own === tier || stricterTier(own, tier) !== own) return [];
    return [
      {
        topic: 'tiers',
        state: 'warning' as const,
        message: `\`tiers.${name}\` has no effect: \`${name}\` is ${own} already, and configuration only makes a tool stricter`,
        remedy: 'correct or remove the entry',
      },
    ];
  });
}
