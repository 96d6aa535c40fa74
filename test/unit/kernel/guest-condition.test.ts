import { describe, expect, it } from 'vitest';
import { changedSince, type GuestCondition, unreadSince } from '#kernel/guest-condition';

const guest: GuestCondition = { vmid: 100, exists: true, node: 'pve', status: 'running', digest: 'a', settings: 'b', snapshots: [] };

describe('what became of a guest since it was approved', () => {
  it.each<[string, Partial<Record<keyof GuestCondition, unknown>>, string | undefined]>([
    ['nothing', {}, undefined],
    ['another state', { status: 'stopped' }, 'guest 100: its state'],
    ['a lock', { lock: 'backup' }, 'guest 100: its lock'],
    // Somebody who looks for a change that nobody made looks in vain.
    ['a state that nobody could read', { status: undefined }, 'guest 100: its state (could not be read just now)'],
    [
      'no configuration, no snapshots',
      { digest: undefined, settings: undefined, snapshots: undefined },
      'guest 100: its configuration (could not be read just now), its snapshots (could not be read just now)',
    ],
  ])('%s', (_what, change, words) => {
    expect(changedSince([JSON.parse(JSON.stringify(guest))], [{ ...guest, ...change } as GuestCondition])).toBe(words);
  });

  it('is not known where all that differs could not be read, and a lock that could is', () => {
    const { digest: _digest, ...foretold } = guest;
    const since = (change: Partial<Record<keyof GuestCondition, unknown>>) =>
      unreadSince([JSON.parse(JSON.stringify(foretold))], [{ ...foretold, ...change } as GuestCondition]);
    expect(since({})).toBeUndefined();
    expect(since({ snapshots: undefined })).toContain('its snapshots');
    expect(since({ snapshots: undefined, status: 'stopped' })).toBeUndefined();
    expect(since({ lock: 'backup' })).toBeUndefined();
  });
});
