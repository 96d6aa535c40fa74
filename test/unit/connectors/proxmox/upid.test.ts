import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parseUpid, readUpid } from '#connectors/proxmox/rows';

const sample = 'UPID:pve:000001BD:00067A48:6B01FA40:qmstop:100:jarvis@pve!ops:';

describe('readUpid', () => {
  it('takes one apart', () => {
    expect(readUpid(sample)).toEqual({
      text: sample,
      node: 'pve',
      pid: 0x1bd,
      startTime: 0x6b01fa40,
      type: 'qmstop',
      id: '100',
      user: 'jarvis@pve!ops',
    });
  });

  it('knows ids that are empty and long uptimes', () => {
    expect(readUpid('UPID:Home:0000AAAA:123456789:6B01FA40:startall::root@pam:')).toMatchObject({ id: '', type: 'startall' });
  });

  it('reads every one that the lab recorded', () => {
    const text =
      readFileSync('test/fixtures/pve/exchanges.json', 'utf8') + readFileSync('test/fixtures/pve/exchanges-degraded.json', 'utf8');
    const found = new Set(text.match(/UPID:(?!bad)[^"]+?:(?=")/g));
    expect(found.size).toBeGreaterThan(20);
    for (const upid of found) expect(readUpid(upid), upid).toBeDefined();
  });

  it.each([
    '',
    'UPID:bad',
    sample.slice(0, -1),
    `${sample}x`,
    `${sample}\n`,
    sample.replace('6B01FA40', 'xyz'),
    sample.replace('100', '1/0'),
    sample.replace('qmstop', 'qm stop'),
    sample.replace(':jarvis@pve!ops', ''),
    sample.replace('pve:', 'a/b:'),
  ])('does not take %j', (text) => {
    expect(readUpid(text)).toBeUndefined();
  });
});

describe('parseUpid', () => {
  it.each(['UPID:bad', sample.replace(':pve:', ':localhost:'), sample.replace(':pve:', ':2130706433:')])('refuses %j', (text) => {
    expect(() => parseUpid(text)).toThrow(expect.objectContaining({ code: 'bad_target' }) as Error);
  });

  it('gives the node to ask', () => {
    expect(parseUpid(sample).node).toBe('pve');
  });
});
