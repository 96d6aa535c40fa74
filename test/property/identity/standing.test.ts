import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createStanding } from '#identity/standing';
import { modelTiers } from '#kernel/tiers';

const outcome = fc.constantFrom(
  { status: 'ok', code: 'ok' } as const,
  { status: 'error', code: 'invalid_input' } as const,
  { status: 'error', code: 'pve_timeout' } as const,
  { status: 'denied', code: 'denied_by_person' } as const,
);

describe('standing', () => {
  it('never lifts an agent above its model’s tier, moves one step at a time, and gives everything back in the end', () => {
    fc.assert(
      fc.property(fc.constantFrom(...modelTiers), fc.array(outcome, { maxLength: 120 }), (tier, outcomes) => {
        const standing = createStanding();
        const agent = { id: 'mcp:x', host: 'mcp', modelTier: tier } as const;
        const height = () => modelTiers.indexOf(standing.effective(agent).modelTier);
        for (const end of outcomes) {
          const before = height();
          const change = standing.note(standing.effective(agent), end);
          expect(height()).toBeLessThanOrEqual(modelTiers.indexOf(tier));
          expect(Math.abs(height() - before)).toBe(change === undefined ? 0 : 1);
        }
        for (let count = 0; count < 20; count += 1) standing.note(agent, { status: 'ok', code: 'ok' });
        expect(standing.effective(agent)).toEqual(agent);
      }),
    );
  });
});
