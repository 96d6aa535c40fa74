/** The examples of RFC 5545 §3.8.5.3 whose parts are days, and what is refused. */
import { describe, expect, it } from 'vitest';
import { dayOf, parseRecurrence } from '#policy/scopes/recurrence';

function day(text: string): number {
  return dayOf(Number(text.slice(0, 4)), Number(text.slice(4, 6)), Number(text.slice(6, 8)));
}

function name(of: number): string {
  return new Date(of * 86_400_000).toISOString().slice(0, 10).replaceAll('-', '');
}

/** Windows have a time of day; here every UNTIL with one is of the day before midnight in New York. */
const untilIn = (value: string) => (value.includes('T') ? day(value) - (value.endsWith('T000000Z') ? 1 : 0) : day(value));

function first(count: number, start: string, rule: string): readonly string[] {
  const parsed = parseRecurrence(rule, day(start), untilIn);
  if (!parsed.ok) throw new Error(parsed.why);
  const found: string[] = [];
  for (let one = day(start) - 400; found.length < count && one < day(start) + 366 * 12; one += 1) {
    if (parsed.recurrence.occursOn(one)) found.push(name(one));
  }
  return found;
}

/** `0902 0904; 1998 0102`: month and day, with the year where it is another. */
function listed(text: string, year = '1997'): readonly string[] {
  let current = year;
  return text.split(/[\s;]+/).flatMap((part) => {
    if (/^(?:19|20)\d\d$/.test(part) && Number(part) > 1900) {
      current = part;
      return [];
    }
    return [`${current}${part}`];
  });
}

const all = 1_000;

