/** Which guests bore a tag that protects, or that a window, role or scope goes by: kept in the state directory, a file for each cluster, so that it counts on when taken away. */

import { join } from 'node:path';
import * as z from 'zod';
import type { Finding } from '#kernel/app';
import { Fault } from '#kernel/errors';
import type { Log } from '#kernel/ports/log';
import { type Message, say } from '#kernel/text/message';
import type { ConfiguredCluster, MadeGuest, Making, TagMemory } from '#pipeline/deps';
import { derivedBy, takeInventory } from '#pipeline/inventory';
import type { Role } from '#policy/blast/roles';
import { gainedTags, lostTagsOf, type RememberedTags, type TagsOfGuests, withTags } from '#policy/deciding-tags';
import type { ProtectedList } from '#policy/protected-resources';
import type { Scope } from '#policy/scopes/scopes';
import type { Selector } from '#policy/scopes/selector';
import type { TimeWindow } from '#policy/scopes/windows';
import { withLock } from '#stores/sqlite/hold-lock';
import { readPrivateFile, replacePrivateFile } from '../config/private-file.ts';
import { finding } from '../finding.ts';

/** In the state directory. */
const tagsFolder = 'tags';

export interface TagMemoryOptions {
  readonly cluster: string;
  readonly stateDir: string;
  readonly log: Log;
  readonly entries: TaggedEntries;
}

/** What goes by tags besides protection. */
export interface TaggedEntries {
  readonly windows: readonly TimeWindow[];
  readonly roles: readonly Role[];
  readonly scopes: readonly Scope[];
}

/** Guest → the tag it bore, or several. */
const fileSchema = z.record(z.string().regex(/^\d{3,9}$/), z.union([z.string(), z.array(z.string())]));

export function createTagMemory({ cluster, stateDir, log, entries }: TagMemoryOptions): TagMemory {
  const place = join(stateDir, tagsFolder);
  const name = `${cluster}.json`;
  const scopeTags = new Set(entries.scopes.flatMap(({ only }) => only?.tags ?? []));
  const members = createScopeMembers({ folder: place, cluster, tags: scopeTags });
  const tell = createTeller(cluster, log);
  const inTurn = oneAfterTheOther();

  /** What is kept of it, and what is to be written; `change` is absent where nothing is. */
  async function look(
    bearers: TagsOfGuests,
    seen: ReadonlySet<number>,
  ): Promise<RememberedTags & { readonly change?: () => Promise<void> }> {
    const known = await readBorne(join(place, name));
    const bore = withTags(known, bearers);
    const { keep, ...scoped } = await members.look(bearers, lostTagsOf(known, bearers, seen));
    const isNew = [...bearers].some(([vmid, tags]) => tags.some((tag) => known.get(vmid)?.includes(tag) !== true));
    const change = async () => {
      // One tag is written as former versions read it.
      const kept = [...bore].map(([vmid, tags]) => [vmid, tags.length === 1 ? tags[0] : tags]);
      if (isNew) await replacePrivateFile(place, name, `${JSON.stringify(Object.fromEntries(kept))}\n`);
      await keep?.();
    };
    return { bore, ...scoped, ...(isNew || keep !== undefined ? { change } : {}) };
  }

  /** Whatever was read before the lock was had may be old by then. */
  async function remember(bearers: TagsOfGuests, seen: ReadonlySet<number>): Promise<RememberedTags> {
    let found = await look(bearers, seen);
    if (found.change !== undefined)
      await locked(async () => {
        found = await look(bearers, seen);
        await found.change?.();
      });
    const { change: _, ...remembered } = found;
    tell(remembered, bearers, seen);
    return remembered;
  }

  /** SECURITY: two processes at once would each write what the other does not know, and forget a tag that protects. */
  const locked = <T>(work: () => Promise<T>): Promise<T> => withLock(place, cluster, work);

  return {
    selecting: new Set(entriesOf(entries).flatMap(({ tags }) => tags)),
    remember: (bearers, seen) => inTurn(() => remember(bearers, seen)),
    making: async (made, how) => {
      if (made.tags.some((tag) => scopeTags.has(tag))) await inTurn(() => locked(() => members.making(made, how)));
    },
  };
}

