/** Searching without ripgrep: every file below the directory, one after the other. */
import type { FoundPlace, FoundPlaces } from './search-with-ripgrep.ts';

export interface ReadingSearch {
  /** Paths below the searched directory, sorted. */
  readonly files: readonly string[];
  /** The lines of a file; undefined where it is not to be searched (secret, binary, gone). */
  readonly linesOf: (file: string) => Promise<readonly string[] | undefined>;
  readonly matches: (line: string) => boolean;
  readonly maxResults: number;
  readonly timeoutMs: number;
}

/** Reads one file at a time, so that everybody else gets a turn in between. @throws the signal's reason */
export async function searchByReading(search: ReadingSearch, signal: AbortSignal): Promise<FoundPlaces> {
  const places: FoundPlace[] = [];
  const end = performance.now() + search.timeoutMs;
  for (const file of search.files) {
    signal.throwIfAborted();
    if (performance.now() > end) return { places, more: true, timedOut: true };
    const lines = (await search.linesOf(file)) ?? [];
    for (const [index, line] of lines.entries()) {
      if (!search.matches(line)) continue;
      if (places.length >= search.maxResults) return { places, more: true, timedOut: false };
      places.push({ path: file, line: index + 1, text: line });
    }
  }
  return { places, more: false, timedOut: false };
}
