import { describe, expect, it } from 'vitest';
import { hashOneTimeCode, isOneTimeCode, makeOneTimeCode, oneTimeCodePattern } from '#app/people/one-time-codes';

const purpose = { requestId: 'req-0123abcd', digest: 'a'.repeat(64) };

describe('a one-time code', () => {
  it('has its form, uses every character, and does not repeat', () => {
    const codes = Array.from({ length: 2_000 }, makeOneTimeCode);
    for (const code of codes) expect(code).toMatch(oneTimeCodePattern);
    expect(new Set(codes).size).toBe(codes.length);
    expect(new Set(codes.flatMap((code) => Array.from(code.slice(4)))).size).toBe(62);
  });

  it('fits its own hash for its own purpose and nothing else', async () => {
    const code = makeOneTimeCode();
    const stored = await hashOneTimeCode(code, purpose);
    expect(JSON.stringify(stored)).not.toContain(code.slice(4));
    expect(await isOneTimeCode(code, stored, purpose)).toBe(true);
    expect(await isOneTimeCode(makeOneTimeCode(), stored, purpose)).toBe(false);
    expect(await isOneTimeCode(code, stored, { ...purpose, requestId: 'req-0123abce' })).toBe(false);
    expect(await isOneTimeCode(code, stored, { ...purpose, digest: 'b'.repeat(64) })).toBe(false);
  });

  it('is hashed anew each time, and a stored hash of another length fits nothing', async () => {
    const code = makeOneTimeCode();
    const [one, two] = [await hashOneTimeCode(code, purpose), await hashOneTimeCode(code, purpose)];
    expect(one.hash).not.toBe(two.hash);
    expect(await isOneTimeCode(code, { ...one, hash: '' }, purpose)).toBe(false);
    expect(await isOneTimeCode(code, { ...one, hash: one.hash.slice(0, 20) }, purpose)).toBe(false);
  });
});
