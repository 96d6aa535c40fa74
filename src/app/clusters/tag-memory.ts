/** Which guests bore a protecting tag: kept in the state directory, a file for each cluster, so that a tag that is taken away protects on. */
import { join } from 'node:path';
import * as z from 'zod';
import type { Finding } from '#kernel/app';
import { Fault } from '#kernel/errors';
import type { Log } from '#kernel/ports/log';
import type { ConfiguredCluster, TagMemory } from '#pipeline/deps';
import { derivedBy, takeInventory } from '#pipeline/inventory';
import type { ProtectedList } from '#policy/protected-resources';
import { readPrivateFile, replacePrivateFile } from '../config/private-file.ts';

/** In the state directory. */
const folder = 'tags';

export interface TagMemoryOptions {
  readonly cluster: string;
  readonly stateDir: string;
  readonly log: Log;
}

/** Guest → the tag it bore. */
const fileSchema = z.record(z.string().regex(/^\d{3,9}$/), z.string());

export function createTagMemory({ cluster, stateDir, log }: TagMemoryOptions): TagMemory {
  const place = join(stateDir, folder);
  const name = `${cluster}.json`;
  const told = new Set<number>();
  let last: Promise<unknown> = Promise.resolve();

  async function read(): Promise<ReadonlyMap<number, string>> {
    const text = await readPrivateFile(join(place, name));
    if (text === undefined) return new Map();
    try {
      return new Map(Object.entries(fileSchema.parse(JSON.parse(text))).map(([vmid, tag]) => [Number(vmid), tag]));
    } catch (thrown) {
      // SECURITY: fails closed. Whoever breaks the file must not free the guests in it.
      throw new Fault('tag_memory_damaged', `what is remembered of protecting tags cannot be read (\`${join(place, name)}\`)`, {
        cause: thrown,
        next: 'a person looks at the file, and removes it where every guest that should be protected bears its tag',
      });
    }
  }

  async function remember(bearers: ReadonlyMap<number, string>, seen: ReadonlySet<number>): Promise<ReadonlyMap<number, string>> {
    const known = await read();
    const all = new Map([...known, ...bearers]);
    if ([...bearers].some(([vmid, tag]) => known.get(vmid) !== tag)) {
      await replacePrivateFile(place, name, `${JSON.stringify(Object.fromEntries(all))}\n`);
    }
    for (const [vmid, tag] of all) {
      if (bearers.has(vmid)) told.delete(vmid);
      else if (seen.has(vmid) && !told.has(vmid)) {
        told.add(vmid);
        log.warn(`${cluster}: guest ${vmid} no longer bears the tag ${tag}, which protects; it is protected until a person agrees`);
      }
    }
    return all;
  }

  return {
    // One after the other: two calls at once would each write what the other does not know.
    remember(bearers, seen) {
      const next = last.catch(() => undefined).then(() => remember(bearers, seen));
      last = next.catch(() => undefined);
      return next;
    },
  };
}

/** Guests that lost a protecting tag: still protected, and a person has something to decide. A cluster that cannot be asked has a finding of its own. */
export async function lostTags(
  clusters: ReadonlyMap<string, ConfiguredCluster>,
  list: ProtectedList,
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  if ((list.tags ?? []).length === 0) return [];
  const found = await Promise.all([...clusters].map(([name, cluster]) => lostIn(name, cluster, list, signal)));
  return found.flat();
}

async function lostIn(name: string, cluster: ConfiguredCluster, list: ProtectedList, signal: AbortSignal): Promise<readonly Finding[]> {
  try {
    const inventory = await takeInventory(name, cluster, { needsAddresses: false, signal });
    const { tagged = new Map() } = await derivedBy(inventory, list, cluster);
    const there = new Set(inventory.guests.map(({ vmid }) => vmid));
    return [...tagged].flatMap(([vmid, { tag, lost }]) => (lost && there.has(vmid) ? [finding(name, vmid, tag)] : []));
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
