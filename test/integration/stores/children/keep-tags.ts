/**
 * `node keep-tags.ts STATE FIRST COUNT`: a process of its own that, at `go`, sees COUNT guests from FIRST on with a protecting tag, one look for each,
 * and makes a guest with a scope's tag for each of them; then it says `done`.
 */
import { once } from 'node:events';
import { createTagMemory } from '#app/clusters/tag-memory';

const [stateDir = '', first = '', count = ''] = process.argv.slice(2);
const silent = () => undefined;
const log = { debug: silent, info: silent, warn: silent, error: silent };
const scope = { name: 'staging', agents: ['*'], reason: 'only tests', only: { tags: ['staging'] } };
const memory = createTagMemory({ cluster: 'lab', stateDir, log, entries: { windows: [], roles: [], scopes: [scope] } });
process.stdout.write('ready\n');
await once(process.stdin, 'data');
for (let vmid = Number(first); vmid < Number(first) + Number(count); vmid += 1) {
  await memory.remember(new Map([[vmid, ['keep']]]), new Set([vmid]));
  const made = { vmid: vmid + 1_000, tags: ['staging'] };
  await memory.making(made, 'begins');
  await memory.making(made, 'made');
}
process.stdout.write('done\n');
process.exit(0);
