import { describe, expect, it } from 'vitest';
import { english } from '#kernel/text/message';
import { decideWindows, openUntil, type TimeWindow, timesFlaw, windowsInWords } from '#policy/scopes/windows';

const at = (text: string) => Date.parse(text);
const nightly = (more: Partial<TimeWindow> = {}): TimeWindow => ({
  name: 'nights',
  kind: 'freeze',
  reason: 'backups run',
  zone: 'Europe/Berlin',
  times: [{ start: '2026-01-01T02:30', duration: 'PT1H', rrule: 'FREQ=DAILY' }],
  ...more,
});
const isOpen = (window: TimeWindow, when: string) => openUntil(window, at(when)) !== undefined;

describe('a window on a wall clock', () => {
  it('holds from its start to just before its end', () => {
    const winter = nightly();
    expect(isOpen(winter, '2026-02-03T01:29:59.999Z')).toBe(false);
    expect(isOpen(winter, '2026-02-03T01:30:00Z')).toBe(true);
    expect(isOpen(winter, '2026-02-03T02:29:59.999Z')).toBe(true);
    expect(isOpen(winter, '2026-02-03T02:30:00Z')).toBe(false);
    // In summer the wall clock is another hour ahead.
    expect(isOpen(winter, '2026-07-03T00:29:00Z')).toBe(false);
    expect(isOpen(winter, '2026-07-03T00:30:00Z')).toBe(true);
    expect(isOpen(winter, '2026-07-03T01:30:00Z')).toBe(false);
  });

  it('counts a start that does not come in spring by the offset before the gap, and keeps its length', () => {
    // 2026-03-29 in Berlin: 02:00 is followed by 03:00, at 01:00 UTC. 02:30 by the winter's offset is 01:30 UTC.
    expect(isOpen(nightly(), '2026-03-29T01:29:00Z')).toBe(false);
    expect(isOpen(nightly(), '2026-03-29T01:30:00Z')).toBe(true);
    expect(isOpen(nightly(), '2026-03-29T02:29:00Z')).toBe(true);
    expect(isOpen(nightly(), '2026-03-29T02:30:00Z')).toBe(false);
  });

  it('begins at the first of two in autumn, once', () => {
    // 2026-10-25 in Berlin: 03:00 is followed by 02:00, at 01:00 UTC. The first 02:30 is at 00:30 UTC.
    expect(isOpen(nightly(), '2026-10-25T00:29:00Z')).toBe(false);
    expect(isOpen(nightly(), '2026-10-25T00:30:00Z')).toBe(true);
    expect(isOpen(nightly(), '2026-10-25T01:29:00Z')).toBe(true);
    // The second 02:30.
    expect(isOpen(nightly(), '2026-10-25T01:30:00Z')).toBe(false);
  });

  it('takes days for days of the calendar, and hours for exact ones, over a change', () => {
    const days = nightly({ times: [{ start: '2026-03-28T12:00', duration: 'P1D' }] });
    const hours = nightly({ times: [{ start: '2026-03-28T12:00', duration: 'PT24H' }] });
    // The next noon comes after 23 hours.
    expect(openUntil(days, at('2026-03-28T12:00:00Z'))).toBe(at('2026-03-29T10:00:00Z'));
    expect(openUntil(hours, at('2026-03-28T12:00:00Z'))).toBe(at('2026-03-29T11:00:00Z'));
    const autumn = nightly({ times: [{ start: '2026-10-24T12:00', duration: 'P1D' }] });
    expect(openUntil(autumn, at('2026-10-24T12:00:00Z'))).toBe(at('2026-10-25T11:00:00Z'));
  });

  it('is known in zones far from UTC, south of it, and with half hours', () => {
    const once = (zone: string) => nightly({ zone, times: [{ start: '2026-10-04T02:30', duration: 'PT1H' }] });
    expect(openUntil(once('Pacific/Kiritimati'), at('2026-10-03T12:45:00Z'))).toBe(at('2026-10-03T13:30:00Z'));
    expect(openUntil(once('America/St_Johns'), at('2026-10-04T05:10:00Z'))).toBe(at('2026-10-04T06:00:00Z'));
    // Sydney springs forward on that very night, from 02:00 to 03:00.
    expect(openUntil(once('Australia/Sydney'), at('2026-10-03T16:45:00Z'))).toBe(at('2026-10-03T17:30:00Z'));
    expect(openUntil(once('UTC'), at('2026-10-04T03:00:00Z'))).toBe(at('2026-10-04T03:30:00Z'));
  });

  it('lasts over many days, and ends with UNTIL', () => {
    const holidays = nightly({ times: [{ start: '2025-12-20T18:00', duration: 'P17DT12H', rrule: 'FREQ=YEARLY;UNTIL=20271231' }] });
    expect(openUntil(holidays, at('2026-01-06T12:00:00Z'))).toBe(at('2026-01-07T05:00:00Z'));
    expect(isOpen(holidays, '2026-01-07T05:00:00Z')).toBe(false);
    expect(isOpen(holidays, '2027-12-31T12:00:00Z')).toBe(true);
    expect(isOpen(holidays, '2028-12-31T12:00:00Z')).toBe(false);
    const until = nightly({ times: [{ start: '2026-01-01T02:30', duration: 'PT1H', rrule: 'FREQ=DAILY;UNTIL=20260103T013000Z' }] });
    expect(isOpen(until, '2026-01-03T01:30:00Z')).toBe(true);
    expect(isOpen(until, '2026-01-04T01:30:00Z')).toBe(false);
    const before = nightly({ times: [{ start: '2026-01-01T02:30', duration: 'PT1H', rrule: 'FREQ=DAILY;UNTIL=20260103T012959Z' }] });
    expect(isOpen(before, '2026-01-03T01:30:00Z')).toBe(false);
  });

  it.each([
    [{ start: '2026-02-31T02:30', duration: 'PT1H' }, /`start`/],
    [{ start: '2026-02-01T02:30Z', duration: 'PT1H' }, /`start`/],
    [{ start: '2026-02-01', duration: 'PT1H' }, /`start`/],
    [{ start: '2026-02-01T25:00', duration: 'PT1H' }, /`start`/],
    [{ start: '2026-02-01T02:30', duration: 'PT' }, /`duration`/],
    [{ start: '2026-02-01T02:30', duration: 'P' }, /`duration`/],
    [{ start: '2026-02-01T02:30', duration: 'PT0S' }, /`duration`/],
    [{ start: '2026-02-01T02:30', duration: 'P900D' }, /`duration`/],
    [{ start: '2026-02-01T02:30', duration: '-PT1H' }, /`duration`/],
    [{ start: '2026-02-01T02:30', duration: 'PT1H', rrule: 'FREQ=HOURLY' }, /`rrule`: `FREQ`/],
  ])('%j cannot be understood', (times, words) => {
    expect(timesFlaw(times, 'Europe/Berlin')).toMatch(words);
  });
});

