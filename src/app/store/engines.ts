/** Every engine of a store besides the embedded one: its URLs, the files that they name, and how it is opened. */

import { Fault } from '#kernel/errors';
import type { Store } from '#kernel/ports/store';
import { say } from '#kernel/text/message';
import { parseStoreUrl } from '#stores/valkey/store-url';

export interface StoreEngine {
  /** How its URLs begin; no `^`. */
  readonly urls: RegExp;
  /** The same for people. */
  readonly shown: readonly string[];
  /** Files on this machine that a URL needs; relative ones count from the state directory. @throws {Fault} `bad_store_url` */
  files(url: string): readonly string[];
  /** Loads the engine. @param locate makes the path of such a file absolute. @throws {Fault} `store_…` with the place and the remedy */
  open(url: string, locate: (file: string) => string): Promise<Store>;
}

/** Credentials of the shared store's roles, where its URL names no other file. */
const credentialsFileName = 'credentials.json';

const valkey: StoreEngine = {
  urls: /valkeys?(?:\+sentinel|\+cluster)?:\/\//,
  shown: ['valkey://', 'valkeys://'],
  files: (url) => {
    const { credentialsFile = credentialsFileName, caFile } = parseStoreUrl(url);
    return caFile === undefined ? [credentialsFile] : [credentialsFile, caFile];
  },
  open: async (url, locate) => {
    const { openValkeyStore } = await import('#stores/valkey/open-valkey-store');
    const { credentialsFile = credentialsFileName, caFile } = parseStoreUrl(url);
    return openValkeyStore({ url, credentials: locate(credentialsFile), ...(caFile === undefined ? {} : { caFile: locate(caFile) }) });
  },
};

const engines: readonly StoreEngine[] = [valkey];

/** What a store's URL begins with. */
export const storePattern = new RegExp(`^(?:sqlite:|${engines.map(({ urls }) => urls.source).join('|')})`);

const starts = ['sqlite:', ...engines.flatMap(({ shown }) => shown)].map((start) => `\`${start}\``);
/** The same for people. Put together by hand: the first use of `Intl.ListFormat` takes 17 ms, and every command reads this. */
export const storeStarts = `${starts.slice(0, -1).join(', ')} or ${starts.at(-1)}`;

/** @throws {Fault} `bad_store_url` where no engine has the URL */
export function engineOf(url: string): StoreEngine {
  const engine = engines.find(({ urls }) => url.search(urls) === 0);
  if (engine === undefined) throw new Fault('bad_store_url', say`the store URL must start with ${storeStarts}`);
  return engine;
}
