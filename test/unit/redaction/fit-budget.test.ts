import { describe, expect, it } from 'vitest';
import { isJsonObject } from '#kernel/json';
import { cutText, fitBudget } from '#redaction/fit-budget';

const rows = (count: number) =>
  Array.from({ length: count }, (_none, index) => ({ vmid: 100 + index, name: `vm-${index}`, status: 'running' }));

describe('a result that fits', () => {
  it('stays as it is', () => {
    const value = { text: 'x'.repeat(100), list: [1, 2, 3], cursor: 'c' };
    expect(fitBudget(value, 1_000)).toEqual({ value, texts: 0, lists: [] });
  });
});

describe('a long text', () => {
  it('keeps its head and tail, and says how much is missing', () => {
    const content = Array.from({ length: 5_000 }, (_none, index) => `${index + 1}\tline`).join('\n');
    const { value, texts, lists } = fitBudget({ path: 'a.txt', content, total_lines: 5_000 }, 8_000);
    expect({ texts, lists }).toEqual({ texts: 1, lists: [] });
    if (!isJsonObject(value) || typeof value.content !== 'string') throw new Error('no content');
    expect(value).toMatchObject({ path: 'a.txt', total_lines: 5_000 });
    expect(value.content).toMatch(/^1\tline\n2\tline\n/);
    expect(value.content).toMatch(/\n4999\tline\n5000\tline$/);
    // At line ends: no line is there in part.
    const [, before, missing, all, after] =
      /(\d+\tline)\n\[… (\d+) of (\d+) characters left out …\]\n(\d+\tline)/.exec(value.content) ?? [];
    expect([before, after]).toEqual([expect.stringMatching(/^\d+\tline$/), expect.stringMatching(/^\d+\tline$/)]);
    expect(Number(all)).toBe(content.length);
    const note = `\n[… ${missing} of ${all} characters left out …]\n`;
    expect(value.content.length - note.length + Number(missing)).toBe(content.length);
    expect(JSON.stringify(value).length).toBeLessThanOrEqual(8_000);
    expect(JSON.stringify(value).length).toBeGreaterThan(7_000);
  });

  it('beside a short one takes the cut alone', () => {
    const { value } = fitBudget({ stdout: 'x'.repeat(50_000), stderr: 'warning: y' }, 4_000);
    expect(value).toMatchObject({ stderr: 'warning: y' });
  });

  it.each([0, 1, 2, 10, 40, 79, 80, 81, 500])('is never longer than %d', (length) => {
    expect(cutText('😀'.repeat(400), length).length).toBeLessThanOrEqual(length);
    expect(cutText('😀'.repeat(400), length).isWellFormed()).toBe(true);
  });
});

describe('a long list', () => {
  it('loses its end, says how many rows are left out, and no longer the cursor behind them', () => {
    const { value, lists, texts } = fitBudget({ vms: rows(500), total: 900, cursor: '500.abcdef01' }, 8_000);
    if (!isJsonObject(value) || !Array.isArray(value.vms)) throw new Error('no rows');
    expect(texts).toBe(0);
    expect(value).not.toHaveProperty('cursor');
    expect(value).toMatchObject({ total: 900, vms_left_out: 500 - value.vms.length });
    expect(value.vms).toEqual(rows(value.vms.length));
    expect(lists).toEqual([{ key: 'vms', kept: value.vms.length, all: 500 }]);
    expect(value.vms.length).toBeGreaterThan(100);
  });

  it('of texts is a list of texts still', () => {
    const { value } = fitBudget(
      Array.from({ length: 100 }, () => 'y'.repeat(5_000)),
      20_000,
    );
    expect(Array.isArray(value)).toBe(true);
    expect(JSON.stringify(value).length).toBeLessThanOrEqual(20_000);
  });
});

it('what cannot be made to fit is an empty value of its kind', () => {
  const many = Object.fromEntries(Array.from({ length: 5_000 }, (_none, index) => [`key${index}`, index]));
  expect(fitBudget(many, 1_000).value).toEqual({});
  expect(fitBudget(['a', 'b'], 1).value).toEqual([]);
});