async function readBorne(file: string): Promise<TagsOfGuests> {
  const text = await readPrivateFile(file);
  if (text === undefined) return new Map();
  try {
    return new Map(Object.entries(fileSchema.parse(JSON.parse(text))).map(([vmid, tags]) => [Number(vmid), [tags].flat()]));
  } catch (thrown) {
    // SECURITY: fails closed. Whoever breaks the file must not free the guests in it.
    throw new Fault('tag_memory_damaged', say`what is remembered of protecting tags cannot be read (\`${file}\`)`, {
      cause: thrown,
      next: 'a person looks at the file, and removes it where every guest that should be protected bears its tag',
    });
  }
}

/** In this process. */
function oneAfterTheOther(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const next = last.catch(() => undefined).then(work);
    last = next.catch(() => undefined);
    return next;
  };
}

/** Into the log: each tag of a guest once for as long as it is gone, and once where it was given. */
function createTeller(cluster: string, log: Log) {
  const told = new Set<string>();
  const once = (key: string, words: string) => {
    if (told.has(key)) return;
    told.add(key);
    log.warn(`${cluster}: ${words}`);
  };
  const pairs = (tagged: TagsOfGuests) => [...tagged].flatMap(([vmid, tags]) => tags.map((tag) => [vmid, tag] as const));
  return ({ bore, gained, brought }: RememberedTags, bearers: TagsOfGuests, seen: ReadonlySet<number>): void => {
    for (const [vmid, tag] of pairs(bore)) {
      const key = `${vmid}/${tag}`;
      const what = `guest ${vmid} no longer bears the tag ${tag}, by which it is protected, held, served or in a scope: doctor says what becomes of it`;
      if (bearers.get(vmid)?.includes(tag)) told.delete(key);
      else if (seen.has(vmid)) once(key, what);
    }
    for (const [vmid, tag] of pairs(gained)) {
      const isOwn = brought.get(vmid)?.includes(tag) === true;
      const whence = isOwn ? 'by a clone or restore of an agent that is not seen to have ended well' : 'outside of Banksman';
      const until = isOwn ? 'it has, or a person agrees' : 'a person agrees';
      once(
        `${vmid}+${tag}${isOwn ? ' own' : ''}`,
        `guest ${vmid} got the tag ${tag} ${whence}: it is in no scope by it until ${until} (see doctor)`,
      );
    }
  };
}

export interface Deciding extends TaggedEntries {
  readonly list: ProtectedList;
}

/** Guests that lost such a tag: it counts on, and a person has something to decide. A cluster that cannot be asked has a finding of its own. */
export async function lostTags(
  clusters: ReadonlyMap<string, ConfiguredCluster>,
  deciding: Deciding,
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  const some = [...clusters].filter(([, { tags }]) => (deciding.list.tags ?? []).length > 0 || (tags?.selecting.size ?? 0) > 0);
  const found = await Promise.all(some.map(([name, cluster]) => lostIn(name, cluster, deciding, signal)));
  return found.flat();
}

async function lostIn(
  name: string,
  cluster: ConfiguredCluster,
  { list, ...entries }: Deciding,
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  try {
    const inventory = await takeInventory(name, cluster, { needsAddresses: false, signal });
    const { tagged = new Map(), ...remembered } = await derivedBy(inventory, list, cluster);
    const none: TagsOfGuests = new Map();
    const { bore = none, gained = none, brought = none } = remembered;
    const there = new Map(inventory.guests.map(({ vmid, tags = [] }) => [vmid, tags]));
    const protecting = [...tagged].flatMap(([vmid, { tag, lost }]) => (lost && there.has(vmid) ? [unprotected(name, vmid, tag)] : []));
    const lost = [...bore].flatMap(([vmid, tags]) =>
      tags.filter((tag) => there.get(vmid)?.includes(tag) === false).map((tag) => ({ vmid, tag })),
    );
    const given = [...gained].flatMap(([vmid, tags]) =>
      tags.map((tag) => ({ vmid, tag, isOwn: brought.get(vmid)?.includes(tag) === true })),
    );
    return [
      ...protecting,
      ...lost.flatMap((one) => lostFindings(name, one, entries)),
      ...given.flatMap((one) => gainedFindings(name, one, entries.scopes)),
    ];
  } catch (thrown) {
    return thrown instanceof Fault && thrown.code === 'tag_memory_damaged'
      ? [finding('protected', 'failed', thrown.words.message ?? thrown.message, thrown.next)]
      : [];
  }
}

