/**
 * The time that the store has seen pass. A clock is set wrong now and then: one that jumps ahead must not make the whole past old enough to be
 * dropped, and one that goes back must not give approvals a second life.
 */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { uptime } from 'node:os';
import type { Clock } from '#kernel/ports/clock';
import type { StoreCare } from '#kernel/ports/store';
import type { Database, Row, Transaction } from './database.ts';
import type { AppendSealed } from './sqlite-audit.ts';

/** Time that nobody can set: ms since some start, and a name of that start. */
export interface Progress {
  readonly start: string;
  readonly ms: number;
}

export interface StoreClock extends Pick<Clock, 'now'> {
  /** Absent: the system's. */
  progress?(): Progress;
}

/** What the clock may be ahead without anybody having to say so, in ms: while the machine ran, and while it may have been off. */
const tolerated = { ran: 86_400_000, off: 7 * 86_400_000 };
/** A clock that is set by the network steps back a little now and then. In ms. */
const backMs = 60_000;
/** How old what is written down may be: what has passed since is known without it. In ms. */
const writeMs = 600_000;

export interface TimeKeeping {
  /** By when is dropped what is old: never later than the clock, nor than the time that was seen to pass. ms since the epoch */
  readonly keptUntil: number;
  /** Set where the clock went back: what would have been over at this moment is. */
  readonly wentBackFrom?: number;
}

interface Kept {
  /** The time that was seen to pass, at least. */
  readonly seen: number;
  readonly wall: number;
  readonly start: string;
  readonly ms: number;
}

const ownStart = randomUUID();

/** Linux counts on while it sleeps, and names each start; elsewhere a process knows of its own time only. */
function systemProgress(): Progress {
  try {
    return { start: readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim(), ms: Math.round(uptime() * 1000) };
  } catch {
    return { start: ownStart, ms: Math.round(performance.now()) };
  }
}

/** An injected clock that says nothing of progress is taken at its word. */
export function wholeClock(clock: StoreClock | undefined): Required<StoreClock> {
  if (clock === undefined) return { now: Date.now, progress: systemProgress };
  const { progress = () => ({ start: 'its own', ms: clock.now() }) } = clock;
  return { now: () => clock.now(), progress };
}

/** Looks at the clock, and writes down what it says where that is due. Only in a transaction that writes. */
export function keepTime(tx: Transaction, clock: Required<StoreClock>): TimeKeeping {
  const { due, ...keeping } = lookAtTime(tx, clock);
  if (due) tx.note('UPDATE clock SET seen = ?, wall = ?, start = ?, ms = ?', due.seen, due.wall, due.start, due.ms);
  return keeping;
}

/** `due`: what is to be written down. */
export function lookAtTime(tx: Transaction, { now, progress }: Required<StoreClock>): TimeKeeping & { readonly due?: Kept } {
  const { start, ms } = progress();
  const wall = now();
  const before = keptIn(tx.get('SELECT * FROM clock'));
  if (before === undefined) return { keptUntil: wall, due: { seen: wall, wall, start, ms } };
  const passed = passedSince(before, { start, ms });
  const seen = seenBy(before, { start, ms, wall }, passed);
  const least = before.wall + (passed ?? 0);
  const isBack = wall < least - backMs;
  const isDue = isBack || start !== before.start || Math.abs(wall - before.wall) >= writeMs;
  return {
    keptUntil: Math.min(wall, seen),
    ...(isBack ? { wentBackFrom: least } : {}),
    ...(isDue ? { due: { seen, wall, start, ms } } : {}),
  };
}

/** undefined: the machine was started meanwhile. */
function passedSince(before: Kept, here: Progress): number | undefined {
  return before.start === here.start && here.ms >= before.ms ? here.ms - before.ms : undefined;
}

/** What ran since the start has passed for certain; more than that counts where it is no more than what a clock is put right by. */
function seenBy(before: Kept, here: Progress & { readonly wall: number }, passed: number | undefined): number {
  const certain = before.seen + (passed ?? here.ms);
  const limit = passed === undefined ? tolerated.off : tolerated.ran;
  return here.wall - certain <= limit ? Math.max(certain, here.wall) : certain;
}

function keptIn(row: Row | undefined): Kept | undefined {
  if (row === undefined || Number(row.wall) === 0) return undefined;
  return { seen: Number(row.seen), wall: Number(row.wall), start: String(row.start), ms: Number(row.ms) };
}

export function createTimeCare(
  database: Database,
  { clock, append }: { readonly clock: Required<StoreClock>; readonly append: AppendSealed },
): StoreCare {
  return {
    time: () =>
      database.read((tx) => {
        const wall = clock.now();
        return { ahead: wall - lookAtTime(tx, { ...clock, now: () => wall }).keptUntil };
      }),
    trustClock: (by) =>
      database.write((tx) => {
        const wall = clock.now();
        const { keptUntil } = lookAtTime(tx, { ...clock, now: () => wall });
        const { start, ms } = clock.progress();
        tx.run('UPDATE clock SET seen = max(seen, ?), wall = ?, start = ?, ms = ?', wall, wall, start, ms);
        append(tx, { name: 'store.changed', attributes: { change: 'clock_trusted', by, ahead_ms: wall - keptUntil } });
      }),
  };
}
