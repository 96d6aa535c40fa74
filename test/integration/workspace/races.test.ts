/** Another process swaps directories, links and pipes all the time while the tools open them. `scripts/race-paths.ts` runs far longer. */
import { describe, expect, it } from 'vitest';
import { ripgrep } from './machine-ripgrep.ts';
import { openRace } from './race.ts';
import { codeOf } from './support.ts';

const rounds = 1_500;

describe.runIf(process.platform === 'linux')('while links are swapped', () => {
  it('reads never leave the workspace, and some get through', async () => {
    const race = await openRace();
    const seen = await race.reads(rounds);
    expect(seen.outside).toBe(0);
    expect(seen.inside).toBeGreaterThan(0);
    expect(seen.refused).toBeGreaterThan(0);
  });

  it('writes never leave the workspace', async () => {
    const race = await openRace();
    const seen = await race.writes(rounds / 3);
    expect(race.outsideNames()).toEqual(['secret.txt']);
    expect(race.outsideText()).toBe('OUTSIDE needle\n');
    expect(seen.inside).toBeGreaterThan(0);
  });

  it('listings and searches show nothing from outside', async () => {
    const race = await openRace(ripgrep === undefined ? [] : [ripgrep]);
    const seen = await race.looks(rounds / 15);
    expect(seen.outside).toBe(0);
    expect(seen.inside).toBeGreaterThan(0);
  });

  it('the swapping is real: following the path by its name does leave the workspace', async () => {
    const race = await openRace();
    expect(await codeOf(race.naiveReads(20_000))).toBe('none');
    // On a busy machine the process that swaps may not run for many rounds.
    let outside = 0;
    for (let batch = 0; batch < 200 && outside === 0; batch += 1) ({ outside } = await race.naiveReads(20_000));
    expect(outside).toBeGreaterThan(0);
  }, 120_000);
});
