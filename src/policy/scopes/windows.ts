/** Freeze windows, in which nothing that changes a cluster runs, and maintenance windows, outside of which it does not. Pure: the moment is handed in. */

import { allow, type Decision, deny } from '#kernel/decision';
import { type Message, say } from '#kernel/text/message';
import { type Day, dayOf, everOccurs, type ParsedRecurrence, parseRecurrence, type Recurrence } from './recurrence.ts';
import { asBefore, fits, type Selectable, type Selector, selectorInWords } from './selector.ts';

export const windowKinds = ['freeze', 'maintenance'] as const;
export type WindowKind = (typeof windowKinds)[number];

/** As people write it: a wall clock's start, how long, and how it comes again. */
export interface WindowTimes {
  /** `2026-12-20T18:00`, in the window's zone. */
  readonly start: string;
  /** ISO 8601: `PT8H`, `P14D`, `P1DT12H`. Days are the calendar's, hours are exact (RFC 5545 §3.3.6). */
  readonly duration: string;
  /** RFC 5545 §3.3.10. Absent: once. */
  readonly rrule?: string;
  /** Days of the rule on which it does not open: `2026-12-24`, in the window's zone (RFC 5545 §3.8.5.1). They count in its `COUNT`. */
  readonly exdates?: readonly string[];
}

export interface TimeWindow {
  readonly name: string;
  readonly kind: WindowKind;
  /** The author's. */
  readonly reason: string;
  /** What it is about; absent: every change of a cluster. */
  readonly only?: Selector;
  /** IANA's name: `Europe/Berlin`. */
  readonly zone: string;
  readonly times: readonly WindowTimes[];
  /** Guests that a person let go: what they lost of the tags in `only` does not count. */
  readonly except?: readonly number[];
}

/** Why it cannot be understood, for whoever wrote it; undefined: it can. */
export function timesFlaw(times: WindowTimes, zone: string): string | undefined {
  const parsed = parseTimes(times, zone);
  return parsed.ok ? undefined : parsed.why;
}

export function isZone(zone: string): boolean {
  try {
    formatOf(zone);
    return true;
  } catch {
    return false;
  }
}

/** @param things what the call changes, as far as it is known; without any only windows for everything hold it */
export function decideWindows(windows: readonly TimeWindow[], things: readonly Selectable[], now: number): Decision {
  for (const window of windows) {
    // What nobody knows of a thing may be what the window is about.
    const about =
      window.only === undefined ? undefined : things.find((thing) => fits(window.only ?? {}, asBefore(thing, window.except)) !== 'out');
    if (window.only !== undefined && about === undefined) continue;
    const open = openUntil(window, now);
    const what =
      about === undefined ? say`nothing that changes a cluster` : say`nothing that changes ${about.words}${lostWords(about, window)}`;
    if (window.kind === 'freeze' && open !== undefined) return frozen(window, what, open);
    if (window.kind === 'maintenance' && open === undefined) return outside(window, what, now);
  }
  return noWindow;
}

/** What will hold these things until then though nothing does now, in words: a freeze that begins, a maintenance window that ends. */
export function windowsAhead(windows: readonly TimeWindow[], things: readonly Selectable[], now: number, until: number): readonly string[] {
  return windows.flatMap((window) => {
    const at = window.kind === 'freeze' ? nextOpening(window, now) : closing(window, now, until);
    if (at === undefined || at > until) return [];
    const then = decideWindows([window], things, at);
    return then.effect === 'deny' ? [`from ${wallClock(at, window.zone)} on ${then.reason}`] : [];
  });
}

/** When no time of the window follows at once. */
function closing(window: TimeWindow, now: number, until: number): number | undefined {
  let at = openUntil(window, now);
  for (let next = at; next !== undefined && next <= until; next = openUntil(window, next)) at = next;
  return at;
}

function lostWords(thing: Selectable, { only = {} }: TimeWindow): Message | string {
  if (fits(only, thing) !== 'out') return '';
  return say` (it lost the tag \`${thing.lost?.find((tag) => only.tags?.includes(tag)) ?? ''}\` without a person’s consent; who means that writes it into \`except\` of the window)`;
}

const noWindow = allow('no_window', 'no freeze or maintenance window holds it now');

function frozen(window: TimeWindow, what: Message, until: number): Decision {
  return deny('frozen', say`${what} runs until ${wallClock(until, window.zone)}: ${nameOf(window)}`, [ruleOf(window)]);
}

function outside(window: TimeWindow, what: Message, now: number): Decision {
  const next = nextOpening(window, now);
  const when =
    next === undefined ? say`which does not open again in the next nine years` : say`which opens next at ${wallClock(next, window.zone)}`;
  return deny('outside_maintenance', say`${what} runs outside of a maintenance window, ${when}: ${nameOf(window)}`, [ruleOf(window)]);
}

function nameOf({ name, kind, reason }: TimeWindow): Message {
  return kind === 'freeze'
    ? say`freeze window \`${name}\`; the reason given: ${reason}`
    : say`maintenance window \`${name}\`; the reason given: ${reason}`;
}

