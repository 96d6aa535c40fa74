import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { genesisHash, seal } from '#audit/seal';

const draft = { name: 'tool.started', attributes: { b: 1, a: 'x' } } as const;

describe('seal', () => {
  it('hashes the canonical JSON of everything but the hash, as anybody can recompute', () => {
    const record = seal(draft, undefined, Date.UTC(2026, 0, 2, 3, 4, 5, 678));
    const canonical = `{"attributes":{"a":"x","b":1},"name":"tool.started","previous":"${'0'.repeat(64)}","sequence":1,"time":"2026-01-02T03:04:05.678Z","version":1}`;
    expect(record.hash).toBe(createHash('sha256').update(canonical).digest('hex'));
    expect(record).toMatchObject({ version: 1, sequence: 1, previous: genesisHash, time: '2026-01-02T03:04:05.678Z' });
  });

  it('continues its predecessor', () => {
    const first = seal(draft, undefined, 0);
    expect(seal(draft, first, 1)).toMatchObject({ sequence: 2, previous: first.hash });
  });

  it('refuses what has no canonical form instead of hashing something else', () => {
    expect(() => seal({ name: 'tool.started', attributes: { a: '\ud800' } }, undefined, 0)).toThrow(TypeError);
    expect(() => seal({ name: 'tool.started', attributes: { a: Number.NaN } }, undefined, 0)).toThrow(TypeError);
  });
});
