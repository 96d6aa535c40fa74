/** A small file that is needed over and over: looked at each time, read again only when it may have changed. */
import { readFile, stat } from 'node:fs/promises';

export interface KeptText {
  /** The text as the file is now. Rejects as `readFile` does; what was read before is no answer then. */
  read(): Promise<string>;
}

/** A file that was changed this shortly before it was read may change again without its times showing it: they are as coarse as that. In ms. */
const settledMs = 1_000;

/** @param path absolute */
export function keepText(path: string, now: () => number = Date.now): KeptText {
  let kept: { readonly version: string; readonly text: string } | undefined;
  let looking: Promise<string> | undefined;

  async function look(): Promise<string> {
    const { mtimeMs, ctimeMs, size, ino, dev } = await stat(path);
    const version = [mtimeMs, ctimeMs, size, ino, dev].join(' ');
    if (kept?.version === version) return kept.text;
    const readAt = now();
    const text = await readFile(path, 'utf8');
    // The version is from before the reading: where the file changed in between, the next look sees that.
    kept = Math.abs(readAt - ctimeMs) > settledMs ? { version, text } : undefined;
    return text;
  }

  return {
    read() {
      // Those who ask together are answered together.
      looking ??= look().finally(() => {
        looking = undefined;
      });
      return looking;
    },
  };
}
