/**
 * Recurrence rules (RFC 5545 §3.3.10) of days, without a library: a window asks whether one day is in the set, which needs no walk from the rule's
 * start. What is not here (hours and less, `BYWEEKNO`, `BYYEARDAY`) is refused by name. As in RFC 5545 a start that its own rule does not name is
 * better not written; here it is then no occurrence.
 */

/** Days since 1970-01-01 of a calendar without a zone. */
export type Day = number;

const dayMs = 86_400_000;
const frequencies = ['DAILY', 'WEEKLY', 'MONTHLY', 'YEARLY'] as const;
type Frequency = (typeof frequencies)[number];
const weekdays = ['MO', 'TU', 'WE', 'TH', 'FR', 'SA', 'SU'] as const;

interface Rule {
  readonly start: Day;
  readonly freq: Frequency;
  readonly interval: number;
  /** 0 is Monday. `nth`: of the month or year, from its end where it is negative. */
  readonly byDay?: readonly { readonly weekday: number; readonly nth?: number }[];
  readonly byMonthDay?: readonly number[];
  readonly byMonth?: readonly number[];
  readonly bySetPos?: readonly number[];
  readonly weekStart: number;
}

export interface Recurrence {
  occursOn(day: Day): boolean;
}

export type ParsedRecurrence = { readonly ok: true; readonly recurrence: Recurrence } | { readonly ok: false; readonly why: string };

interface DateParts {
  readonly year: number;
  /** 1 to 12. */
  readonly month: number;
  readonly date: number;
}

export function dayOf(year: number, month: number, date: number): Day {
  return Date.UTC(year, month - 1, date) / dayMs;
}

function partsOf(day: Day): DateParts {
  const at = new Date(day * dayMs);
  return { year: at.getUTCFullYear(), month: at.getUTCMonth() + 1, date: at.getUTCDate() };
}

/** 1970-01-01 was a Thursday. */
function weekdayOf(day: Day): number {
  return (((day + 3) % 7) + 7) % 7;
}

/**
 * @param until the last day of an `UNTIL` with a time, which depends on zone and start: whoever has them says it
 */
export function parseRecurrence(text: string, start: Day, until: (value: string) => Day | undefined): ParsedRecurrence {
  try {
    const parts = splitParts(text);
    const rule = ruleFrom(parts, start);
    const last = lastOf(parts, rule, until);
    const occursOn = (day: Day) => day <= last && isIn(day, rule);
    if (!everOccurs(occursOn, start, last)) throw new BadRule(`it names no day in the ${yearsAhead} years after \`start\``);
    return { ok: true, recurrence: { occursOn } };
  } catch (thrown) {
    if (thrown instanceof BadRule) return { ok: false, why: thrown.message };
    throw thrown;
  }
}

class BadRule extends Error {}

/** Enough for any leap day that comes each so many years. */
const yearsAhead = 60;

/** A freeze that never comes would be obeyed by never holding anything. */
export function everOccurs(occursOn: Recurrence['occursOn'], start: Day, last: Day): boolean {
  const end = Math.min(last, start + yearsAhead * 366);
  for (let day = start; day <= end; day += 1) if (occursOn(day)) return true;
  return false;
}

const known = ['FREQ', 'INTERVAL', 'UNTIL', 'COUNT', 'BYDAY', 'BYMONTHDAY', 'BYMONTH', 'BYSETPOS', 'WKST'];

function splitParts(text: string): ReadonlyMap<string, string> {
  const parts = new Map<string, string>();
  for (const part of text.replace(/^RRULE:/i, '').split(';')) {
    const [, name = '', value = ''] = /^([A-Z]+)=([A-Z0-9,+:-]+)$/.exec(part.trim().toUpperCase()) ?? [];
    if (!known.includes(name)) throw new BadRule(`\`${part.slice(0, 40)}\` is none of ${known.join(', ')}`);
    if (parts.has(name)) throw new BadRule(`\`${name}\` is there twice`);
    parts.set(name, value);
  }
  return parts;
}

