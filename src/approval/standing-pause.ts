/**
 * Whether agents are paused: by what the store says, and by what was seen before. SECURITY: a pause ends by a signature that counts alone. Whoever writes
 * to the store can take the pause out of it, or put an older lift in its place; who saw the pause holds it all the same, and says so.
 */
import { isFarAhead, type Pause, type ResumePayload, type SignedSetting } from '#kernel/approval/security';
import type { Clock } from '#kernel/ports/clock';
import type { SecurityStore, StoredPause } from '#kernel/ports/store';

/** What was seen of this store's pauses. */
export interface SeenPauses {
  /** The newest one of which no lift was seen. */
  readonly open?: Pause;
  /** Up to this moment (ms since the epoch) they were lifted by a signature that counted then. */
  readonly lifted?: number;
}

/** Outside the store, so that it outlasts the process. */
export interface PauseMemory {
  /** For people: where to look when it is damaged. */
  readonly place: string;
  /** @throws where it is there and cannot be read */
  read(): Promise<SeenPauses>;
  write(seen: SeenPauses): Promise<void>;
}

export interface PauseDeps {
  readonly store: Pick<SecurityStore, 'pause' | 'setPause'>;
  readonly clock: Pick<Clock, 'now'>;
  readonly memory?: PauseMemory | undefined;
  /** Why this lift does not count now, in words. */
  flawOf(lifted: SignedSetting<ResumePayload>): Promise<string | undefined>;
}

export interface PauseWatch {
  /** undefined: agents are not paused. */
  standing(): Promise<Pause | undefined>;
  /** A moment for a new pause: later than all that was lifted, also where that machine's clock was ahead. */
  nextMoment(): Promise<number>;
}

export function createPauseWatch(deps: PauseDeps): PauseWatch {
  const { store, clock } = deps;
  const recall = createRecall(deps);
  const putBack = createPutBack(store);
  return {
    async standing() {
      const [stored, seen] = await Promise.all([store.pause(), recall.read()]);
      const found = await judge(stored, seen, deps);
      await recall.note(found.seen);
      if (stored === undefined && found.paused !== undefined) await putBack(found.paused);
      return found.paused;
    },
    async nextMoment() {
      const [stored, { lifted = 0, open }] = await Promise.all([store.pause(), recall.read()]);
      const inStore = stored !== undefined && 'lifted' in stored ? stored.lifted.payload.pausedAt : 0;
      const now = clock.now();
      // A forged far future is not followed.
      const known = [lifted, inStore, open?.at ?? 0].filter((moment) => !isFarAhead(moment, now));
      return Math.max(now, ...known.map((moment) => moment + 1));
    },
  };
}

interface Judged {
  readonly paused: Pause | undefined;
  readonly seen: SeenPauses;
}

async function judge(stored: StoredPause | undefined, seen: SeenPauses, { clock, flawOf }: PauseDeps): Promise<Judged> {
  if (stored === undefined)
    return seen.open === undefined ? { paused: undefined, seen } : hold(seen, seen.open, `it is no longer in the store, and ${takenOut}`);
  const now = clock.now();
  if ('lifted' in stored) return judgeLift(stored.lifted, seen, { now, flawOf });
  return judgePause(atHonestTime(stored.pause, now), seen);
}

const takenOut = 'nobody signed that it is over: somebody who can write to the store took it out';

function hold(seen: SeenPauses, pause: Pause, warning: string): Judged {
  return { paused: { ...pause, warning }, seen: { ...seen, open: pause } };
}

function judgePause(pause: Pause, seen: SeenPauses): Judged {
  const { open } = seen;
  if (open === undefined || open.at <= pause.at) return { paused: pause, seen: { ...seen, open: pause } };
  return hold(seen, open, 'the store holds another, older pause: somebody who can write to the store changed it');
}

