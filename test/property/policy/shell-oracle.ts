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
const takesFiles = ['cat', 'head', 'wc', 'tee', 'cp', 'mv', 'rm', 'touch', 'mkdir'];

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
      // Without `sourcepath`, `. sudo` does not read the program as a script. `timeout` ends the whole process group: a loop may go on in a subshell.
      const bash = ['/bin/bash', '--norc', '--noprofile', '+O', 'sourcepath', '-c', line];
      spawnSync('/usr/bin/timeout', ['--signal=KILL', '2', ...bash], { cwd: workspace, env, stdio: 'ignore' });
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
