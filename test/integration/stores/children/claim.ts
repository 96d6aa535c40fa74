/** claim FILE ID DIGEST COUNT: waits for `go`, claims the grant COUNT times at once, says how often it won. */
import { seal } from '#audit/seal';
import { openSqliteStore } from '#stores/sqlite/open-sqlite-store';
import { say, told } from './told.ts';

const [file = '', id = '', digest = '', count = '1'] = process.argv.slice(2);
const store = await openSqliteStore({ file, seal });
say('ready');
await told();
const claims = await Promise.all(
  Array.from({ length: Number(count) }, (_, index) => store.requests.consume(id, digest, `${process.pid}/${index}`)),
);
say(String(claims.filter((claim) => claim.ok).length));
await store.close();
process.exit(0);