function unprotected(cluster: string, vmid: number, tag: string): Finding {
  const message = say`guest ${vmid} of \`${cluster}\` no longer bears the tag \`${tag}\`, which protects it; it is protected all the same`;
  const remedy = say`give it the tag back, or agree: \`{ "tag": "${tag}", "except": [${vmid}] }\` in \`protected.tags\``;
  return finding('protected', 'warning', message, remedy);
}

function lostFindings(
  cluster: string,
  { vmid, tag }: { readonly vmid: number; readonly tag: string },
  all: TaggedEntries,
): readonly Finding[] {
  const holding = entriesOf(all).filter(({ tags, except }) => tags.includes(tag) && !except.includes(vmid));
  return holding.map(({ topic, words, still, one }) => {
    const message = say`guest ${vmid} of \`${cluster}\` no longer bears the tag \`${tag}\`, ${words}; ${still}`;
    return finding(topic, 'warning', message, say`give it the tag back, or agree: \`"except": [${vmid}]\` in ${one}`);
  });
}

function gainedFindings(
  cluster: string,
  { vmid, tag, isOwn }: { readonly vmid: number; readonly tag: string; readonly isOwn: boolean },
  scopes: readonly Scope[],
): readonly Finding[] {
  const whence = isOwn ? say`by a clone or restore of an agent that is not seen to have ended well` : say`outside of Banksman`;
  const waiting = scopes.filter(({ only, admits = [] }) => only?.tags?.includes(tag) === true && !admits.includes(vmid));
  const remedy = say`take the tag away, or agree: \`"admits": [${vmid}]\` in that scope`;
  return waiting.map(({ name }) => {
    const message = say`guest ${vmid} of \`${cluster}\` got the tag \`${tag}\` ${whence}, by which it would be in scope \`${name}\`; that scope’s agents may not change it by that`;
    return finding('scopes', 'warning', message, remedy);
  });
}

interface TaggedEntry {
  readonly topic: string;
  readonly one: Message;
  readonly tags: readonly string[];
  readonly except: readonly number[];
  readonly words: Message;
  /** What becomes of the guest: what forbids or tells by a tag does so on, what allows by one does not. */
  readonly still: Message;
}

function entriesOf({ windows, roles, scopes }: TaggedEntries): readonly TaggedEntry[] {
  const entry = (selector: Selector | undefined, except: readonly number[] | undefined) => ({
    tags: selector?.tags ?? [],
    except: except ?? [],
  });
  return [
    ...windows.map(({ name, only, except }) => ({
      ...{ topic: 'windows', one: say`that window`, ...entry(only, except) },
      ...{ words: say`by which window \`${name}\` holds it`, still: say`it is held all the same` },
    })),
    ...roles.map(({ name, of, except }) => ({
      ...{ topic: 'roles', one: say`that role`, ...entry(of, except) },
      ...{ words: say`by which role \`${name}\` serves it`, still: say`it counts as served all the same` },
    })),
    ...scopes.map(({ name, only, except }) => ({
      ...{ topic: 'scopes', one: say`that scope`, ...entry(only, except) },
      ...{ words: say`by which it is in scope \`${name}\``, still: say`that scope’s agents may not change it any more` },
    })),
  ];
}

// Which guests are in a scope by a tag with a person's consent: those that bore it when the scope was first used here, and what agents made of them
// since. SECURITY: whoever may change options in Proxmox VE gives a guest a tag; that alone lets no agent change it.

/** What is kept. */
interface Kept {
  /** Tag → guests. */
  readonly members: ReadonlyMap<string, readonly number[]>;
  /** Guests that an agent makes, or made without a good end that anybody saw. */
  readonly making: TagsOfGuests;
}

interface ScopeMembers {
  /**
   * Tags that guests bear without consent, and which of them come of an agent's clone or restore whose good end is not seen (yet). A tag of which
   * nothing is known has its bearers of now. `keep`: what is to be written for that; to be called, and this again before it, by one process at a time.
   * @param lost tags that guests bore, and are seen without @throws {Fault} `tag_memory_damaged`
   */
  look(
    bearers: TagsOfGuests,
    lost: TagsOfGuests,
  ): Promise<{ readonly gained: TagsOfGuests; readonly brought: TagsOfGuests; readonly keep?: () => Promise<void> }>;
  /** By one process at a time. */
  making(made: MadeGuest, how: Making): Promise<void>;
}