function ruleOf({ name }: TimeWindow): string {
  return `windows.${name}`;
}

/** For people: what each window says now. */
export function windowsInWords(
  windows: readonly TimeWindow[],
  now: number,
): readonly { readonly open: boolean; readonly words: Message }[] {
  return windows.map((window) => {
    const open = openUntil(window, now);
    const next = open === undefined ? nextOpening(window, now) : undefined;
    const about = window.only === undefined ? say`every change of a cluster` : selectorInWords(window.only);
    const opens = next === undefined ? say`does not open again in the next nine years` : say`opens at ${wallClock(next, window.zone)}`;
    const when = open === undefined ? opens : say`open until ${wallClock(open, window.zone)}`;
    return { open: open !== undefined, words: say`${nameOf(window)}; for ${about}; ${when}` };
  });
}

/** When it closes, ms since the epoch; undefined: it is closed. Of times that overlap the latest end. */
export function openUntil({ times, zone }: TimeWindow, now: number): number | undefined {
  const ends = times.flatMap((one) => spansAround(one, zone, now).filter(([from, to]) => from <= now && now < to));
  return ends.length === 0 ? undefined : Math.max(...ends.map(([, to]) => to));
}

/** Whether it is open, and until when that stays so; undefined: for nine years at least. */
export function windowState(window: TimeWindow, now: number): { readonly isOpen: boolean; readonly until: number | undefined } {
  const end = openUntil(window, now);
  return end === undefined ? { isOpen: false, until: nextOpening(window, now) } : { isOpen: true, until: end };
}

/** How far ahead an opening is looked for, in days: rules of a year, and of leap years over a century that has none. */
const horizon = 9 * 366;

function nextOpening({ times, zone }: TimeWindow, now: number): number | undefined {
  const today = localDay(now, zone);
  const starts = times.flatMap((one) => {
    const parsed = parsedTimes(one, zone);
    for (let day = today; day <= today + horizon; day += 1) {
      if (!parsed.recurrence.occursOn(day)) continue;
      const [from] = spanOn(day, parsed, zone);
      if (from > now) return [from];
    }
    return [];
  });
  return starts.length === 0 ? undefined : Math.min(...starts);
}

type Span = readonly [from: number, to: number];

/** Those that may hold the moment. */
function spansAround(times: WindowTimes, zone: string, now: number): readonly Span[] {
  const parsed = parsedTimes(times, zone);
  const today = localDay(now, zone);
  const spans: Span[] = [];
  for (let day = today - parsed.duration.days - Math.ceil(parsed.duration.ms / dayMs) - 1; day <= today + 1; day += 1)
    if (parsed.recurrence.occursOn(day)) spans.push(spanOn(day, parsed, zone));
  return spans;
}

function spanOn(day: Day, { timeOfDay, duration }: Times, zone: string): Span {
  const local = day * dayMs + timeOfDay;
  return [instantOf(local, zone), instantOf(local + duration.days * dayMs, zone) + duration.ms];
}

const dayMs = 86_400_000;
/** A window that is longer is no window. */
const longest = { days: 366, ms: 366 * dayMs };

interface Times {
  /** ms since local midnight. */
  readonly timeOfDay: number;
  readonly duration: { readonly days: number; readonly ms: number };
  readonly recurrence: Recurrence;
}

type ParsedTimes = ({ readonly ok: true } & Times) | { readonly ok: false; readonly why: string };

const made = new Map<string, ParsedTimes>();

function parseTimes(times: WindowTimes, zone: string): ParsedTimes {
  const key = JSON.stringify([times.start, times.duration, times.rrule, times.exdates, zone]);
  const known = made.get(key) ?? parseAnew(times, zone);
  if (made.size > 1_000) made.clear();
  made.set(key, known);
  return known;
}

/** The configuration was checked when it was read; what came around that check must not open a window. */
function parsedTimes(times: WindowTimes, zone: string): Times {
  const parsed = parseTimes(times, zone);
  if (!parsed.ok) throw new Error(`a window's times cannot be read: ${parsed.why}`);
  return parsed;
}

function parseAnew({ start, duration, rrule, exdates = [] }: WindowTimes, zone: string): ParsedTimes {
  const local = localFrom(start);
  if (local === undefined) return { ok: false, why: '`start` must be a local time such as `2026-12-20T18:00`, without a zone' };
  const length = durationFrom(duration);
  if (length === undefined)
    return { ok: false, why: '`duration` must be such as `PT8H`, `P14D` or `P1DT12H`, more than nothing and at most a year' };
  const day = Math.floor(local / dayMs);
  const timeOfDay = local - day * dayMs;
  const rule: ParsedRecurrence =
    rrule === undefined
      ? { ok: true, recurrence: { occursOn: (other) => other === day } }
      : parseRecurrence(rrule, day, (value) => lastDay(value, timeOfDay, zone));
  if (!rule.ok) return { ok: false, why: `\`rrule\`: ${rule.why}` };
  const without = withoutDays(rule.recurrence, exdates, day);
  return 'why' in without
    ? { ok: false, why: `\`exdates\`: ${without.why}` }
    : { ok: true, timeOfDay, duration: length, recurrence: without };
}

