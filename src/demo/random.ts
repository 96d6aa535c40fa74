/** Seeded pseudo-random numbers (mulberry32): the same seed gives the same cluster, load figures included. Not for secrets. */
export interface Random {
  /** The next number in [0, 1). */
  next(): number;
  /** A number in [0, 1) that depends on the seed and these words only, so a figure does not jump between two reads. */
  stable(...words: readonly (string | number)[]): number;
}

/** The same items in another order (Fisher-Yates). */
export function shuffled<Item>(random: Random, items: readonly Item[]): Item[] {
  const result = [...items];
  for (let last = result.length - 1; last > 0; last -= 1) {
    const other = Math.floor(random.next() * (last + 1));
    [result[last], result[other]] = [result[other] as Item, result[last] as Item];
  }
  return result;
}

export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  return {
    next() {
      state = (state + 0x6d2b79f5) >>> 0;
      return mix(state);
    },
    stable(...words) {
      let hash = seed >>> 0;
      for (const character of words.join('\0')) hash = Math.imul(hash ^ character.charCodeAt(0), 0x01000193) >>> 0;
      return mix((hash + 0x6d2b79f5) >>> 0);
    },
  };
}

function mix(value: number): number {
  let mixed = Math.imul(value ^ (value >>> 15), value | 1);
  mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
}

/** A version 4 UUID. */
export function randomUuid(random: Random): string {
  const hex = Array.from({ length: 32 }, () => Math.floor(random.next() * 16).toString(16));
  hex[12] = '4';
  hex[16] = '89ab'.charAt(Math.floor(random.next() * 4));
  const text = hex.join('');
  return [text.slice(0, 8), text.slice(8, 12), text.slice(12, 16), text.slice(16, 20), text.slice(20)].join('-');
}
