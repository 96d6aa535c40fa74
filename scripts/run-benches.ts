/** `npm run bench [-- NAMES]`: every benchmark, one after the other, on an otherwise idle machine; exit 1 when one missed its goal. */
import { spawnSync } from 'node:child_process';
import path from 'node:path';

const root = path.join(import.meta.dirname, '..');
const benches = ['policy', 'sandbox', 'effects', 'search', 'start', 'contention', 'pruning', 'valkey', 'clients', 'peers', 'fleet'];

const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !benches.includes(name));
if (unknown.length > 0) {
  console.error(`bench: none is named ${unknown.join(', ')}; there are ${benches.join(', ')}`);
  process.exit(1);
}

const missed = (wanted.length > 0 ? wanted : benches).filter((name) => {
  console.log(`\n=== ${name}`);
  return spawnSync('npm', ['run', '--silent', `bench:${name}`], { cwd: root, stdio: 'inherit' }).status !== 0;
});
console.log(missed.length > 0 ? `\nbench: missed or failed: ${missed.join(', ')}` : '\nbench: all goals are met');
process.exitCode = missed.length > 0 ? 1 : 0;
