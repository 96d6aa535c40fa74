/** What redaction leaves out because a text does not hold a pattern's word must be nothing. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hintWords, holdsHint, pairText } from '#redaction/hint-pairs';
import { secretlintFinds, secretlintHints, secretPatterns } from '#redaction/secret-patterns';
import { secretTexts } from '../../unit/redaction/secret-corpus.ts';

const words = [...new Set([...secretPatterns.flatMap((pattern) => pattern.hints), ...secretlintHints])];

/** Whole hints, parts of them, in any case, with what changes its length in lower case beside them. */
const piece = fc.oneof(
  fc.constantFrom(...words),
  fc.constantFrom(...words).map((word) => word.toUpperCase()),
  fc.tuple(fc.constantFrom(...words), fc.nat(8), fc.nat(8)).map(([word, from, length]) => word.slice(from, from + length)),
  fc.constantFrom('İ', 'ſ', 'K', 'ß', '\ud83d\ude00', '\ud83d', 'ÿÿ', '\u0130x'),
  fc.string({ unit: 'binary', maxLength: 6 }),
);
const text = fc.array(piece, { maxLength: 30 }).map((pieces) => pieces.join(''));

describe('looking for hints by their pairs', () => {
  it('finds exactly what looking for each finds', () => {
    fc.assert(
      fc.property(text, fc.subarray(words, { minLength: 1 }), (dirty, some) => {
        const lower = dirty.toLowerCase();
        expect(holdsHint(pairText(dirty), hintWords(some))).toBe(some.some((word) => lower.includes(word)));
      }),
      { numRuns: 5_000 },
    );
  });

  it('finds every hint in the text that is nothing but it', () => {
    for (const word of words) expect(holdsHint(pairText(word), hintWords([word])), word).toBe(true);
  });
});

describe('a text without any of the hints of a pattern', () => {
  const unfiltered = pairText(words.join(' '));

  it('does not match it', () => {
    const dirty = fc.oneof(
      text,
      fc
        .array(fc.oneof(piece, fc.constantFrom(...secretTexts.map(([, example]) => example))), { maxLength: 4 })
        .map((all) => all.join(' ')),
    );
    fc.assert(
      fc.property(dirty, (candidate) => {
        const paired = pairText(candidate);
        const missed = secretPatterns.filter(
          ({ hints, pattern }) => !holdsHint(paired, hintWords(hints)) && candidate.match(pattern) !== null,
        );
        expect(missed.map(({ kind }) => kind)).toEqual([]);
      }),
      { numRuns: 3_000 },
    );
  });

  it.each(secretTexts)('%s: the rules find with it what they find when each of them looks', (_what, example) => {
    expect(secretlintFinds(example, pairText(example))).toEqual(secretlintFinds(example, unfiltered));
  });
});
