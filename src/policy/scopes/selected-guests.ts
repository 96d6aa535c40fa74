/** Guests that a list of pools and patterns of names protects. Pure. */
import { isInPool, matchesPattern } from './selector.ts';

/** What pool and name of a guest are: undefined is not known, `pool: null` none. */
export interface GuestFacts {
  readonly vmid: number;
  readonly node: string;
  readonly tags?: readonly string[];
  readonly pool?: string | null;
  readonly name?: string;
}

export interface SelectedGuest {
  readonly rule: string;
  readonly why: string;
}

/** SECURITY: a guest of which pool or name cannot be seen may be the very one. */
export function selectedGuests(
  guests: readonly GuestFacts[],
  { pools = [], names = [] }: { readonly pools?: readonly string[]; readonly names?: readonly string[] },
): ReadonlyMap<number, SelectedGuest> {
  const selected = new Map<number, SelectedGuest>();
  for (const { vmid, pool, name } of guests) {
    const inPool = pool === null ? undefined : pools.find((entry) => pool === undefined || isInPool(pool, entry));
    const named = names.find((pattern) => name === undefined || matchesPattern(pattern, name));
    if (inPool !== undefined) selected.set(vmid, { rule: `protected.pools:${inPool}`, why: poolWords(vmid, pool, inPool) });
    else if (named !== undefined) selected.set(vmid, { rule: `protected.names:${named}`, why: nameWords(vmid, name, named) });
  }
  return selected;
}

function poolWords(vmid: number, pool: string | null | undefined, entry: string): string {
  if (pool === undefined)
    return `guest ${vmid} may be in the protected pool \`${entry}\`: the token cannot see which pool it is in (\`Pool.Audit\` on /pool)`;
  return `guest ${vmid} is in pool \`${pool}\`, which is protected`;
}

function nameWords(vmid: number, name: string | undefined, pattern: string): string {
  if (name === undefined) return `guest ${vmid} may be one that \`${pattern}\` protects: its name is not known`;
  return `guest ${vmid} is named \`${name}\`, which \`${pattern}\` protects`;
}
