/** hold-lock FILE exclusive|write: holds the file as another program would; lets go when told. */
import { DatabaseSync } from 'node:sqlite';
import { say, told } from './told.ts';

const [file = '', how = 'write'] = process.argv.slice(2);
const database = new DatabaseSync(file);
// In exclusive locking mode not even readers get in, as with a backup tool that locks the whole file.
if (how === 'exclusive') database.exec('PRAGMA locking_mode = EXCLUSIVE');
database.exec('BEGIN EXCLUSIVE');
say('ready');
await told();
database.exec('ROLLBACK');
database.close();
say('released');
process.exit(0);
