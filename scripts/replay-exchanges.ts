/**
 * `node scripts/replay-exchanges.ts [--family a,b] [--at-least 95] [--quiet] FILE…`: replays recordings of a real cluster against the
 * demo cluster, each from its own state, and prints what differs. The last line is `matched M of N`. Exit 1 below `--at-least` percent.
 */
import { parseArgs } from 'node:util';
import { type Recording, readRecordings } from './replay/recordings.ts';
import { type Replayed, replayFile } from './replay/replay.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { family: { type: 'string' }, 'at-least': { type: 'string' }, quiet: { type: 'boolean', default: false } },
});
if (positionals.length === 0) {
  console.error('usage: node scripts/replay-exchanges.ts [--family a,b] [--at-least PERCENT] [--quiet] FILE…');
  process.exit(2);
}

const families = values.family?.split(',');
const wanted = ({ family }: Recording) => families === undefined || families.includes(family);
const results: Replayed[] = [];
for (const file of positionals) {
  const replayed = await replayFile(readRecordings(file), wanted);
  results.push(...replayed);
  if (!values.quiet) for (const one of replayed) show(one);
}

const counts = new Map<string, { all: number; matched: number }>();
for (const { recording, differences } of results) {
  const count = counts.get(recording.family) ?? { all: 0, matched: 0 };
  counts.set(recording.family, { all: count.all + 1, matched: count.matched + (differences.length === 0 ? 1 : 0) });
}
for (const [family, { all, matched }] of counts) console.log(`${family}: matched ${matched} of ${all}`);
const matched = results.filter(({ differences }) => differences.length === 0).length;
console.log(`matched ${matched} of ${results.length}`);
process.exitCode = matched * 100 < Number(values['at-least'] ?? 0) * results.length || results.length === 0 ? 1 : 0;

function show({ recording, differences }: Replayed): void {
  if (differences.length === 0) return;
  const { seq, family, name, request } = recording;
  console.log(`${family}${seq === undefined ? '' : ` ${seq}`}: ${name} (${request.method} ${request.path})`);
  for (const difference of differences) console.log(`  ${difference}`);
}
