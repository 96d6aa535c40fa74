import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { jsonLines } from '#app/config/service-config';

const text = `{
  "clusters": [
    { "name": "a: {", "endpoints": ["x",
        "y"] },
    { "na\\u006de": "b" }
  ],
  "protected": { "guests": [103] }
}`;

describe('lines of a JSON text', () => {
  it.each([
    [['clusters'], 2],
    [['clusters', 0, 'name'], 3],
    [['clusters', 0, 'endpoints', 1], 4],
    [['clusters', 1, 'name'], 5],
    [['protected', 'guests', 0], 7],
    // What is missing is where its object is.
    [['protected', 'nodes'], 7],
    [['nothing'], undefined],
  ] as const)('%j stands on line %s', (path, line) => {
    expect(jsonLines(text).of(path)).toBe(line);
  });

  it('names a key that is twice, and takes the same name in two objects', () => {
    expect(jsonLines('{"a": {"b": 1,\n"b": 2}}').twice).toEqual({ path: ['a', 'b'], line: 2 });
    expect(jsonLines('[{"b": 1}, {"b": {"b": 2}}]').twice).toBeUndefined();
    expect(jsonLines('{"a": 1, "\\u0061": 2}').twice?.path).toEqual(['a']);
  });

  it('law: every key of any value is found, on a line of the text', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
        const written = JSON.stringify({ value }, null, 1);
        const lines = jsonLines(written);
        expect(lines.twice).toBeUndefined();
        for (const [path, key] of keysOf({ value }, []))
          expect(written.split('\n')[(lines.of(path) ?? 0) - 1]).toContain(JSON.stringify(key));
      }),
    );
  });
});

function keysOf(value: unknown, path: readonly string[]): (readonly [readonly string[], string])[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => {
    const own = [...path, key];
    return [...(Array.isArray(value) ? [] : [[own, key] as const]), ...keysOf(inner, own)];
  });
}
