/** swap ROOT OUTSIDE: until it is killed, makes `d` in ROOT now a directory, now a link to OUTSIDE, and `f` now a file, now a link or pipe. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, renameSync, symlinkSync, writeFileSync, writeSync } from 'node:fs';
import path from 'node:path';

const [root = '', outside = ''] = process.argv.slice(2);
const at = (name: string): string => path.join(root, name);

mkdirSync(at('.swap'));
mkdirSync(at('.swap/d'));
writeFileSync(at('.swap/d/secret.txt'), 'inside\n');
symlinkSync(outside, at('.swap/d-link'));
writeFileSync(at('.swap/f'), 'inside\n');
symlinkSync(path.join(outside, 'secret.txt'), at('.swap/f-link'));
execFileSync('mkfifo', [at('.swap/f-pipe')]);
writeSync(1, 'ready\n');

let made = 0;

/** A write may have made the directory while there was none, even twice: those are put aside. */
function putInPlace(kind: string, name: string): void {
  for (;;) {
    try {
      renameSync(at(`.swap/${kind}`), at(name));
      return;
    } catch {
      made += 1;
      renameSync(at(name), at(`.swap/made-${made}`));
    }
  }
}

for (;;) {
  for (const kind of ['d', 'd-link']) {
    putInPlace(kind, 'd');
    renameSync(at('d'), at(`.swap/${kind}`));
  }
  for (const kind of ['f', 'f-link', 'f-pipe']) {
    putInPlace(kind, 'f');
    renameSync(at('f'), at(`.swap/${kind}`));
  }
}
