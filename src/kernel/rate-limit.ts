/** How much one client may have of a server: so many a second, so many at once. */

/** Token buckets by key. */
interface RateLimit {
  /** Takes `cost` from the bucket of `key`. 0 when there was enough, else the seconds until there is. */
  take(key: string, cost: number): number;
  /** Forgets buckets that are full again, so that the map does not grow with every address that ever called. */
  sweep(): void;
}

interface Bucket {
  left: number;
  at: number;
}

/** @param now monotonic, in ms */
export function createRateLimit(perSecond: number, burst: number, now = () => performance.now()): RateLimit {
  const buckets = new Map<string, Bucket>();
  const refilled = (key: string): Bucket => {
    const at = now();
    const bucket = buckets.get(key);
    if (bucket === undefined) return { left: burst, at };
    return { left: Math.min(burst, bucket.left + ((at - bucket.at) / 1000) * perSecond), at };
  };
  return {
    take: (key, cost) => {
      const bucket = refilled(key);
      const enough = bucket.left >= cost;
      buckets.set(key, enough ? { ...bucket, left: bucket.left - cost } : bucket);
      return enough ? 0 : Math.max(1, Math.ceil((cost - bucket.left) / perSecond));
    },
    sweep: () => {
      for (const key of buckets.keys()) if (refilled(key).left >= burst) buckets.delete(key);
    },
  };
}

/** How many requests may be under way at once, in all and per key. */
interface Slots {
  /** The release, to be called once; undefined when none is free. */
  take(key: string): (() => void) | undefined;
}

export function createSlots(total: number, perKey: number): Slots {
  const held = new Map<string, number>();
  let all = 0;
  return {
    take: (key) => {
      const mine = held.get(key) ?? 0;
      if (all >= total || mine >= perKey) return undefined;
      all += 1;
      held.set(key, mine + 1);
      let released = false;
      return () => {
        if (released) return;
        released = true;
        all -= 1;
        const left = (held.get(key) ?? 1) - 1;
        if (left > 0) held.set(key, left);
        else held.delete(key);
      };
    },
  };
}