const membersSchema = z.record(z.string(), z.array(z.number().int().min(100)));
const makingSchema = z.record(z.string().regex(/^\d{3,9}$/), z.array(z.string()));

interface MembersOptions {
  readonly folder: string;
  readonly cluster: string;
  /** By which scopes go. */
  readonly tags: ReadonlySet<string>;
}

function createScopeMembers({ folder, cluster, tags }: MembersOptions): ScopeMembers {
  const names = { members: `${cluster}.scopes.json`, making: `${cluster}.making.json` };

  async function read(): Promise<Kept> {
    const [members, making] = await Promise.all([recordIn(names.members, membersSchema), recordIn(names.making, makingSchema)]);
    return { members: new Map(members), making: new Map(making.map(([vmid, own]) => [Number(vmid), own])) };
  }

  async function recordIn<T>(name: string, schema: z.ZodType<Record<string, T>>): Promise<readonly (readonly [string, T])[]> {
    const text = await readPrivateFile(join(folder, name));
    if (text === undefined) return [];
    try {
      return Object.entries(schema.parse(JSON.parse(text)));
    } catch (thrown) {
      throw new Fault('tag_memory_damaged', say`which guests are in scopes by their tags cannot be read (\`${folder}/${name}\`)`, {
        cause: thrown,
        next: 'a person looks at the file, and removes it where no guest bears a tag of a scope that it should not',
      });
    }
  }

  const write = (name: string, map: ReadonlyMap<string | number, readonly unknown[]>) =>
    replacePrivateFile(folder, name, `${JSON.stringify(Object.fromEntries(map))}\n`);

  return {
    async look(bearers, lost) {
      if (tags.size === 0) return { gained: new Map(), brought: new Map() };
      const { members: known, making } = await read();
      const members = firstSeen(without(known, lost), bearers, tags);
      const gained = gainedTags(bearers, members);
      const keep = () => write(names.members, members);
      return { gained, brought: both(gained, making), ...(members === known ? {} : { keep }) };
    },
    async making({ vmid, tags: own }, how) {
      const given = own.filter((tag) => tags.has(tag));
      if (given.length === 0) return;
      const { members, making } = await read();
      const others = [...making].filter(([other]) => other !== vmid);
      if (how === 'made') await write(names.members, withMember(members, vmid, given));
      if (how === 'begins') await write(names.making, new Map([...others, [vmid, given]]));
      else if (others.length < making.size) await write(names.making, new Map(others));
    },
  };
}

type Members = Kept['members'];

/** SECURITY: what is out of a scope without its tag does not come back by whoever gives the tag again. @returns `members` where nothing was lost */
function without(members: Members, lost: TagsOfGuests): Members {
  const isLost = (vmid: number, tag: string) => lost.get(vmid)?.includes(tag) === true;
  if (![...members].some(([tag, vmids]) => vmids.some((vmid) => isLost(vmid, tag)))) return members;
  return new Map([...members].map(([tag, vmids]) => [tag, vmids.filter((vmid) => !isLost(vmid, tag))]));
}

/** @returns `members` where each tag is known */
function firstSeen(members: Members, bearers: TagsOfGuests, tags: ReadonlySet<string>): Members {
  const unknown = [...tags].filter((tag) => !members.has(tag));
  if (unknown.length === 0) return members;
  const bearing = (tag: string) => [...bearers].flatMap(([vmid, own]) => (own.includes(tag) ? [vmid] : []));
  return new Map([...members, ...unknown.map((tag) => [tag, bearing(tag)] as const)]);
}

function withMember(members: Members, vmid: number, tags: readonly string[]): Members {
  return new Map([...members, ...tags.map((tag) => [tag, [...new Set([...(members.get(tag) ?? []), vmid])]] as const)]);
}

function both(one: TagsOfGuests, other: TagsOfGuests): TagsOfGuests {
  const tags = [...one].map(([vmid, own]) => [vmid, own.filter((tag) => other.get(vmid)?.includes(tag) === true)] as const);
  return new Map(tags.filter(([, own]) => own.length > 0));
}
