/** Token buckets by key. */
export interface RateLimit {
  /** Takes `cost` from the bucket of `key`. 0 when there was enough, else the seconds until there is. */
  take(key: string, cost: number): number;
  /** Whether nothing is left in the bucket of `key`; takes nothing. */
  isEmpty(key: string): boolean;
  /** Forgets buckets that are full again, so that the map does not grow with every address that ever called. */
  sweep(): void;
}

interface Bucket {
  left: number;
  at: number;
}

/** @param now monotonic, in ms */
export function createRateLimit(perSecond: number, burst: number, now: () => number): RateLimit {
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
    isEmpty: (key) => refilled(key).left < 1,
    sweep: () => {
      for (const key of buckets.keys()) if (refilled(key).left >= burst) buckets.delete(key);
    },
  };
}