describe('a recurrence rule', () => {
  it.each<[start: string, rule: string, count: number, days: string]>([
    ['19970902', 'FREQ=DAILY;COUNT=10', all, '0902 0903 0904 0905 0906 0907 0908 0909 0910 0911'],
    ['19970902', 'FREQ=DAILY;INTERVAL=2', 6, '0902 0904 0906 0908 0910 0912'],
    ['19970902', 'FREQ=DAILY;INTERVAL=10;COUNT=5', all, '0902 0912 0922 1002 1012'],
    ['19970902', 'FREQ=WEEKLY;COUNT=10', all, '0902 0909 0916 0923 0930 1007 1014 1021 1028 1104'],
    ['19970902', 'FREQ=WEEKLY;INTERVAL=2;WKST=SU', 5, '0902 0916 0930 1014 1028'],
    ['19970902', 'FREQ=WEEKLY;UNTIL=19971007T000000Z;WKST=SU;BYDAY=TU,TH', all, '0902 0904 0909 0911 0916 0918 0923 0925 0930 1002'],
    [
      '19970901',
      'FREQ=WEEKLY;INTERVAL=2;UNTIL=19971224T000000Z;WKST=SU;BYDAY=MO,WE,FR',
      all,
      '0901 0903 0905 0915 0917 0919 0929 1001 1003 1013 1015 1017 1027 1029 1031 1110 1112 1114 1124 1126 1128 1208 1210 1212 1222',
    ],
    ['19970902', 'FREQ=WEEKLY;INTERVAL=2;COUNT=8;WKST=SU;BYDAY=TU,TH', all, '0902 0904 0916 0918 0930 1002 1014 1016'],
    ['19970905', 'FREQ=MONTHLY;COUNT=10;BYDAY=1FR', all, '0905 1003 1107 1205 1998 0102 0206 0306 0403 0501 0605'],
    ['19970905', 'FREQ=MONTHLY;UNTIL=19971224T000000Z;BYDAY=1FR', all, '0905 1003 1107 1205'],
    ['19970907', 'FREQ=MONTHLY;INTERVAL=2;COUNT=10;BYDAY=1SU,-1SU', all, '0907 0928 1102 1130 1998 0104 0125 0301 0329 0503 0531'],
    ['19970922', 'FREQ=MONTHLY;COUNT=6;BYDAY=-2MO', all, '0922 1020 1117 1222 1998 0119 0216'],
    ['19970928', 'FREQ=MONTHLY;BYMONTHDAY=-3', 6, '0928 1029 1128 1229 1998 0129 0226'],
    ['19970902', 'FREQ=MONTHLY;COUNT=10;BYMONTHDAY=2,15', all, '0902 0915 1002 1015 1102 1115 1202 1215 1998 0102 0115'],
    ['19970930', 'FREQ=MONTHLY;COUNT=10;BYMONTHDAY=1,-1', all, '0930 1001 1031 1101 1130 1201 1231 1998 0101 0131 0201'],
    [
      '19970910',
      'FREQ=MONTHLY;INTERVAL=18;COUNT=10;BYMONTHDAY=10,11,12,13,14,15',
      all,
      '0910 0911 0912 0913 0914 0915 1999 0310 0311 0312 0313',
    ],
    ['19970902', 'FREQ=MONTHLY;INTERVAL=2;BYDAY=TU', 14, '0902 0909 0916 0923 0930 1104 1111 1118 1125 1998 0106 0113 0120 0127 0303'],
    ['19970610', 'FREQ=YEARLY;COUNT=10;BYMONTH=6,7', all, '0610 0710 1998 0610 0710 1999 0610 0710 2000 0610 0710 2001 0610 0710'],
    ['19970310', 'FREQ=YEARLY;INTERVAL=2;COUNT=10;BYMONTH=1,2,3', all, '0310 1999 0110 0210 0310 2001 0110 0210 0310 2003 0110 0210 0310'],
    ['19970519', 'FREQ=YEARLY;BYDAY=20MO', 3, '0519 1998 0518 1999 0517'],
    ['19970313', 'FREQ=YEARLY;BYMONTH=3;BYDAY=TH', 7, '0313 0320 0327 1998 0305 0312 0319 0326'],
    ['19970902', 'FREQ=MONTHLY;BYDAY=FR;BYMONTHDAY=13', 5, '1998 0213 0313 1113 1999 0813 2000 1013'],
    ['19970913', 'FREQ=MONTHLY;BYDAY=SA;BYMONTHDAY=7,8,9,10,11,12,13', 7, '0913 1011 1108 1213 1998 0110 0207 0307'],
    ['19961105', 'FREQ=YEARLY;INTERVAL=4;BYMONTH=11;BYDAY=TU;BYMONTHDAY=2,3,4,5,6,7,8', 3, '1996 1105 2000 1107 2004 1102'],
    ['19970904', 'FREQ=MONTHLY;COUNT=3;BYDAY=TU,WE,TH;BYSETPOS=3', all, '0904 1007 1106'],
    ['19970929', 'FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-2', 7, '0929 1030 1127 1230 1998 0129 0226 0330'],
    ['19970805', 'FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=TU,SU;WKST=MO', all, '0805 0810 0819 0824'],
    ['19970805', 'FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=TU,SU;WKST=SU', all, '0805 0817 0819 0831'],
    ['20070115', 'FREQ=MONTHLY;BYMONTHDAY=15,30;COUNT=5', all, '2007 0115 0130 0215 0315 0330'],
    ['20240229', 'FREQ=YEARLY', 3, '2024 0229 2028 0229 2032 0229'],
    ['20260131', 'RRULE:FREQ=MONTHLY', 3, '2026 0131 0331 0531'],
  ])('from %s, %s', (start, rule, count, days) => {
    expect(first(count, start, rule)).toEqual(listed(days));
  });

  it('ends on the day that UNTIL names', () => {
    expect(first(all, '19970902', 'FREQ=DAILY;UNTIL=19970904')).toEqual(['19970902', '19970903', '19970904']);
    expect(first(all, '19980101', 'FREQ=DAILY;UNTIL=20000131T140000Z;BYMONTH=1')).toHaveLength(93);
    expect(first(all, '19980101', 'FREQ=YEARLY;UNTIL=20000131T140000Z;BYMONTH=1;BYDAY=SU,MO,TU,WE,TH,FR,SA')).toHaveLength(93);
  });

  it.each([
    ['', /is none of FREQ/],
    ['FREQ=HOURLY', /`FREQ` must be one of DAILY/],
    ['INTERVAL=2', /`FREQ` must be/],
    ['FREQ=DAILY;BYHOUR=9', /`BYHOUR=9` is none of/],
    ['FREQ=YEARLY;BYWEEKNO=20', /is none of/],
    ['FREQ=DAILY;FREQ=DAILY', /twice/],
    ['FREQ=DAILY;COUNT=2;UNTIL=20270101', /only one of/],
    ['FREQ=DAILY;COUNT=0', /`COUNT` must be/],
    ['FREQ=DAILY;INTERVAL=0', /`INTERVAL` must be/],
    ['FREQ=DAILY;BYDAY=1MO', /not for DAILY/],
    ['FREQ=WEEKLY;BYMONTHDAY=3', /not for WEEKLY/],
    ['FREQ=MONTHLY;BYMONTHDAY=32', /`BYMONTHDAY` must be/],
    ['FREQ=MONTHLY;BYMONTHDAY=0', /`BYMONTHDAY` must be/],
    ['FREQ=MONTHLY;BYDAY=XX', /no weekday/],
    ['FREQ=MONTHLY;BYSETPOS=1', /needs another/],
    ['FREQ=DAILY;UNTIL=tomorrow', /is none of|`UNTIL` must be/],
  ])('is refused where it is %s', (rule, words) => {
    const parsed = parseRecurrence(rule, day('20260101'), () => undefined);
    expect(parsed.ok ? 'taken' : parsed.why).toMatch(words);
  });

  it.each([
    ['a 30 February', 'FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30'],
    ['a 31 April, from either end', 'FREQ=YEARLY;BYMONTH=4;BYMONTHDAY=31,-31'],
    ['a sixth Monday of a month', 'FREQ=MONTHLY;BYDAY=MO;BYSETPOS=6'],
    ['the sixth of them by number', 'FREQ=MONTHLY;BYDAY=6MO'],
    ['leap days in years that have none', 'FREQ=YEARLY;INTERVAL=4;BYMONTH=2;BYMONTHDAY=29'],
    ['an end before its start', 'FREQ=DAILY;UNTIL=20200101'],
  ])('that names no day is refused, not silently never true: %s', (_what, rule) => {
    expect(parseRecurrence(rule, day('20261120'), untilIn)).toMatchObject({ ok: false, why: expect.stringContaining('names no day') });
  });

  it.each([
    ['FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29', '2028 0229 2032 0229'],
    ['FREQ=YEARLY;INTERVAL=3;BYMONTH=2;BYMONTHDAY=29', '2032 0229'],
    ['FREQ=MONTHLY;BYMONTHDAY=-31', '2026 1201 2027 0101'],
    ['FREQ=MONTHLY;BYDAY=MO,TU;BYSETPOS=-1', '2026 1130 1229'],
    ['FREQ=YEARLY;BYDAY=53MO', '2029 1231'],
  ])('comes as seldom as it says: %s', (rule, days) => {
    const wanted = listed(days, '2026');
    expect(first(wanted.length, '20261120', rule)).toEqual(wanted);
  });
});
