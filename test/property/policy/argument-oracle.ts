/** What bash hands to programs, seen from outside: each is a stub that writes down its words and where it was started. */
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** One start of a program. */
export interface Start {
  readonly directory: string;
  readonly program: string;
  readonly args: readonly string[];
}

export interface ArgumentOracle {
  /** Where the scripts run; it holds the same files before each. */
  readonly workspace: string;
  /** Every start of a program that the script leads to. `shell`: a path and its options before `-c`. */
  starts(script: string, shell?: readonly string[]): readonly Start[];
  /** Whether something was written beside the workspace since the last run began. */
  wroteOutside(): boolean;
  remove(): void;
}

/** Do their work, too: what they print becomes words of others, or they start others. */
const working = ['cat', 'ls', 'find', 'xargs', 'env', 'basename', 'dirname', 'sort', 'head', 'seq', 'sh', 'bash', 'nice', 'timeout'];
const idle = [
  'wc',
  'rm',
  'cp',
  'mv',
  'touch',
  'mkdir',
  'stat',
  'file',
  'grep',
  'tail',
  'diff',
  'sudo',
  'curl',
  'git',
  'make',
  'tee',
  'uniq',
];

/** `names`: the stubs, which do nothing then; absent: programs of every kind, some of which do their work as well. */
export function createArgumentOracle(names?: readonly string[]): ArgumentOracle {
  const home = realpathSync(mkdtempSync(path.join(tmpdir(), 'argument-oracle-')));
  const programs = path.join(home, 'programs');
  const ground = path.join(home, 'ground');
  const workspace = path.join(ground, 'ws');
  mkdirSync(programs);
  // One `printf`, so one write: the programs of a pipe write at the same time.
  const note = `printf '%s\\0' "$PWD" "\${0##*/}" "$@" '\x1e' >> "$RECORD"`;
  for (const name of names ?? [...working, ...idle]) {
    const file = path.join(programs, name);
    writeFileSync(
      file,
      `#!/bin/sh\n${note}\n${names === undefined && working.includes(name) ? `exec '${realpathSync(installed(name))}' "$@"\n` : ''}`,
    );
    chmodSync(file, 0o755);
  }
  const unknown = `() { printf '%s\\0' "$PWD" "$@" $'\\x1e' >> "$RECORD"; }`;
  const env = { PATH: programs, HOME: '/home/~', LC_ALL: 'C.UTF-8', 'BASH_FUNC_command_not_found_handle%%': unknown };
  let runs = 0;
  layOut(ground, workspace);
  return {
    workspace,
    starts: (script, shell = ['/bin/bash', '--norc', '--noprofile', '+O', 'sourcepath']) => {
      // What an earlier script left behind in the background writes to its own.
      runs += 1;
      const record = path.join(home, `record-${runs}`);
      rmSync(ground, { recursive: true, force: true });
      layOut(ground, workspace);
      spawnSync('/usr/bin/timeout', ['--signal=KILL', '2', ...shell, '-c', script], {
        cwd: workspace,
        env: { ...env, RECORD: record },
        stdio: 'ignore',
      });
      const text = existsSync(record) ? readFileSync(record, 'utf8') : '';
      rmSync(record, { force: true });
      return text
        .split('\0\x1e\0')
        .slice(0, -1)
        .map((start) => {
          const [directory = '', program = '', ...args] = start.split('\0');
          return { directory, program, args };
        });
    },
    wroteOutside: () => existsSync(path.join(ground, 'out')) || readFileSync(path.join(ground, 'kept'), 'utf8') !== 'kept\n',
    remove: () => rmSync(home, { recursive: true, force: true }),
  };
}

function installed(name: string): string {
  return [`/usr/bin/${name}`, `/bin/${name}`].find((file) => existsSync(file)) ?? '/bin/true';
}

function layOut(ground: string, workspace: string): void {
  mkdirSync(path.join(workspace, 'sub', 'deep'), { recursive: true });
  writeFileSync(path.join(ground, 'kept'), 'kept\n');
  for (const name of ['a.txt', 'b.txt', 'sub/a.txt', 'sub/deep/c.txt', '.env', '-n', 'a'])
    writeFileSync(path.join(workspace, name), `${name}\nb.txt\n`);
  symlinkSync('../kept', path.join(workspace, 'link'));
}
