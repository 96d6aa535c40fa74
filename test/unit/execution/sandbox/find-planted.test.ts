import { describe, expect, it } from 'vitest';
import { findPlanted, type ScanFinding } from '#execution/sandbox/scan-workspace';

const startedAt = 1_000_000;
const finding = (more: Partial<ScanFinding>): ScanFinding => ({
  path: '.envrc',
  kind: 'control',
  directory: false,
  link: false,
  stamp: '1:900000:33188:3',
  changedAt: 900_000,
  always: true,
  ...more,
});
const scan = (findings: readonly ScanFinding[], complete = true) => ({ findings, complete });
const planted = (before: readonly ScanFinding[], after: readonly ScanFinding[], complete = true) =>
  findPlanted(scan(before, complete), scan(after), startedAt);

describe('the difference between two looks', () => {
  it('is nothing between two that are alike', () => {
    expect(planted([finding({})], [finding({})])).toEqual([]);
  });

  it('is an entry that was not there, however old it says it is', () => {
    expect(planted([], [finding({})])).toEqual(['.envrc (another program runs or obeys it)']);
  });

  it('is an entry that was changed or replaced', () => {
    expect(planted([finding({})], [finding({ stamp: '1:1000001:33188:4', changedAt: 1_000_001 })])).toHaveLength(1);
    expect(planted([finding({})], [finding({ stamp: '2:900000:33188:3' })])).toHaveLength(1);
  });

  it('is not an old entry that the first look did not get to', () => {
    expect(planted([], [finding({})], false)).toEqual([]);
    expect(planted([], [finding({ changedAt: startedAt + 5 })], false)).toHaveLength(1);
  });

  it('allows for the kernel’s coarser clock', () => {
    expect(planted([], [finding({ changedAt: startedAt - 10 })], false)).toHaveLength(1);
    expect(planted([], [finding({ changedAt: startedAt - 100 })], false)).toHaveLength(0);
  });

  it('is not an old entry of a kind that only a thorough look finds', () => {
    expect(planted([], [finding({ kind: 'link_out', always: false })])).toEqual([]);
    expect(planted([], [finding({ kind: 'set_id', always: false, changedAt: startedAt })])).toEqual([
      '.envrc (set-user-id or set-group-id)',
    ]);
  });

  it('is no repository in which somebody worked, but another one in its place', () => {
    const repository = finding({ path: '.git', kind: 'git_directory', directory: true, stamp: '7:1:2:3' });
    expect(planted([repository], [{ ...repository, stamp: '7:9:2:3', changedAt: startedAt + 1 }])).toEqual([]);
    expect(planted([repository], [{ ...repository, stamp: '8:1:2:3' }])).toEqual(['.git (a git repository)']);
  });

  it('is no directory by itself and no secret', () => {
    expect(planted([], [finding({ directory: true }), finding({ kind: 'secret', path: '.env' })])).toEqual([]);
  });

  it('names an entry of two kinds twice, and each kind once', () => {
    const both = [finding({ kind: 'fifo' }), finding({}), finding({})];
    expect(planted([], both)).toEqual(['.envrc (a FIFO)', '.envrc (another program runs or obeys it)']);
  });

  it('is cut to what a person reads', () => {
    const many = Array.from({ length: 60 }, (_, index) => finding({ path: `${String(index).padStart(2, '0')}/.envrc` }));
    const lines = planted([], many);
    expect(lines).toHaveLength(51);
    expect(lines.at(-1)).toBe('and 10 more');
  });
});
