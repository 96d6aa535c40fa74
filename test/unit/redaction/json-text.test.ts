import { describe, expect, it } from 'vitest';
import { freshJson, keptJson, redactJson, redactText } from '#redaction/redact';

const options = { knownSecrets: [], maxStringLength: 64_000 };

describe('the JSON of a value', () => {
  it('is kept with the value, and made anew where somebody asks for that', () => {
    const value = { a: [1] };
    expect(keptJson(value)).toBe('{"a":[1]}');
    freshJson(value);
    value.a.push(2);
    expect(keptJson(value)).toBe('{"a":[1]}');
    expect(freshJson(value)).toBe('{"a":[1,2]}');
    expect(keptJson(value)).toBe('{"a":[1,2]}');
  });

  it.each(['text', 5, true, null])('of %j is what JSON.stringify makes of it', (value) => {
    expect([freshJson(value), keptJson(value)]).toEqual([JSON.stringify(value), JSON.stringify(value)]);
  });
});

describe('a value that is redacted as a whole', () => {
  it('is searched anew each time: what was put into it since is found', () => {
    const value: { note: string } = { note: 'nothing here' };
    expect(redactJson(value, options)).toBe(value);
    value.note = 'AKIAIOSFODNN7EXAMPLF';
    expect(redactJson(value, options)).not.toEqual(value);
  });

  it('loses of each character what its strings lose by themselves', () => {
    const characters = Array.from({ length: 0x180 }, (_, code) => String.fromCharCode(code));
    const rare = ['\u2028', '\u200b', '\ud800', '\u{1f600}', '\ufeff', '\\u0007', '\\', '"'];
    for (const character of [...characters, ...rare]) {
      const text = `a${character}b\\`;
      expect(redactJson({ list: [text] }, options), JSON.stringify(text)).toEqual({ list: [redactText(text, options)] });
    }
  });
});
