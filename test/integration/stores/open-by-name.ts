/** Either engine by one word, for processes that a test starts: a file, or the address of a server with the sample users. */
import { seal } from '#audit/seal';
import type { Store } from '#kernel/ports/store';
import { openSqliteStore } from '#stores/sqlite/open-sqlite-store';
import { openValkeyStore } from '#stores/valkey/open-valkey-store';
import { sampleCredentials } from './valkey-server.ts';

/** Patient: hundreds of claims wait for one lock, on machines that do other things, too. */
export function openByName(name: string): Promise<Store> {
  return name.startsWith('valkey://')
    ? openValkeyStore({ url: name, credentials: sampleCredentials(), timeoutMs: 120_000 })
    : openSqliteStore({ file: name, seal, busyDeadlineMs: 120_000 });
}
