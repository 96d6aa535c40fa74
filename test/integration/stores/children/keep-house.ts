/** keep-house URL: packs and trims the trail as often as it is told to, and says `done` after each time. */
import { openValkeyStore } from '#stores/valkey/open-valkey-store';
import { sampleCredentials } from '../valkey-server.ts';
import { say, told } from './told.ts';

const store = await openValkeyStore({ url: process.argv[2] ?? '', credentials: sampleCredentials() });
say('ready');
for (;;) {
  await told();
  await store.keepHouse();
  say('done');
}
