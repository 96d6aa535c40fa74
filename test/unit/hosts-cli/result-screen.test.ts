import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import { resultForPeople } from '#hosts/cli/result-screen';
import type { JsonValue } from '#kernel/json';

const shown = (result: JsonValue, width = 100, colours = false) => resultForPeople(result, { width, colours }).join('\n');

const guest = { id: 'qemu/100', vmid: 100, node: 'pve', type: 'qemu', name: 'web', status: 'running', template: 0 };
const load = { maxcpu: 2, maxmem: 2 ** 31, mem: 2 ** 30, cpu: 0.125, uptime: 90_000, netin: 5 * 2 ** 20 };

describe('a list of objects', () => {
  it('is a table: a row each, numbers at the right, sizes, percent and time in words, nothing said twice', () => {
    const rows = [
      { ...guest, ...load },
      { ...guest, id: 'qemu/1001', vmid: 1001, name: 'nas', status: 'stopped', lock: 'backup', uptime: 0, cpu: 0, mem: 0, maxmem: 2 ** 32 },
    ];
    expect(shown({ vms: rows, total: 2 })).toBe(
      [
        '  ID  Node  Type  Name  Status                    Cores              Memory     CPU   Uptime  Netin',
        ' 100  pve   VM    web   running                       2  1.0 GiB of 2.0 GiB  12.5 %  1 d 1 h  5 MiB',
        '1001  pve   VM    nas   stopped, locked (backup)                    4.0 GiB',
      ].join('\n'),
    );
  });

  it('is aligned by the cells that its texts take, whatever the script', () => {
    const names = ['web', '日本語', 'ｶﾅ', 'ﾊﾝ', '한글', 'e\u0301te\u0301', '🚀'];
    const [, ...lines] = shown(names.map((name, index) => ({ name, vmid: 100 + index }))).split('\n');
    expect(lines).toEqual([
      'web     100',
      '日本語  101',
      'ｶﾅ      102',
      'ﾊﾝ      103',
      '한글    104',
      'e\u0301te\u0301     105',
      '🚀      106',
    ]);
  });

  it('never is wider than the terminal: counters go first and are named, then texts are cut', () => {
    const rows = [{ ...guest, ...load, notes: '漢字'.repeat(40) }];
    for (const width of [24, 40, 79, 80, 120]) {
      const lines = shown({ vms: rows }, width).split('\n');
      const cells = (line: string) => Array.from(line).reduce((sum, character) => sum + (/\p{sc=Han}/u.test(character) ? 2 : 1), 0);
      expect(Math.max(...lines.map(cells)), lines.join('\n')).toBeLessThanOrEqual(width);
      expect(lines.at(-1)).toMatch(/^`--json` has the re/);
    }
    const narrow = shown({ vms: rows }, 80);
    expect(narrow).toContain('漢…');
    expect(narrow).not.toMatch(/^.*Netin.*\n/);
  });

  it('shows what comes from outside plainly: no escape sequence, no line break, nothing that reorders', () => {
    const evil = 'web\u001b[2J\u009b31m\r\nok\u202e\u0007\u001b]52;c;eA==\u0007';
    const text = shown({
      [evil]: [{ [evil]: evil, name: evil, status: evil }],
      notes: evil,
      tags: [evil],
      more: { [evil]: { [evil]: evil } },
    });
    expect(text).not.toMatch(/[^\n\P{Cc}]|\p{Cf}/u);
    expect(text).toContain('web\\u{1b}[2J');
  });

  it('colours states alone, and without colours has the same texts', () => {
    const rows = [
      { name: 'running', status: 'running' },
      { name: 'failed', status: 'failed' },
    ];
    const colourful = shown(rows, 80, true);
    expect(colourful).toContain('running  \u001b[32mrunning\u001b[39m');
    expect(colourful).toContain('failed   \u001b[31mfailed \u001b[39m');
    expect(stripVTControlCharacters(colourful).replaceAll(/ +$/gm, '')).toBe(shown(rows, 80));
  });
});

describe('an object', () => {
  it('is a line a field; what is long stands below its name', () => {
    const status = {
      node: 'pve',
      online: true,
      memory: { total: 2 ** 34, used: 2 ** 32 },
      loadavg: [0.1, 0.25],
      master: null,
      stdout: 'one\n\ttwo\n',
      info: { model: 'x', cores: 4 },
    };
    expect(shown(status)).toBe(
      [
        'Node                 pve',
        'Online               yes',
        'Memory               4.0 GiB of 16.0 GiB',
        'Load (1, 5, 15 min)  0.1, 0.25',
        'Master               none',
        '',
        'Output:',
        '  one',
        '    two',
        '',
        'Info:',
        '  Model  x',
        '  Cores  4',
      ].join('\n'),
    );
  });

  it('of small objects is a table whose first column are the keys; one of rights names them', () => {
    expect(shown({ metrics: { cpu: { min: 0, average: 0.5 }, mem: { min: 2 ** 30, average: 2 ** 31 } } })).toBe(
      ['Name      Min  Average', 'cpu     0.0 %   50.0 %', 'mem   1.0 GiB  2.0 GiB'].join('\n'),
    );
    expect(shown({ permissions: { '/': { 'Sys.Audit': true, 'VM.Audit': true }, '/storage/local-lvm': {} } })).toBe(
      ['/                   Sys.Audit, VM.Audit', '/storage/local-lvm  none'].join('\n'),
    );
  });

  it.each<[JsonValue, string]>([
    [null, ''],
    ['text', 'text'],
    [[], ''],
    [{}, ''],
    [{ jobs: [], total: 0 }, 'Jobs  none'],
    [['a', 'b'], 'a, b'],
  ])('%j', (value, text) => {
    expect(shown(value)).toBe(text);
  });
});
