/**
 * swap-parent ROOT: as long as ROOT/go is there, puts by turns the directory and a link to ROOT/outside at ROOT/ws/a, as fast as it can. In
 * between the directory is in its place, and ROOT/parked says how often that was.
 */
import { existsSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

const [root = ''] = process.argv.slice(2);
const [place, away, link] = ['ws/a', 'away', 'link'].map((name) => path.join(root, name)) as [string, string, string];
const [go, parked] = ['go', 'parked'].map((name) => path.join(root, name)) as [string, string];
symlinkSync(path.join(root, 'outside'), link);

let made = 0;

/** A run that saw no directory may have made one: that is put aside. */
function putInPlace(entry: string): void {
  for (;;) {
    try {
      renameSync(entry, place);
      return;
    } catch {
      made += 1;
      putAside(path.join(root, `made-${made}`));
    }
  }
}

function putAside(to: string): void {
  try {
    renameSync(place, to);
  } catch {
    // The run has taken it back.
  }
}

for (let swaps = 0; ; ) {
  writeFileSync(`${parked}.new`, String(swaps));
  renameSync(`${parked}.new`, parked);
  while (!existsSync(go)) await delay(2);
  rmSync(parked);
  for (; existsSync(go); swaps += 1) {
    renameSync(place, away);
    putInPlace(link);
    renameSync(place, link);
    putInPlace(away);
  }
}
