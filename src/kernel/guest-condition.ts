/**
 * What a change to a guest is approved for, and how it is taken back: data, so that a grant can be bound to the one and a plan can keep the
 * other (docs/design.md#the-promises).
 */
import type { JsonObject } from './json.ts';
import { asListed, english, type Message, say, wordsOf } from './text/message.ts';

/**
 * A guest at one moment. What is bound to it does not run once one of these is something else; a key that is absent could not be read, and has
 * to be unreadable then, too.
 */
export interface GuestCondition {
  readonly vmid: number;
  /** False: no guest has this number; nothing else is set then. */
  readonly exists: boolean;
  readonly node?: string;
  /** `running`, `stopped`, `paused`. */
  readonly status?: string;
  /** PVE's own, of the configuration. */
  readonly digest?: string;
  /** SHA-256 of the configuration without what is made anew each time (addresses of cards, ids, names of volumes): what a rehearsal can foretell. */
  readonly settings?: string;
  readonly lock?: string;
  /** Names, sorted. */
  readonly snapshots?: readonly string[];
  /** The values that taking a change back would restore: `cores`, `memory`, `tags`, `description`, `onboot`; a key that is not set is absent. */
  readonly config?: Readonly<Record<string, string>>;
}

/** How a change is taken back: a call, or why there is none. It is signed with a plan: `loses` is `listed`. */
export type Inverse =
  | {
      readonly tool: string;
      readonly input: JsonObject;
      /** What does not come back with it. */
      readonly loses?: string;
    }
  | { readonly none: string /** The same, for a card; not kept with a plan. */; readonly words?: Message };

export function noWayBack(words: Message): Inverse {
  return { none: english(words), words };
}

/** For the card: one sentence. */
export function inverseWords(inverse: Inverse): Message {
  if ('none' in inverse)
    return say`cannot be taken back: ${inverse.words === undefined ? asListed(inverse.none) : wordsOf(inverse.none, inverse.words)}`;
  const { tool, loses } = inverse;
  return loses === undefined ? say`can be taken back by ${tool}` : say`can be taken back by ${tool}; ${asListed(loses)}`;
}

const partWords: Readonly<Record<string, string>> = {
  exists: 'whether it is there',
  node: 'its node',
  status: 'its state',
  digest: 'its configuration',
  settings: 'its configuration',
  lock: 'its lock',
  snapshots: 'its snapshots',
};

/** What every guest has that is there: absent, it could not be read. */
const known: ReadonlySet<string> = new Set(['status', 'digest', 'settings', 'snapshots']);

function isUnread(part: string, guest: GuestCondition): boolean {
  // A lock stands in the configuration; of what is foretold the digest is no part.
  if (part === 'lock') return isUnread('settings', guest);
  return guest.exists && known.has(part) && guest[part as keyof GuestCondition] === undefined;
}

/** What became something else of one guest. */
interface Changed {
  readonly guest: GuestCondition;
  readonly parts: readonly string[];
}

function changes(was: readonly JsonObject[], now: readonly GuestCondition[]): readonly Changed[] {
  return now.flatMap((guest) => {
    const old = was.find((entry) => entry['vmid'] === guest.vmid);
    if (old === undefined) return [];
    // A request keeps the digest alone, which says the more.
    const compared = Object.keys(partWords).filter((key) => key !== 'settings' || old['digest'] === undefined);
    const parts = compared.filter((key) => JSON.stringify(old[key]) !== JSON.stringify(guest[key as keyof GuestCondition]));
    return parts.length === 0 ? [] : [{ guest, parts }];
  });
}

function changedWords({ guest, parts }: Changed): string {
  const words = parts.map((part) => `${partWords[part] ?? part}${isUnread(part, guest) ? ' (could not be read just now)' : ''}`);
  return `guest ${guest.vmid}: ${[...new Set(words)].join(', ')}`;
}

/** Which part of which guest became something else, in words; undefined where that is not what changed. */
export function changedSince(was: readonly JsonObject[] = [], now: readonly GuestCondition[] = []): string | undefined {
  const [first] = changes(was, now);
  return first && changedWords(first);
}

/** The same, where nothing is known to be something else: all that differs could not be read just now. */
export function unreadSince(was: readonly JsonObject[] = [], now: readonly GuestCondition[] = []): string | undefined {
  const found = changes(was, now);
  const isKnown = found.some(({ guest, parts }) => parts.some((part) => !isUnread(part, guest)));
  return isKnown ? undefined : found.map(changedWords).join('; ') || undefined;
}