function ruleFrom(parts: ReadonlyMap<string, string>, start: Day): Rule {
  const freq = frequencies.find((entry) => entry === parts.get('FREQ'));
  if (freq === undefined) throw new BadRule(`\`FREQ\` must be one of ${frequencies.join(', ')}`);
  const by: By = present({
    byDay: parts.get('BYDAY')?.split(',').map(weekdayFrom),
    byMonthDay: numbersOf(parts, 'BYMONTHDAY', { most: 31, negative: true }),
    byMonth: numbersOf(parts, 'BYMONTH', { most: 12, negative: false }),
    bySetPos: numbersOf(parts, 'BYSETPOS', { most: 366, negative: true }),
  });
  requireFitting(freq, by);
  const [interval = 1] = numbersOf(parts, 'INTERVAL', { most: 1_000, negative: false }) ?? [];
  return { start, freq, interval, weekStart: weekdayFrom(parts.get('WKST') ?? 'MO').weekday, ...by };
}

type By = Pick<Rule, 'byDay' | 'byMonthDay' | 'byMonth' | 'bySetPos'>;

function present(by: { readonly [Key in keyof By]: By[Key] | undefined }): By {
  return Object.fromEntries(Object.entries(by).filter(([, value]) => value !== undefined)) as By;
}

function requireFitting(freq: Frequency, { bySetPos, ...by }: By): void {
  const isLong = freq === 'MONTHLY' || freq === 'YEARLY';
  if (!isLong && by.byDay?.some(({ nth }) => nth !== undefined) === true) throw new BadRule(`a numbered \`BYDAY\` is not for ${freq}`);
  if (freq === 'WEEKLY' && by.byMonthDay !== undefined) throw new BadRule('`BYMONTHDAY` is not for WEEKLY');
  if (bySetPos !== undefined && Object.keys(by).length === 0) throw new BadRule('`BYSETPOS` needs another BY… beside it');
}

function weekdayFrom(text: string): { readonly weekday: number; readonly nth?: number } {
  const [, sign = '', name = ''] = /^([+-]?\d{1,2})?([A-Z]{2})$/.exec(text) ?? [];
  const weekday = weekdays.findIndex((entry) => entry === name);
  const nth = Number(sign);
  if (weekday < 0 || (sign !== '' && (nth === 0 || Math.abs(nth) > 53)))
    throw new BadRule(`\`${text.slice(0, 20)}\` is no weekday such as MO or -1FR`);
  return sign === '' ? { weekday } : { weekday, nth };
}

function numbersOf(
  parts: ReadonlyMap<string, string>,
  name: string,
  { most, negative }: { readonly most: number; readonly negative: boolean },
): readonly number[] | undefined {
  const numbers = parts.get(name)?.split(',').map(Number);
  const fits = (one: number) => Number.isInteger(one) && one !== 0 && one <= most && one >= (negative ? -most : 1);
  if (numbers?.some((one) => !fits(one))) throw new BadRule(`\`${name}\` must be ${negative ? `-${most} to -1 or ` : ''}1 to ${most}`);
  return numbers;
}

/** The last day on which it can occur. */
function lastOf(parts: ReadonlyMap<string, string>, rule: Rule, until: (value: string) => Day | undefined): Day {
  const value = parts.get('UNTIL');
  if (value !== undefined && parts.has('COUNT')) throw new BadRule('only one of `UNTIL` and `COUNT` can be there');
  if (value !== undefined) {
    const last = until(value);
    if (last === undefined) throw new BadRule('`UNTIL` must be a day (20270131) or a moment (20270131T180000Z)');
    return last;
  }
  const count = Number(parts.get('COUNT') ?? 0);
  if (!parts.has('COUNT')) return Number.POSITIVE_INFINITY;
  if (!Number.isInteger(count) || count < 1 || count > 10_000) throw new BadRule('`COUNT` must be 1 to 10000');
  return lastByCount(rule, count);
}

