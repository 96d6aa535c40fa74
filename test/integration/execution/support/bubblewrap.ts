/** The real bubblewrap, installed where the tests may do that. Tests of the sandbox ask `canSandbox` and skip with `whyNot`. */
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { temporaryDirectory } from './temporary.ts';

const realProgram = '/usr/bin/bwrap';

function install(): string | undefined {
  if (process.platform !== 'linux') return 'bubblewrap is for Linux';
  if (existsSync(realProgram)) return undefined;
  if (process.getuid?.() !== 0) return 'bubblewrap is not installed: `sudo apt-get install bubblewrap`';
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  for (const args of [['update'], ['install', '-y', '--no-install-recommends', 'bubblewrap']]) {
    spawnSync('apt-get', ['-o', 'DPkg::Lock::Timeout=120', ...args], { env, stdio: 'ignore' });
  }
  return existsSync(realProgram) ? undefined : 'bubblewrap could not be installed by apt-get';
}

export const whyNot = install();
export const canSandbox = whyNot === undefined;
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
