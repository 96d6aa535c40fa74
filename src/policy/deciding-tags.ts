/** Tags that decide about guests, those that they bore among them: whoever may change options in Proxmox VE takes a tag away. Pure. */

/** A guest that bears one is protected, and so is one that bore it, unless every entry of the tag excepts it. */
interface TagList {
  readonly tags?: readonly { readonly tag: string; readonly except: readonly number[] }[];
}

export interface TaggedGuest {
  readonly tag: string;
  readonly lost: boolean;
}

/** Guest → tags that decide about it. */
export type TagsOfGuests = ReadonlyMap<number, readonly string[]>;

/** What is remembered of them. */
export interface RememberedTags {
  /** Those that guests bore, those that they bear among them. */
  readonly bore: TagsOfGuests;
  /** Those of scopes that guests bear, and that nobody agreed to. */
  readonly gained: TagsOfGuests;
  /** Of those the ones that an agent's clone or restore brings, which is under way or not known to have ended well. */
  readonly brought: TagsOfGuests;
}

/** Guests with one of these tags now. */
export function tagBearers(
  guests: readonly { readonly vmid: number; readonly tags?: readonly string[] }[],
  deciding: ReadonlySet<string>,
): TagsOfGuests {
  return new Map(
    guests.flatMap(({ vmid, tags = [] }) => {
      const own = tags.filter((tag) => deciding.has(tag));
      return own.length === 0 ? [] : [[vmid, own] as const];
    }),
  );
}

/** @param members tag → guests that a person lets bear it; a tag that is not there is nobody's concern */
export function gainedTags(bearers: TagsOfGuests, members: ReadonlyMap<string, readonly number[]>): TagsOfGuests {
  const gained = [...bearers].map(([vmid, tags]) => [vmid, tags.filter((tag) => members.get(tag)?.includes(vmid) === false)] as const);
  return new Map(gained.filter(([, tags]) => tags.length > 0));
}

/** @param seen guests that are there: of others nobody knows what they bear */
export function lostTagsOf(known: TagsOfGuests, bearers: TagsOfGuests, seen: ReadonlySet<number>): TagsOfGuests {
  const lost = [...known].map(([vmid, tags]) => [vmid, tags.filter((tag) => bearers.get(vmid)?.includes(tag) !== true)] as const);
  return new Map(lost.filter(([vmid, tags]) => seen.has(vmid) && tags.length > 0));
}

/** Both; each tag of a guest once. */
export function withTags(known: TagsOfGuests, more: TagsOfGuests): TagsOfGuests {
  const all = new Map(known);
  for (const [vmid, tags] of more) all.set(vmid, [...new Set([...(known.get(vmid) ?? []), ...tags])]);
  return all;
}

export function protectingTags({ tags = [] }: TagList): ReadonlySet<string> {
  return new Set(tags.map(({ tag }) => tag));
}

/** @param bore guests that bore a tag once, as far as anybody saw */
export function taggedGuests(
  guests: readonly { readonly vmid: number; readonly tags?: readonly string[] }[],
  list: TagList,
  bore: TagsOfGuests,
): ReadonlyMap<number, TaggedGuest> {
  const tagged = new Map<number, TaggedGuest>();
  for (const [vmid, tags] of bore) {
    const tag = tags.find((one) => stillProtects(one, vmid, list));
    if (tag !== undefined) tagged.set(vmid, { tag, lost: true });
  }
  for (const [vmid, [tag = '']] of tagBearers(guests, protectingTags(list))) tagged.set(vmid, { tag, lost: false });
  return tagged;
}

/** A person agreed to the loss where every entry of the tag excepts the guest. */
function stillProtects(tag: string, vmid: number, { tags = [] }: TagList): boolean {
  return tags.some((entry) => entry.tag === tag && !entry.except.includes(vmid));
}
