/** How many requests may be under way at once, in all and per key. */
export interface Slots {
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
