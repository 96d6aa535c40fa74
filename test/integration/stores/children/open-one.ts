/** open-one FILE: at every line it hears, opens a request for that agent and says its id. */
import { seal } from '#audit/seal';
import { openSqliteStore } from '#stores/sqlite/open-sqlite-store';
import { draftBy, opened } from '../request-fixtures.ts';
import { say, told } from './told.ts';

const [file = ''] = process.argv.slice(2);
const store = await openSqliteStore({ file, seal });
say('ready');
for (;;) say((await opened(store, draftBy(await told()))).id);