/** In days: a window that recurs for longer is one without an end. */
const farthest = 400 * 366;

function lastByCount(rule: Rule, count: number): Day {
  let left = count;
  for (let day = rule.start; day < rule.start + farthest; day += 1) {
    if (isIn(day, rule)) left -= 1;
    if (left === 0) return day;
  }
  return Number.POSITIVE_INFINITY;
}

function isIn(day: Day, rule: Rule): boolean {
  if (day < rule.start || periodsSince(day, rule) % rule.interval !== 0 || !isCandidate(day, rule)) return false;
  if (rule.bySetPos === undefined) return true;
  const [first, last] = periodOf(day, rule);
  const set: Day[] = [];
  for (let other = first; other <= last; other += 1) if (isCandidate(other, rule)) set.push(other);
  const place = set.indexOf(day);
  return rule.bySetPos.some((position) => position === place + 1 || position === place - set.length);
}

function periodsSince(day: Day, { start, freq, weekStart }: Rule): number {
  const [now, then] = [partsOf(day), partsOf(start)];
  const weekOf = (any: Day) => Math.floor((any + 3 - weekStart) / 7);
  switch (freq) {
    case 'DAILY':
      return day - start;
    case 'WEEKLY':
      return weekOf(day) - weekOf(start);
    case 'MONTHLY':
      return 12 * (now.year - then.year) + now.month - then.month;
    case 'YEARLY':
      return now.year - then.year;
  }
}

/** First and last day of the period of the rule's frequency that `day` is in. */
function periodOf(day: Day, { freq, weekStart }: Rule): Span {
  const { year, month } = partsOf(day);
  switch (freq) {
    case 'DAILY':
      return [day, day];
    case 'WEEKLY': {
      const first = day - ((weekdayOf(day) - weekStart + 7) % 7);
      return [first, first + 6];
    }
    case 'MONTHLY':
      return monthOf(year, month);
    case 'YEARLY':
      return [dayOf(year, 1, 1), dayOf(year, 12, 31)];
  }
}

function monthOf(year: number, month: number): Span {
  return [dayOf(year, month, 1), dayOf(year, month + 1, 0)];
}

function isCandidate(day: Day, rule: Rule): boolean {
  const { year, month, date } = partsOf(day);
  const span = monthOf(year, month);
  const months = rule.byMonth ?? defaultMonths(rule);
  if (months?.includes(month) === false || !isOnDate(date, span, rule)) return false;
  const { byDay } = rule;
  if (byDay === undefined) return rule.freq !== 'WEEKLY' || weekdayOf(day) === weekdayOf(rule.start);
  const ofYear = rule.freq === 'YEARLY' && rule.byMonth === undefined;
  const within: Span = ofYear ? [dayOf(year, 1, 1), dayOf(year, 12, 31)] : span;
  return byDay.some(({ weekday, nth }) => weekday === weekdayOf(day) && (nth === undefined || isNth(day, nth, within)));
}

/** First and last day. */
type Span = readonly [Day, Day];

function isOnDate(date: number, [first, last]: Span, rule: Rule): boolean {
  const dates = rule.byMonthDay ?? defaultDates(rule);
  return dates === undefined || dates.some((one) => one === date || one === date - (last - first + 2));
}

function isNth(day: Day, nth: number, [first, last]: Span): boolean {
  return nth > 0 ? Math.floor((day - first) / 7) + 1 === nth : Math.floor((last - day) / 7) + 1 === -nth;
}

/** What the start says where the rule does not. */
function defaultMonths({ freq, start, byDay, byMonthDay }: Rule): readonly number[] | undefined {
  return freq === 'YEARLY' && byDay === undefined && byMonthDay === undefined ? [partsOf(start).month] : undefined;
}

function defaultDates({ freq, start, byDay }: Rule): readonly number[] | undefined {
  return (freq === 'MONTHLY' || freq === 'YEARLY') && byDay === undefined ? [partsOf(start).date] : undefined;
}
