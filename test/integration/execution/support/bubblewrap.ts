/** The real bubblewrap. Tests of the sandbox ask `canSandbox` and skip with `whyNot`. */
import { chmodSync, existsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { temporaryDirectory } from './temporary.ts';

const realProgram = '/usr/bin/bwrap';

function missing(): string | undefined {
  if (process.platform !== 'linux') return 'bubblewrap is for Linux';
  return existsSync(realProgram) ? undefined : 'bubblewrap is not installed: `sudo apt-get install bubblewrap`';
}

export const whyNot = missing();
export const canSandbox = whyNot === undefined;
// `npm test` installs it where it may.
if (!canSandbox && process.env['BANKSMAN_REQUIRE_SERVERS']) throw new Error(whyNot);
if (!canSandbox) console.warn(`sandbox tests are skipped: ${whyNot}`);

export interface Change {
  /** Sequences of arguments to leave out, each as one string with single spaces. */
  readonly without?: readonly string[];
  /** Shell text to run before the real program takes over. */
  readonly before?: string;
  /** Shell text instead of the real program. */
  readonly instead?: string;
}

/** A directory whose `bwrap` is the real one with something missing or added: what the probe must find. */
export function changedBubblewrap({ without = [], before = '', instead }: Change): string {
  const directory = temporaryDirectory('bwrap-');
  const sequences = without.map((sequence) => sequence.split(' '));
  const drops = sequences
    .map((words) => {
      const test = words.map((word, index) => `"\${@:${index + 1}:1}" == '${word}'`).join(' && ');
      return `if [[ ${test} ]]; then shift ${words.length}; continue; fi`;
    })
    .join('\n  ');
  const script = `#!/bin/bash
args=()
while (( $# > 0 )); do
  ${drops === '' ? ':' : drops}
  args+=("$1"); shift
done
set -- "\${args[@]}"
${before}
${instead ?? `exec ${realProgram} "$@"`}
`;
  const file = path.join(directory, 'bwrap');
  writeFileSync(file, script);
  chmodSync(file, 0o755);
  return directory;
}
