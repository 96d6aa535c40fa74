/** Which guests bore a tag that protects or that a window goes by: kept in the state directory, a file for each cluster, so that it counts on when taken away. */
import { join } from 'node:path';
import * as z from 'zod';
import type { Finding } from '#kernel/app';
import { Fault } from '#kernel/errors';
import type { Log } from '#kernel/ports/log';
import type { ConfiguredCluster, TagMemory } from '#pipeline/deps';
import { derivedBy, takeInventory } from '#pipeline/inventory';
import { type TagsOfGuests, withTags } from '#policy/deciding-tags';
import type { ProtectedList } from '#policy/protected-resources';
import type { TimeWindow } from '#policy/scopes/windows';
import { readPrivateFile, replacePrivateFile } from '../config/private-file.ts';

/** In the state directory. */
const folder = 'tags';

export interface TagMemoryOptions {
  readonly cluster: string;
  readonly stateDir: string;
  readonly log: Log;
  readonly windows: readonly Pick<TimeWindow, 'only'>[];
}

/** Guest → the tag it bore, or several. */
const fileSchema = z.record(z.string().regex(/^\d{3,9}$/), z.union([z.string(), z.array(z.string())]));

export function createTagMemory({ cluster, stateDir, log, windows }: TagMemoryOptions): TagMemory {
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
      const entries = [...all].map(([vmid, tags]) => [vmid, tags.length === 1 ? tags[0] : tags]);
      await replacePrivateFile(place, name, `${JSON.stringify(Object.fromEntries(entries))}\n`);
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
        `${cluster}: guest ${vmid} no longer bears the tag ${tag}, by which it is protected or held; it counts on until a person agrees`,
      );
    }
  }

  return {
    ofWindows: new Set(windows.flatMap(({ only }) => only?.tags ?? [])),
    // One after the other: two calls at once would each write what the other does not know.
    remember(bearers, seen) {
      const next = last.catch(() => undefined).then(() => remember(bearers, seen));
      last = next.catch(() => undefined);
      return next;
    },
  };
}

export interface Deciding {
  readonly list: ProtectedList;
  readonly windows: readonly TimeWindow[];
}

/** Guests that lost such a tag: it counts on, and a person has something to decide. A cluster that cannot be asked has a finding of its own. */
export async function lostTags(
  clusters: ReadonlyMap<string, ConfiguredCluster>,
  deciding: Deciding,
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  const some = [...clusters].filter(([, { tags }]) => (deciding.list.tags ?? []).length > 0 || (tags?.ofWindows.size ?? 0) > 0);
  const found = await Promise.all(some.map(([name, cluster]) => lostIn(name, cluster, deciding, signal)));
  return found.flat();
}

async function lostIn(
  name: string,
  cluster: ConfiguredCluster,
  { list, windows }: Deciding,
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
    return [...protecting, ...lost.flatMap((one) => heldFindings(name, one, windows))];
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

function heldFindings(
  cluster: string,
  { vmid, tag }: { readonly vmid: number; readonly tag: string },
  windows: Deciding['windows'],
): readonly Finding[] {
  const holding = windows.filter(({ only, except = [] }) => only?.tags?.includes(tag) && !except.includes(vmid));
  return holding.map(({ name }) => ({
    topic: 'windows',
    state: 'warning',
    message: `guest ${vmid} of \`${cluster}\` no longer bears the tag \`${tag}\`, by which window \`${name}\` holds it; it is held all the same`,
    remedy: `give it the tag back, or agree: \`"except": [${vmid}]\` in that window`,
  }));
}
