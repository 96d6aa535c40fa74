import { describe, expect, it } from 'vitest';
import { formatField } from '#hosts/vscode/commands/format-field';
import { doctorPage, resultPage } from '#hosts/vscode/commands/result-page';
import type { JsonValue } from '#kernel/json';

const page = (result: JsonValue) => resultPage('Get VMs', { status: 'ok', code: 'ok', message: '2 VMs', result });
const lines = (result: JsonValue) => page(result).split('\n');

describe('resultPage', () => {
  it('is a table with what people look for first', () => {
    const text = lines({
      vms: [{ netin: 5, uptime: 7500, status: 'running', vmid: 100, name: 'web', maxmem: 2 ** 31, cpu: 0.089, lock: '' }],
      total: 1,
    });
    expect(text).toContain('| vmid | name | status | cpu | maxmem | uptime |');
    expect(text).toContain('| 100 | web | running | 8\\.9\u00a0\\% | 2\\.0\u00a0GiB | 2 h 5 min |');
    expect(text).toContain('| total | 1 |');
  });

  it('lays an object out flat', () => {
    const text = lines({ node: 'pve', memory: { total: 2 ** 34, used: 2 ** 33 }, loadavg: [1, 2] });
    expect(text).toContain('| memory\\.total | 16\\.0\u00a0GiB |');
    expect(text).toContain('| loadavg | `[1,2]` |');
  });

  it('says when there is nothing, and when there is more', () => {
    expect(page([])).toContain('Nothing there.');
    expect(page(Array.from({ length: 501 }, (_, n) => ({ n: n + 1 })))).toContain('1 more are not shown.');
  });

  it('shows a guest’s name as it is', () => {
    const text = page({ vms: [{ vmid: 1, name: '![x](https://evil.example) | <script>' }] });
    expect(text).toContain('\\!\\[x\\]\\(https\\:\\/\\/evil\\.example\\) \\| \\<script\\>');
  });

  it.each([null, 'text', 7, [1, 'a'], {}])('takes any result: %j', (result) => {
    expect(page(result)).toMatch(/^# Get VMs\n\n2 VMs/);
  });
});

it('doctorPage lists findings, and remedies apart', () => {
  const text = doctorPage([
    { topic: 'store', state: 'ok', message: 'fine' },
    { topic: 'ssh', state: 'failed', message: 'refused', remedy: 'run `ssh-keyscan`' },
  ]);
  expect(text).toContain('| ✔ ok | store | fine |');
  expect(text).toContain('| ✘ failed | ssh | refused |');
  expect(text).toContain('- **ssh**: run \\`ssh\\-keyscan\\`');
  expect(doctorPage([{ topic: 'store', state: 'ok', message: 'fine' }])).not.toContain('What to do');
});

describe('formatField', () => {
  it.each([
    ['mem', 0, '0'],
    ['mem', 2 ** 20, '1\u00a0MiB'],
    ['total', 6, '6'],
    ['cpu', 1, '100.0\u00a0%'],
    ['cpu', 4, '4'],
    ['uptime', 0, ''],
    ['uptime', 59, '0 min'],
    ['uptime', 90_000, '1 d 1 h'],
    ['starttime', 1_767_225_600, '2026-01-01 00:00'],
    ['vmid', 100, '100'],
    ['name', null, ''],
    ['flag', true, 'true'],
  ] as const)('%s %j: %s', (name, value, text) => {
    expect(formatField(name, value)).toBe(text);
  });
});
