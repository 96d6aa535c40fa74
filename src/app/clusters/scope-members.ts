/**
 * Which guests are in a scope by a tag with a person's consent: those that bore it when the scope was first used here, and what agents made of them
 * since. SECURITY: whoever may change options in Proxmox VE gives a guest a tag; that alone lets no agent change it.
 */
import { join } from 'node:path';
import * as z from 'zod';
import { Fault } from '#kernel/errors';
import { say } from '#kernel/text/message';
import type { MadeGuest, Making } from '#pipeline/deps';
import { gainedTags, type TagsOfGuests } from '#policy/deciding-tags';
import { readPrivateFile, replacePrivateFile } from '../config/private-file.ts';

/** What is kept. */
interface Kept {
  /** Tag → guests. */
  readonly members: ReadonlyMap<string, readonly number[]>;
  /** Guests that an agent makes, or made without a good end that anybody saw. */
  readonly making: TagsOfGuests;
}

export interface ScopeMembers {
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

export interface MembersOptions {
  readonly folder: string;
  readonly cluster: string;
  /** By which scopes go. */
  readonly tags: ReadonlySet<string>;
}

export function createScopeMembers({ folder, cluster, tags }: MembersOptions): ScopeMembers {
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