async function judgeLift(
  lift: SignedSetting<ResumePayload>,
  seen: SeenPauses,
  { now, flawOf }: Pick<PauseDeps, 'flawOf'> & { readonly now: number },
): Promise<Judged> {
  const { open, lifted = -1 } = seen;
  const { pausedAt } = lift.payload;
  const isFar = isFarAhead(pausedAt, now);
  // What counted when it was first seen here counts on, though its key may have gone since.
  const why = isFar ? 'that was signed for a moment that is yet to come' : pausedAt <= lifted ? undefined : await flawOf(lift);
  if (why !== undefined)
    return hold(seen, open ?? { by: 'unknown', at: isFar ? 0 : pausedAt }, `the store says that it was lifted, but ${why}`);
  if (open !== undefined && open.at > pausedAt)
    return hold(seen, open, 'the store holds the lift of an earlier pause: somebody who can write to the store put it back');
  return { paused: undefined, seen: { lifted: Math.max(lifted, pausedAt) } };
}

/** What this process saw, and what is written down outside the store. */
function createRecall({ clock, memory }: PauseDeps) {
  let own: SeenPauses = {};
  let written = '{}';
  const read = async (): Promise<SeenPauses> => {
    const found = await keptIn(memory, own, clock);
    written = textOf(found);
    const kept = believed(found, clock.now());
    own = believed(own, clock.now());
    const open = newerOf(own.open, isOver(kept.open, own.lifted) ? undefined : kept.open);
    // SECURITY: what this process saw ends by a signature that it saw, not by what others wrote down.
    const lifted = own.open === undefined ? newest(own.lifted, kept.lifted) : own.lifted;
    return { ...(open === undefined ? {} : { open }), ...(lifted === undefined ? {} : { lifted }) };
  };
  const note = async (seen: SeenPauses): Promise<void> => {
    own = seen;
    if (textOf(seen) === written) return;
    // What cannot be written down holds as long as this process does.
    await memory?.write(seen).catch(() => undefined);
  };
  return { read, note };
}

/** A clock that was ahead when something was seen, and is right now: what it wrote is damaged, and vouches for nothing. */
function believed({ open, lifted }: SeenPauses, now: number): SeenPauses {
  return {
    ...(open === undefined ? {} : { open: atHonestTime(open, now) }),
    ...(lifted === undefined || isFarAhead(lifted, now) ? {} : { lifted }),
  };
}

function atHonestTime(pause: Pause, now: number): Pause {
  return isFarAhead(pause.at, now) ? { ...pause, at: 0 } : pause;
}

function isOver(open: Pause | undefined, lifted = -1): boolean {
  return open !== undefined && open.at <= lifted;
}

function newerOf(one: Pause | undefined, other: Pause | undefined): Pause | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return other.at > one.at ? other : one;
}

function newest(...moments: readonly (number | undefined)[]): number | undefined {
  return moments.filter((one) => one !== undefined).toSorted((a, b) => b - a)[0];
}

function textOf({ open, lifted }: SeenPauses): string {
  return JSON.stringify({ ...(open && { open: [open.by, open.at, open.reason] }), lifted });
}

async function keptIn(memory: PauseMemory | undefined, own: SeenPauses, clock: PauseDeps['clock']): Promise<SeenPauses> {
  try {
    return (await memory?.read()) ?? {};
  } catch {
    // SECURITY: whoever breaks the file must not end a pause that stood in it.
    const reason = `what this machine had seen of pauses cannot be read (${memory?.place ?? ''})`;
    return { open: own.open ?? { by: 'unknown', at: clock.now(), reason } };
  }
}

/** So that machines that never saw it hold it, too, and the trail and everybody who looks are told why. Once for each pause: who takes it out again and again fills no trail. */
function createPutBack(store: PauseDeps['store']) {
  let last: number | undefined;
  return async (pause: Pause): Promise<void> => {
    if (last === pause.at) return;
    last = pause.at;
    await store.setPause(pause).catch(() => undefined);
  };
}
