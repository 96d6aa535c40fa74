import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { fitRecord } from '#audit/fit-record';
import { genesisHash, seal } from '#audit/seal';
import { type AuditDraft, longestAttributeName, mostAttributes, mostRecordBytes } from '#kernel/audit-event';
import { canonicalJson, isJsonObject, type JsonObject } from '#kernel/json';

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

const bytesOf = (value: JsonObject) => Buffer.byteLength(canonicalJson(value));
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const of = (attributes: JsonObject): AuditDraft => ({ name: 'tool.finished', attributes });

describe('a record that is too large', () => {
  const command = `echo ${'漢\u{1f600}"'.repeat(20_000)}`;
  const large = of({
    'gen_ai.tool.call.id': 'one',
    agent: { id: 'mcp:a', host: 'mcp', model_tier: 'large' },
    message: 'm'.repeat(50_000),
    target: Array.from({ length: 3_000 }, (_, index) => ({ kind: 'command', surface: 'ssh', text: index === 0 ? command : `n ${index}` })),
    effect: { state: 'task', upid: 'UPID:a', paths: Array.from({ length: 5_000 }, (_, index) => `p${index}`) },
    duration_ms: 12,
  });
  const { attributes } = fitRecord(large);

  it('is cut to the limit, to the last byte or nearly', () => {
    expect(bytesOf(attributes)).toBeLessThanOrEqual(mostRecordBytes);
    expect(bytesOf(attributes)).toBeGreaterThan(mostRecordBytes * 0.9);
  });

  it('keeps what is small whole, and of what is large the beginning, as what it was', () => {
    const { 'gen_ai.tool.call.id': id, agent, duration_ms: took } = large.attributes;
    expect(attributes).toMatchObject({ 'gen_ai.tool.call.id': id, agent, duration_ms: took, effect: { state: 'task', upid: 'UPID:a' } });
    expect(attributes['message']).toMatch(/^m{5000,}…$/);
    const [first] = attributes['target'] as readonly JsonObject[];
    expect(first).toMatchObject({ kind: 'command', surface: 'ssh' });
    const text = String(first?.['text']);
    expect(text.isWellFormed() && text.endsWith('…') && command.startsWith(text.slice(0, -1))).toBe(true);
  });

  it('says of each part that lost something how large it was, and its digest', () => {
    const { cut } = attributes;
    expect(Object.keys(cut as JsonObject)).toEqual(['message', 'target', 'effect']);
    for (const [name, mark] of Object.entries(cut as JsonObject)) {
      const was = canonicalJson(large.attributes[name] ?? null);
      expect(mark).toEqual({ bytes: Buffer.byteLength(was), sha256: sha256(was) });
    }
  });

  it('is sealed as it was cut, and not cut again', () => {
    expect(seal(large, undefined, 0).attributes).toEqual(attributes);
    expect(fitRecord(of(attributes)).attributes).toBe(attributes);
  });

  it('stays within the limit whatever it is made of, and what is even with the others stays whole', () => {
    const many = Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`key ${index}`, index]));
    const named = { ['\u0001'.repeat(40_000)]: 1, ['n'.repeat(longestAttributeName)]: 'x'.repeat(40_000) };
    const even = Object.fromEntries(
      Array.from({ length: mostAttributes }, (_, index) => [`k${index}`, 'x'.repeat(index === 0 ? 90_000 : 300)]),
    );
    for (const made of [many, named, even, { a: many, b: named, c: [[[command]]] }, { cut: 'c'.repeat(90_000), a: 1 }]) {
      const fitted = fitRecord(of(made)).attributes;
      expect(bytesOf(fitted)).toBeLessThanOrEqual(mostRecordBytes);
      expect(isJsonObject(fitted['cut'])).toBe(true);
    }
    expect(fitRecord(of(even)).attributes).toMatchObject({ k1: even['k1'], k63: even['k63'], cut: { k0: { bytes: 90_002 } } });
    expect(fitRecord(of(many)).attributes).toMatchObject({ 'key 0': 0, cut: { '': { left_out: 5_000 - mostAttributes } } });
  });

  it('is one from the first byte over the limit, and none at it', () => {
    const room = mostRecordBytes - bytesOf({ a: '' });
    const whole = of({ a: 'x'.repeat(room) });
    expect(fitRecord(whole)).toBe(whole);
    const over = fitRecord(of({ a: 'x'.repeat(room + 1) }));
    expect(over.attributes).toMatchObject({ cut: { a: { bytes: room + 3 } } });
  });

  it('without a canonical form is refused as a small one is', () => {
    expect(() => fitRecord(of({ a: '\ud800'.repeat(40_000) }))).toThrow(TypeError);
  });
});