const guest = (more: object = {}) => ({
  words: 'guest 100',
  cluster: 'lab',
  vmid: 100,
  node: 'pve',
  tags: ['web'],
  pool: 'prod',
  name: 'web',
  ...more,
});

/** Closed right before, open from the first moment to the last, closed at the end. */
function expectSpan(window: TimeWindow, [from, to]: readonly [string, string]): void {
  expect(new Date(openUntil(window, at(from)) ?? 0).toISOString()).toBe(new Date(at(to)).toISOString());
  expect([-1, 0].map((ms) => openUntil(window, at(from) + ms) !== undefined)).toEqual([false, true]);
  expect([-1, 0].map((ms) => openUntil(window, at(to) + ms) !== undefined)).toEqual([true, false]);
}

describe('a window over the nights on which clocks change, and ends of months', () => {
  it.each<[string, string, TimeWindow['times'][number], readonly [string, string]]>([
    [
      'all day in spring: 23 hours',
      'Europe/Berlin',
      { start: '2026-03-29T00:00', duration: 'P1D' },
      ['2026-03-28T23:00Z', '2026-03-29T22:00Z'],
    ],
    [
      'all day in autumn: 25 hours',
      'Europe/Berlin',
      { start: '2026-10-25T00:00', duration: 'P1D' },
      ['2026-10-24T22:00Z', '2026-10-25T23:00Z'],
    ],
    ['24 hours in spring', 'Europe/Berlin', { start: '2026-03-29T00:00', duration: 'PT24H' }, ['2026-03-28T23:00Z', '2026-03-29T23:00Z']],
    ['24 hours in autumn', 'Europe/Berlin', { start: '2026-10-25T00:00', duration: 'PT24H' }, ['2026-10-24T22:00Z', '2026-10-25T22:00Z']],
    [
      'in New York’s missing hour',
      'America/New_York',
      { start: '2026-03-08T02:30', duration: 'PT30M' },
      ['2026-03-08T07:30Z', '2026-03-08T08:00Z'],
    ],
    [
      'in New York’s double hour',
      'America/New_York',
      { start: '2026-11-01T01:30', duration: 'PT1H' },
      ['2026-11-01T05:30Z', '2026-11-01T06:30Z'],
    ],
    [
      'where half an hour is missing',
      'Australia/Lord_Howe',
      { start: '2026-10-04T02:15', duration: 'PT15M' },
      ['2026-10-03T15:45Z', '2026-10-03T16:00Z'],
    ],
    [
      'where half an hour is double',
      'Australia/Lord_Howe',
      { start: '2026-04-05T01:45', duration: 'PT10M' },
      ['2026-04-04T14:45Z', '2026-04-04T14:55Z'],
    ],
    [
      'all day where midnight is missing',
      'Africa/Cairo',
      { start: '2026-04-24T00:00', duration: 'P1D' },
      ['2026-04-23T22:00Z', '2026-04-24T21:00Z'],
    ],
    [
      'the last day of February',
      'UTC',
      { start: '2026-01-31T22:00', duration: 'PT4H', rrule: 'FREQ=MONTHLY;BYMONTHDAY=-1' },
      ['2026-02-28T22:00Z', '2026-03-01T02:00Z'],
    ],
    [
      'the last day of a leap February',
      'UTC',
      { start: '2026-01-31T22:00', duration: 'PT4H', rrule: 'FREQ=MONTHLY;BYMONTHDAY=-1' },
      ['2028-02-29T22:00Z', '2028-03-01T02:00Z'],
    ],
    [
      'over the end of a year',
      'Europe/Berlin',
      { start: '2020-12-31T20:00', duration: 'P1D', rrule: 'FREQ=YEARLY' },
      ['2026-12-31T19:00Z', '2027-01-01T19:00Z'],
    ],
    [
      'the last Sunday of October, the very night',
      'Europe/Berlin',
      { start: '2020-10-25T01:00', duration: 'PT4H', rrule: 'FREQ=YEARLY;BYMONTH=10;BYDAY=-1SU' },
      ['2026-10-24T23:00Z', '2026-10-25T03:00Z'],
    ],
    [
      'the last of its COUNT',
      'Europe/Berlin',
      { start: '2026-10-18T02:30', duration: 'PT1H', rrule: 'FREQ=WEEKLY;COUNT=2' },
      ['2026-10-25T00:30Z', '2026-10-25T01:30Z'],
    ],
    [
      'UNTIL the second on which it begins',
      'Europe/Berlin',
      { start: '2026-10-20T02:30', duration: 'PT1H', rrule: 'FREQ=DAILY;UNTIL=20261025T003000Z' },
      ['2026-10-25T00:30Z', '2026-10-25T01:30Z'],
    ],
    [
      'UNTIL it begins after the missing hour',
      'Europe/Berlin',
      { start: '2026-03-20T02:30', duration: 'PT1H', rrule: 'FREQ=DAILY;UNTIL=20260329T013000Z' },
      ['2026-03-29T01:30Z', '2026-03-29T02:30Z'],
    ],
  ])('%s (%s)', (_what, zone, times, span) => {
    expectSpan(nightly({ zone, times: [times] }), span);
  });

  it.each<[string, TimeWindow['times'][number], string]>([
    ['after its COUNT', { start: '2026-10-18T02:30', duration: 'PT1H', rrule: 'FREQ=WEEKLY;COUNT=2' }, '2026-11-01T01:30Z'],
    [
      'a second before it would begin in autumn',
      { start: '2026-10-20T02:30', duration: 'PT1H', rrule: 'FREQ=DAILY;UNTIL=20261025T002959Z' },
      '2026-10-25T00:30Z',
    ],
    [
      'a second before it would begin in spring',
      { start: '2026-03-20T02:30', duration: 'PT1H', rrule: 'FREQ=DAILY;UNTIL=20260329T012959Z' },
      '2026-03-29T01:30Z',
    ],
    ['in a month without the 31st', { start: '2026-01-31T02:30', duration: 'PT1H', rrule: 'FREQ=MONTHLY' }, '2026-02-28T01:30Z'],
    ['nor on the day after such a month', { start: '2026-01-31T02:30', duration: 'PT1H', rrule: 'FREQ=MONTHLY' }, '2026-03-01T01:30Z'],
  ])('does not open %s', (_what, times, moment) => {
    expect(openUntil(nightly({ times: [times] }), at(moment))).toBeUndefined();
  });

  it('does not open on the days that are taken out, which count in COUNT', () => {
    const times = { start: '2026-12-23T18:00', duration: 'PT6H', rrule: 'FREQ=DAILY;COUNT=4', exdates: ['2026-12-24', '2026-12-26'] };
    const window = nightly({ zone: 'UTC', times: [times] });
    const days = [22, 23, 24, 25, 26, 27].filter((day) => isOpen(window, `2026-12-${day}T18:00Z`));
    expect(days).toEqual([23, 25]);
    expect(decideWindows([{ ...window, kind: 'maintenance' }], [], at('2026-12-24T19:00Z')).reason).toContain(
      'opens next at 2026-12-25T18:00',
    );
  });

  it.each([
    [['2026-12-32'], /`2026-12-32` is no day/],
    [['2026-02-30'], /is no day/],
    [['20261224'], /is no day/],
    [['2026-12-22'], /does not open on 2026-12-22 anyway/],
    [['2026-12-27'], /does not open on 2026-12-27 anyway/],
    [['2026-12-23', '2026-12-24', '2026-12-25', '2026-12-26'], /no day is left/],
  ])('takes out no days that are none: %j', (exdates, words) => {
    expect(timesFlaw({ start: '2026-12-23T18:00', duration: 'PT6H', rrule: 'FREQ=DAILY;COUNT=4', exdates }, 'UTC')).toMatch(words);
  });

  it('holds for as long as the longest of times that overlap', () => {
    const both = nightly({
      zone: 'UTC',
      times: [
        { start: '2026-01-01T00:00', duration: 'PT6H', rrule: 'FREQ=DAILY' },
        { start: '2026-01-05T05:00', duration: 'P2D', rrule: 'FREQ=WEEKLY' },
      ],
    });
    expect(openUntil(both, at('2026-01-12T05:30Z'))).toBe(at('2026-01-14T05:00Z'));
    expect(isOpen(both, '2026-01-11T06:00Z')).toBe(false);
  });
});

