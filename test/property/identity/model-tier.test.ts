import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { modelTierOf } from '#identity/model-tier';
import { modelTiers } from '#kernel/tiers';
import { modelNames } from '../../unit/identity/model-names.ts';

const height = (name: string) => modelTiers.indexOf(modelTierOf(name));
const name = fc.constantFrom(...modelNames.map(([known]) => known));
/** Plain names: a word can be added behind them. */
const extendable = fc.constantFrom(...modelNames.map(([known]) => known).filter((known) => /^[\w.:/@-]+[a-z0-9]$/i.test(known)));
const separator = fc.constantFrom('-', ':', '_');

describe('a model’s tier', () => {
  it('is never raised by a word that makes a model smaller', () => {
    const smaller = fc.constantFrom('mini', 'nano', 'lite', 'tiny', 'micro', 'small', 'distill', '1b', '0.5b', '3b', '270m', 'e2b', '1.5b');
    fc.assert(
      fc.property(extendable, separator, smaller, (known, between, word) => {
        // Mistral Small is larger than what `mistral` alone means.
        fc.pre(word !== 'small' || !/mistral/i.test(known));
        expect(height(`${known}${between}${word}`)).toBeLessThanOrEqual(height(known));
      }),
      { numRuns: 5_000 },
    );
  });

  it('is basic with less than 7 billion parameters', () => {
    fc.assert(
      fc.property(extendable, separator, fc.integer({ min: 1, max: 69 }), (known, between, tenths) => {
        expect(modelTierOf(`${known}${between}${tenths / 10}b`)).toBe('basic');
      }),
    );
  });

  it('is basic once letters stand before the name', () => {
    fc.assert(
      fc.property(extendable, fc.stringMatching(/^[wxyz]{1,6}$/), (known, letters) => {
        expect(modelTierOf(`${letters}${known.slice(known.lastIndexOf('/') + 1)}`)).toBe('basic');
      }),
      { numRuns: 3_000 },
    );
  });

  it('is never raised by an unknown word, wherever it stands', () => {
    const unknown = fc.stringMatching(/^[wxyz]{3,8}$/);
    fc.assert(
      fc.property(extendable, unknown, fc.boolean(), (known, word, before) => {
        const own = known.slice(known.lastIndexOf('/') + 1);
        expect(modelTierOf(before ? `${word}-${own}` : `${own}-${word}`)).toBe('basic');
      }),
      { numRuns: 3_000 },
    );
  });

  it('does not depend on case', () => {
    fc.assert(
      fc.property(name, (known) => {
        expect(modelTierOf(known.replace(/[a-z]/g, (letter) => letter.toUpperCase()))).toBe(modelTierOf(known));
      }),
    );
  });

  it('is basic with any character beyond ASCII', () => {
    fc.assert(
      fc.property(name, fc.integer({ min: 0x80, max: 0xffff }), fc.nat(20), (known, code, place) => {
        const at = Math.min(place, known.length);
        const changed = `${known.slice(0, at)}${String.fromCharCode(code)}${known.slice(at)}`;
        // White space around a name is taken off, whichever it is.
        fc.pre(changed.trim() === changed);
        expect(modelTierOf(changed)).toBe('basic');
      }),
      { numRuns: 3_000 },
    );
  });

  it('is found for any string, quickly and without a throw', () => {
    fc.assert(fc.property(fc.string({ maxLength: 300, unit: 'binary' }), (text) => modelTiers.includes(modelTierOf(text))));
  });
});
