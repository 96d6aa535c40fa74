/** On which line of a JSON text something stands. */

export interface JsonLines {
  /** Of a key or an element, by its path; of the nearest one above where there is none. */
  of(path: readonly PropertyKey[]): number | undefined;
  /** The first key that is twice in one object: the parser would take the later one, and say nothing. */
  readonly twice?: { readonly path: readonly string[]; readonly line: number };
}

/** @param text what `JSON.parse` takes */
export function jsonLines(text: string): JsonLines {
  const reader = new Reader(text);
  reader.value([]);
  const { twice } = reader;
  return { of: (path) => reader.lineOf(path.map(String)), ...(twice === undefined ? {} : { twice }) };
}

const tokenPattern = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+|\n/g;

class Reader {
  readonly #tokens: readonly { readonly part: string; readonly line: number }[];
  readonly #lines = new Map<string, number>();
  #at = 0;
  twice: JsonLines['twice'];

  constructor(text: string) {
    let line = 1;
    this.#tokens = Array.from(text.matchAll(tokenPattern)).flatMap(([part]) => {
      if (part !== '\n') return [{ part, line }];
      line += 1;
      return [];
    });
  }

  lineOf(path: readonly string[]): number | undefined {
    const found = this.#lines.get(JSON.stringify(path));
    return found !== undefined || path.length === 0 ? found : this.lineOf(path.slice(0, -1));
  }

  value(path: readonly string[]): void {
    const { part, line } = this.#next();
    if (path.length > 0 && !this.#lines.has(JSON.stringify(path))) this.#lines.set(JSON.stringify(path), line);
    if (part === '{') this.#members(path);
    else if (part === '[') this.#elements(path);
  }

  #members(path: readonly string[]): void {
    const seen = new Set<string>();
    while (!this.#ends('}')) {
      const { part, line } = this.#next();
      const key = String(JSON.parse(part));
      const own = [...path, key];
      if (seen.has(key)) this.twice ??= { path: own, line };
      seen.add(key);
      this.#lines.set(JSON.stringify(own), line);
      this.#next();
      this.value(own);
    }
  }

  #elements(path: readonly string[]): void {
    for (let index = 0; !this.#ends(']'); index += 1) this.value([...path, String(index)]);
  }

  /** Goes past the comma, or the end. */
  #ends(close: string): boolean {
    const part = this.#tokens[this.#at]?.part ?? close;
    if (part === ',' || part === close) this.#at += 1;
    return part === close;
  }

  #next(): { readonly part: string; readonly line: number } {
    const token = this.#tokens[this.#at] ?? { part: '""', line: 0 };
    this.#at += 1;
    return token;
  }
}