describe('windows', () => {
  const prod = nightly({ only: { pools: ['prod'] } });
  const during = at('2026-02-03T02:00:00Z');
  const after = at('2026-02-03T12:00:00Z');

  it('freeze what they are about while they are open, with the reason and the end', () => {
    const decision = decideWindows([nightly()], [], during);
    expect(decision).toMatchObject({ effect: 'deny', code: 'frozen', rules: ['windows.nights'] });
    expect(decision.reason).toBe(
      'nothing that changes a cluster runs until 2026-02-03T03:30 Europe/Berlin: freeze window `nights`; the reason given: backups run',
    );
    expect(decideWindows([nightly()], [], after).effect).toBe('allow');
    expect(decideWindows([prod], [guest()], during).code).toBe('frozen');
    expect(decideWindows([prod], [guest({ pool: 'prod/db' })], during).code).toBe('frozen');
    expect(decideWindows([prod], [guest({ pool: 'test' })], during).effect).toBe('allow');
    expect(decideWindows([prod], [guest({ pool: null })], during).effect).toBe('allow');
  });

  it('take what is not known for what they are about', () => {
    expect(decideWindows([prod], [guest({ pool: undefined })], during).code).toBe('frozen');
    expect(decideWindows([prod], [guest({ pool: 'test' }), guest({ pool: undefined })], during).code).toBe('frozen');
    const dbs = nightly({ only: { names: ['db-*'] } });
    expect(decideWindows([dbs], [guest({ name: undefined })], during).code).toBe('frozen');
  });

  it('of maintenance hold what they are about while they are closed, and say when they open', () => {
    const maintenance = nightly({ kind: 'maintenance', only: { pools: ['prod'] }, reason: 'customers are asleep' });
    expect(decideWindows([maintenance], [guest()], during).effect).toBe('allow');
    const refused = decideWindows([maintenance], [guest()], after);
    expect(refused).toMatchObject({ effect: 'deny', code: 'outside_maintenance' });
    expect(refused.reason).toContain('which opens next at 2026-02-04T02:30 Europe/Berlin');
    expect(decideWindows([maintenance], [guest({ pool: 'test' })], after).effect).toBe('allow');
    const over = { ...maintenance, times: [{ start: '2020-01-01T00:00', duration: 'PT1H' }] };
    expect(decideWindows([over], [guest()], after).reason).toContain('which does not open again');
    // Each of several has to be open.
    const other = { ...maintenance, name: 'days', times: [{ start: '2026-01-01T12:00', duration: 'PT6H', rrule: 'FREQ=DAILY' }] };
    expect(decideWindows([maintenance, other], [guest()], during).rules).toEqual(['windows.days']);
  });

  it('are told to people', () => {
    const told = (window: TimeWindow, now: number) =>
      windowsInWords([window], now)
        .map(({ open, words }) => `${open} ${english(words)}`)
        .join();
    expect(told(nightly(), during)).toMatch(/^true .*; for every change of a cluster; open until 2026-02-03T03:30/);
    expect(told(prod, after)).toContain('for pool `prod`; opens at 2026-02-04T02:30');
  });
});
