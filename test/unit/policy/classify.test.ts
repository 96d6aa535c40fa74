import { describe, expect, it } from 'vitest';
import { type ActionTier, actionTiers, type SecurityLevel, securityLevels } from '#kernel/tiers';
import { decideTier, effectiveTier } from '#policy/classify';

/** The table of docs/design.md#who-may-do-what. */
const table: Record<ActionTier, Record<SecurityLevel, string>> = {
  green: { relaxed: 'allow', balanced: 'allow', strict: 'allow' },
  yellow: { relaxed: 'allow', balanced: 'allow', strict: 'ask' },
  red: { relaxed: 'ask', balanced: 'ask', strict: 'ask' },
  black: { relaxed: 'deny', balanced: 'deny', strict: 'deny' },
};

const cells = actionTiers.flatMap((tier) => securityLevels.map((level) => [tier, level, table[tier][level]] as const));

describe('action tier × security level', () => {
  it.each(cells)('%s at %s: %s', (tier, level, effect) => {
    const decision = decideTier('some_tool', tier, level);
    expect(decision.effect).toBe(effect);
    expect(decision.reason).toContain('`some_tool`');
    expect(decision.rules[0]).toBe(`tier:${tier}`);
  });

  it('says why in stable codes', () => {
    const codes = actionTiers.map((tier) => decideTier('t', tier, 'strict').code);
    expect(codes).toEqual(['green', 'confirmation_required', 'confirmation_required', 'black_tier']);
  });

  it('refuses a tier it does not know', () => {
    expect(decideTier('t', 'purple' as ActionTier, 'relaxed')).toMatchObject({ effect: 'deny', code: 'unknown_tier' });
    expect(decideTier('t', undefined as unknown as ActionTier, 'relaxed').effect).toBe('deny');
  });
});

describe('a configured tier', () => {
  it.each(actionTiers.flatMap((declared) => actionTiers.map((configured) => [declared, configured] as const)))(
    '%s configured as %s only gets stricter',
    (declared, configured) => {
      const effective = effectiveTier('t', declared, { t: configured });
      expect(actionTiers.indexOf(effective)).toBe(Math.max(actionTiers.indexOf(declared), actionTiers.indexOf(configured)));
    },
  );

  it('counts for its own tool only, and nothing is inherited', () => {
    expect(effectiveTier('t', 'green', {})).toBe('green');
    expect(effectiveTier('t', 'green', { u: 'black' })).toBe('green');
    expect(effectiveTier('toString', 'green', {})).toBe('green');
    expect(effectiveTier('t', 'green', Object.create({ t: 'black' }))).toBe('green');
  });
});