/** A day that the rule does not name is a mistake, and so is to name each that there is: neither is what its author meant. */
function withoutDays(recurrence: Recurrence, exdates: readonly string[], start: Day): Recurrence | { readonly why: string } {
  const left = new Set<Day>();
  for (const text of exdates) {
    const [, year, month, date] = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text) ?? [];
    const day = dayOf(Number(year), Number(month), Number(date));
    if (Number.isNaN(day) || new Date(day * dayMs).toISOString().slice(0, 10) !== text)
      return { why: `\`${text.slice(0, 20)}\` is no day such as 2026-12-24` };
    if (!recurrence.occursOn(day)) return { why: `the window does not open on ${text} anyway` };
    left.add(day);
  }
  const others: Recurrence = { occursOn: (day) => !left.has(day) && recurrence.occursOn(day) };
  return left.size === 0 || everOccurs(others.occursOn, start, Number.POSITIVE_INFINITY) ? others : { why: 'no day is left' };
}

function localFrom(text: string): number | undefined {
  const [, year, month, date, hour, minute, second = '0'] = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d)(?::(\d\d))?$/.exec(text) ?? [];
  if (year === undefined) return undefined;
  const at = Date.UTC(Number(year), Number(month) - 1, Number(date), Number(hour), Number(minute), Number(second));
  // 31 February would roll over into March.
  return new Date(at).toISOString().startsWith(text.slice(0, 16)) ? at : undefined;
}

const durationParts = /^P(?:(\d{1,3})W)?(?:(\d{1,3})D)?(?:T(?=\d)(?:(\d{1,4})H)?(?:(\d{1,5})M)?(?:(\d{1,6})S)?)?$/;

function durationFrom(text: string): Times['duration'] | undefined {
  const parts = durationParts.exec(text)?.slice(1);
  if (parts === undefined) return undefined;
  const numbers = parts.map((part: string | undefined) => Number(part ?? 0));
  const sum = (units: readonly number[]) => units.reduce((all, unit, index) => all + unit * (numbers[index] ?? 0), 0);
  const length = { days: sum([7, 1]), ms: sum([0, 0, 3_600_000, 60_000, 1_000]) };
  const isNone = length.days === 0 && length.ms === 0;
  return isNone || length.days > longest.days || length.ms > longest.ms ? undefined : length;
}

/** Of `UNTIL`: the last day on which the window may begin. */
function lastDay(value: string, timeOfDay: number, zone: string): Day | undefined {
  const [, year, month, date, hour, minute = '0', second = '0', utc] =
    /^(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)(\d\d)(Z)?)?$/.exec(value) ?? [];
  if (year === undefined) return undefined;
  const day = dayOf(Number(year), Number(month), Number(date));
  if (hour === undefined) return day;
  const at = day * dayMs + 1_000 * (3_600 * Number(hour) + 60 * Number(minute) + Number(second));
  // A moment is compared as one: in the nights on which clocks change the wall clock's order is another.
  const [own, begins] =
    utc === undefined ? [day, day * dayMs + timeOfDay] : [localDay(at, zone), instantOf(localDay(at, zone) * dayMs + timeOfDay, zone)];
  return begins > at ? own - 1 : own;
}

// Zones. A local time is counted as if it were UTC, in ms.

const formats = new Map<string, Intl.DateTimeFormat>();

function formatOf(zone: string): Intl.DateTimeFormat {
  const known =
    formats.get(zone) ??
    new Intl.DateTimeFormat('en-US', {
      ...{ timeZone: zone, hourCycle: 'h23', year: 'numeric', month: '2-digit', day: '2-digit' },
      ...{ hour: '2-digit', minute: '2-digit', second: '2-digit', era: 'short' },
    });
  formats.set(zone, known);
  return known;
}

/** How much the zone's clock is ahead of UTC at this moment, in ms. */
function offsetAt(instant: number, zone: string): number {
  const parts = new Map(
    formatOf(zone)
      .formatToParts(instant)
      .map(({ type, value }) => [type, Number(value)]),
  );
  const of = (type: Intl.DateTimeFormatPartTypes) => parts.get(type) ?? 0;
  return Date.UTC(of('year'), of('month') - 1, of('day'), of('hour'), of('minute'), of('second')) - Math.floor(instant / 1_000) * 1_000;
}

function localDay(instant: number, zone: string): Day {
  return Math.floor((instant + offsetAt(instant, zone)) / dayMs);
}

/**
 * A wall clock's time as a moment. RFC 5545 §3.3.5: a time that comes twice is the first one, one that does not come is counted by the offset before
 * the gap.
 */
function instantOf(local: number, zone: string): number {
  const before = offsetAt(local - dayMs, zone);
  const after = offsetAt(local + dayMs, zone);
  const real = [local - before, local - after].filter((instant) => instant + offsetAt(instant, zone) === local);
  return real.length === 0 ? local - before : Math.min(...real);
}

function wallClock(instant: number, zone: string): string {
  return `${new Date(instant + offsetAt(instant, zone)).toISOString().slice(0, 16)} ${zone}`;
}
