/** Which guests bore a tag that protects, or that a window, role or scope goes by: kept in the state directory, a file for each cluster, so that it counts on when taken away. */
import { join } from 'node:path';
import * as z from 'zod';
import type { Finding } from '#kernel/app';
import { Fault } from '#kernel/errors';
import type { Log } from '#kernel/ports/log';
import type { ConfiguredCluster, TagMemory } from '#pipeline/deps';
import { derivedBy, takeInventory } from '#pipeline/inventory';
import type { Role } from '#policy/blast/roles';
import { type TagsOfGuests, withTags } from '#policy/deciding-tags';
import type { ProtectedList } from '#policy/protected-resources';
import type { Scope } from '#policy/scopes/scopes';
import type { Selector } from '#policy/scopes/selector';
import type { TimeWindow } from '#policy/scopes/windows';
import { readPrivateFile, replacePrivateFile } from '../config/private-file.ts';

/** In the state directory. */
const folder = 'tags';

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
  const place = join(stateDir, folder);
  const name = `${cluster}.json`;
  const told = new Set<string>();
  let last: Promise<unknown> = Promise.resolve();

  async function read(): Promise<TagsOfGuests> {
    const text = await readPrivateFile(join(place, name));
    if (text === undefined) return new Map();
    try {
      return new Map(Object.entries(fileSchema.parse(JSON.parse(text))).map(([vmid, tags]) => [Number(vmid), [tags].flat()]));
    } catch (thrown) {
      // SECURITY: fails closed. Whoever breaks the file must not free the guests in it.
      throw new Fault('tag_memory_damaged', `what is remembered of protecting tags cannot be read (\`${join(place, name)}\`)`, {
        cause: thrown,
        next: 'a person looks at the file, and removes it where every guest that should be protected bears its tag',
      });
    }
  }

  async function remember(bearers: TagsOfGuests, seen: ReadonlySet<number>): Promise<TagsOfGuests> {
    const known = await read();
    const all = withTags(known, bearers);
    if ([...bearers].some(([vmid, tags]) => tags.some((tag) => known.get(vmid)?.includes(tag) !== true))) {
      // One tag is written as former versions read it.
      const kept = [...all].map(([vmid, tags]) => [vmid, tags.length === 1 ? tags[0] : tags]);
      await replacePrivateFile(place, name, `${JSON.stringify(Object.fromEntries(kept))}\n`);
    }
    for (const [vmid, tags] of all) for (const tag of tags) tell(vmid, tag, { bearers, seen });
    return all;
  }

  function tell(
    vmid: number,
    tag: string,
    { bearers, seen }: { readonly bearers: TagsOfGuests; readonly seen: ReadonlySet<number> },
  ): void {
    const key = `${vmid}/${tag}`;
    if (bearers.get(vmid)?.includes(tag)) told.delete(key);
    else if (seen.has(vmid) && !told.has(key)) {
      told.add(key);
      log.warn(
        `${cluster}: guest ${vmid} no longer bears the tag ${tag}, by which it is protected, held, served or in a scope: doctor says what becomes of it`,
      );
    }
  }

  return {
    selecting: new Set(entriesOf(entries).flatMap(({ tags }) => tags)),
    // One after the other: two calls at once would each write what the other does not know.
    remember(bearers, seen) {
      const next = last.catch(() => undefined).then(() => remember(bearers, seen));
      last = next.catch(() => undefined);
      return next;
    },
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
    const { tagged = new Map(), bore = new Map<number, readonly string[]>() } = await derivedBy(inventory, list, cluster);
    const there = new Map(inventory.guests.map(({ vmid, tags = [] }) => [vmid, tags]));
    const protecting = [...tagged].flatMap(([vmid, { tag, lost }]) => (lost && there.has(vmid) ? [finding(name, vmid, tag)] : []));
    const lost = [...bore].flatMap(([vmid, tags]) =>
      tags.filter((tag) => there.get(vmid)?.includes(tag) === false).map((tag) => ({ vmid, tag })),
    );
    return [...protecting, ...lost.flatMap((one) => lostFindings(name, one, entries))];
  } catch (thrown) {
    return thrown instanceof Fault && thrown.code === 'tag_memory_damaged'
      ? [{ topic: 'protected', state: 'failed', message: thrown.message, remedy: thrown.next ?? 'look at the file' }]
      : [];
  }
}

function finding(cluster: string, vmid: number, tag: string): Finding {
  return {
    topic: 'protected',
    state: 'warning',
    message: `guest ${vmid} of \`${cluster}\` no longer bears the tag \`${tag}\`, which protects it; it is protected all the same`,
    remedy: `give it the tag back, or agree: \`{ "tag": "${tag}", "except": [${vmid}] }\` in \`protected.tags\``,
  };
}

function lostFindings(
  cluster: string,
  { vmid, tag }: { readonly vmid: number; readonly tag: string },
  all: TaggedEntries,
): readonly Finding[] {
  const holding = entriesOf(all).filter(({ tags, except }) => tags.includes(tag) && !except.includes(vmid));
  return holding.map(({ topic, words, still, one }) => ({
    ...{ topic, state: 'warning' },
    message: `guest ${vmid} of \`${cluster}\` no longer bears the tag \`${tag}\`, ${words}; ${still}`,
    remedy: `give it the tag back, or agree: \`"except": [${vmid}]\` in that ${one}`,
  }));
}

interface TaggedEntry {
  readonly topic: string;
  readonly one: string;
  readonly tags: readonly string[];
  readonly except: readonly number[];
  readonly words: string;
  /** What becomes of the guest: what forbids or tells by a tag does so on, what allows by one does not. */
  readonly still: string;
}

function entriesOf({ windows, roles, scopes }: TaggedEntries): readonly TaggedEntry[] {
  const entry = (selector: Selector | undefined, except: readonly number[] | undefined) => ({
    tags: selector?.tags ?? [],
    except: except ?? [],
  });
  return [
    ...windows.map(({ name, only, except }) => ({
      ...{ topic: 'windows', one: 'window', ...entry(only, except) },
      ...{ words: `by which window \`${name}\` holds it`, still: 'it is held all the same' },
    })),
    ...roles.map(({ name, of, except }) => ({
      ...{ topic: 'roles', one: 'role', ...entry(of, except) },
      ...{ words: `by which role \`${name}\` serves it`, still: 'it counts as served all the same' },
    })),
    ...scopes.map(({ name, only, except }) => ({
      ...{ topic: 'scopes', one: 'scope', ...entry(only, except) },
      ...{ words: `by which it is in scope \`${name}\``, still: 'that scope’s agents may not change it any more' },
    })),
  ];
}
