/** What bash makes of a line that the policy allowed, seen from outside: whether it does what the policy would have refused. */
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

export interface ShellOracle {
  /**
   * Runs the line where every program does nothing and succeeds, and names what was forbidden: `sudo` was started, a program was handed
   * `../out`, or `../out` was written. Empty: nothing of it.
   */
  forbidden(line: string): readonly string[];
  remove(): void;
}

/** Each of their operands is a file. */
const takesFiles = ['cat', 'head', 'sort', 'wc', 'tee', 'cp', 'mv', 'rm', 'touch', 'mkdir'];

export function createShellOracle(): ShellOracle {
  const home = mkdtempSync(path.join(tmpdir(), 'shell-oracle-'));
  const programs = path.join(home, 'programs');
  const mark = path.join(home, 'mark');
  const workspace = path.join(home, 'workspace');
  const written = path.join(home, 'out');
  mkdirSync(programs);
  putProgram(programs, 'sudo', `echo started >> '${mark}'`);
  for (const name of takesFiles) putProgram(programs, name, `for word; do [ "$word" = ../out ] && echo handed >> '${mark}'; done; :`);
  const env = { PATH: programs, 'BASH_FUNC_command_not_found_handle%%': '() { return 0; }' };
  return {
    forbidden: (line) => {
      rmSync(mark, { force: true });
      rmSync(written, { recursive: true, force: true });
      rmSync(workspace, { recursive: true, force: true });
      mkdirSync(workspace);
      // Without `sourcepath`, `. sudo` does not read the program as a script.
      const options = ['--norc', '--noprofile', '+O', 'sourcepath', '-c', line];
      spawnSync('/bin/bash', options, { cwd: workspace, env, stdio: 'ignore', timeout: 2_000, killSignal: 'SIGKILL' });
      const seen = existsSync(mark) ? readFileSync(mark, 'utf8').trim().split('\n') : [];
      return [...new Set(seen), ...(existsSync(written) ? ['written'] : [])];
    },
    remove: () => rmSync(home, { recursive: true, force: true }),
  };
}

function putProgram(folder: string, name: string, script: string): void {
  const file = path.join(folder, name);
  writeFileSync(file, `#!/bin/sh\n${script}\n`);
  chmodSync(file, 0o755);
}

/** What a shell takes for more than a character, and words around it. */
const tokens: readonly string[] = [
  ...['\n', '\n', '\n\n', '\n  ', '\\\n', ' \\\n', '\\', '\\\\', '\t', ' ', ' ', ' ', ' '],
  ...[
    ';',
    '; ',
    ' | ',
    '|',
    ' |& ',
    ' || ',
    ' && ',
    '(',
    ')',
    '{ ',
    ' }',
    '; }',
    '$(',
    ')',
    '`',
    '"',
    '"',
    "'",
    "'",
    "$'",
    '$"',
    '#',
    ' # ',
    '!',
    ' ! ',
  ],
  ...['<<E\n', "<<'E'\n", '<<-E\n', '\nE\n', 'E', '<<<', ' < ', ' > ', '>', ' >> ', ' 2>&1', '<(', '>(', ' <> ', '>|', '&>'],
  ...[
    '((',
    '))',
    '[[ ',
    ' ]]',
    '[ ',
    ' ]',
    'if ',
    '; then ',
    '; fi',
    ' else ',
    'for x in ',
    '; do ',
    '; done',
    'while ',
    'until ',
    'case x in ',
    'x) ',
    ' ;; ',
    ' esac',
  ],
  ...[
    'f() ',
    'function f ',
    'time ',
    'coproc ',
    'select x in ',
    'X=',
    'X+=',
    '=',
    '=(',
    '${X:-',
    '}',
    '${X',
    '${#',
    '$X',
    '$((',
    '*',
    '?',
    '~',
    '-',
    ' -- ',
    '[a]',
    '{a,b}',
    ',',
  ],
  ...[
    'sudo',
    'sudo',
    ' sudo id',
    '\\sudo',
    '\nsudo id',
    '\n\\sudo id',
    '; sudo id',
    's""udo',
    ' ../out',
    ' ../out ',
    'cat ../out',
    ' > ../out',
    '>../out ',
    '; rm ../out',
    ' | tee ../out',
    'echo ',
    'echo a',
    'ls',
    'ls ',
    'true',
    'cat',
    ' | head',
    ' | sort',
    'export ',
    'unset X',
    'local ',
    'a',
    'x',
  ],
];

/** A line of tokens, or one that is ordinary with tokens thrown in. `next`: a whole number below its argument. */
export function randomScript(ordinary: readonly string[], next: (below: number) => number): string {
  const token = (): string => tokens[next(tokens.length)] ?? '';
  if (next(2) === 0) return Array.from({ length: 2 + next(10) }, token).join('');
  const lines = Array.from({ length: 1 + next(2) }, () => ordinary[next(ordinary.length)] ?? '');
  let script = lines.join(token());
  for (let left = 1 + next(4); left > 0; left -= 1) {
    const at = next(script.length + 1);
    script = script.slice(0, at) + token() + script.slice(at + (next(3) === 0 ? next(3) : 0));
  }
  return script;
}
