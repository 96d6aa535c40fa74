/**
 * Which guests are in a scope by a tag with a person's consent: those that bore it when the scope was first used here, and what agents made of them
 * since. SECURITY: whoever may change options in Proxmox VE gives a guest a tag; that alone lets no agent change it.
 */

import * as z from 'zod';
import { Fault } from '#kernel/errors';
import { say } from '#kernel/text/message';
import { gainedTags, type TagsOfGuests } from '#policy/deciding-tags';
import { readPrivateFile, replacePrivateFile } from '../config/private-file.ts';

export interface ScopeMembers {
  /**
   * Tags that guests bear without consent. A tag of which nothing is known yet has its bearers of now.
   * @param lost tags that guests bore, and are seen without @throws {Fault} `tag_memory_damaged`
   */
  gained(bearers: TagsOfGuests, lost: TagsOfGuests): Promise<TagsOfGuests>;
  admit(vmid: number, tags: readonly string[]): Promise<void>;
}

/** Tag → guests. */
const fileSchema = z.record(z.string(), z.array(z.number().int().min(100)));

export interface MembersOptions {
  readonly folder: string;
  readonly cluster: string;
  /** By which scopes go. */
  readonly tags: ReadonlySet<string>;
}

export function createScopeMembers({ folder, cluster, tags }: MembersOptions): ScopeMembers {
  const name = `${cluster}.scopes.json`;

  async function read(): Promise<ReadonlyMap<string, readonly number[]>> {
    const text = await readPrivateFile(`${folder}/${name}`);
    if (text === undefined) return new Map();
    try {
      return new Map(Object.entries(fileSchema.parse(JSON.parse(text))));
    } catch (thrown) {
      throw new Fault('tag_memory_damaged', say`which guests are in scopes by their tags cannot be read (\`${folder}/${name}\`)`, {
        cause: thrown,
        next: 'a person looks at the file, and removes it where no guest bears a tag of a scope that it should not',
      });
    }
  }

  async function add(members: ReadonlyMap<string, readonly number[]>, more: ReadonlyMap<string, readonly number[]>) {
    const all = new Map(members);
    for (const [tag, vmids] of more) all.set(tag, [...new Set([...(members.get(tag) ?? []), ...vmids])]);
    return keep(all);
  }

  /** SECURITY: what is out of a scope without its tag does not come back by whoever gives the tag again. */
  async function without(members: ReadonlyMap<string, readonly number[]>, lost: TagsOfGuests) {
    const isLost = (vmid: number, tag: string) => lost.get(vmid)?.includes(tag) === true;
    if (![...members].some(([tag, vmids]) => vmids.some((vmid) => isLost(vmid, tag)))) return members;
    return keep(new Map([...members].map(([tag, vmids]) => [tag, vmids.filter((vmid) => !isLost(vmid, tag))])));
  }

  async function keep(members: ReadonlyMap<string, readonly number[]>) {
    await replacePrivateFile(folder, name, `${JSON.stringify(Object.fromEntries(members))}\n`);
    return members;
  }

  return {
    async gained(bearers, lost) {
      if (tags.size === 0) return new Map();
      const known = await without(await read(), lost);
      const unknown = [...tags].filter((tag) => !known.has(tag));
      const bearing = (tag: string) => [...bearers].flatMap(([vmid, own]) => (own.includes(tag) ? [vmid] : []));
      const members = unknown.length === 0 ? known : await add(known, new Map(unknown.map((tag) => [tag, bearing(tag)])));
      return gainedTags(bearers, members);
    },
    async admit(vmid, own) {
      const given = own.filter((tag) => tags.has(tag));
      if (given.length > 0) await add(await read(), new Map(given.map((tag) => [tag, [vmid]])));
    },
  };
}
