/** What an agent's own tools open and start, on the machine as it is: no sandbox stands around them. */

import { accessSync, constants, realpathSync } from 'node:fs';
import path from 'node:path';
import { allow, ask, type Decision, deny } from '#kernel/decision';
import type { PathUse } from '#kernel/resource';
import { say } from '#kernel/text/message';
import { isThroughRun } from '#policy/effects/decide-agent-shell';
import { isSecretPath } from '#policy/paths/secret-files';
import { defaultConfigFile, defaultStateDir } from '../config/paths.ts';
import type { OpenWorkspace } from './open-workspace.ts';

/** Where systems keep what every program may read: no keys, nothing of a person's. */
const everybodys = ['/usr', '/opt', '/lib', '/lib64', '/bin', '/nix/store', '/Library/Developer', '/System'];

/**
 * In the workspace as for tools of ours. Outside nothing is written; what is read there a person is asked about, unless every program may read it.
 * @param name absolute
 */
export async function judgeMachinePath(
  name: string,
  use: PathUse,
  workspace: Pick<OpenWorkspace, 'judgeInside'>,
): Promise<{ readonly decision: Decision; readonly real?: string }> {
  const inside = workspace.judgeInside(name, use);
  if (inside.decision.code !== 'PATH_OUTSIDE_WORKSPACE') return inside;
  if (use === 'write') return inside;
  const real = realOf(name);
  return { decision: outside([path.resolve(name), real]), real };
}

function outside(names: readonly string[]): Decision {
  const own = [path.dirname(defaultConfigFile()), defaultStateDir()].flatMap((place) => [place, realOf(place)]);
  if (names.some((name) => own.some((place) => isIn(name, place))))
    return deny('OWN_FILE', 'this is Banksman’s own state or configuration, which no tool touches', ['path.own']);
  if (names.some((name) => isSecretPath(name.split(path.sep).filter((part) => part !== ''))))
    return ask('SECRET_FILE', say`the name stands for a secret; a person must agree`, ['path.secret-files']);
  const isEverybodys = names.every((name) => everybodys.some((place) => isIn(name, place)));
  return isEverybodys
    ? allow('allowed', 'every program of this machine may read it', ['path.everybodys'])
    : ask('PATH_OUTSIDE_WORKSPACE', say`it is outside the workspace; a person must agree`, ['path.outside']);
}

function isIn(name: string, place: string): boolean {
  const way = path.relative(place, name);
  return way === '' || (way.split(path.sep)[0] !== '..' && !path.isAbsolute(way));
}

/** Also of what is not there. */
function realOf(name: string): string {
  const absolute = path.resolve(name);
  const parent = path.dirname(absolute);
  try {
    return realpathSync(absolute);
  } catch {
    return parent === absolute ? absolute : path.join(realOf(parent), path.basename(absolute));
  }
}

/**
 * How a shell starts this very program: `banksman` where the PATH leads to it, and the Node and the file in full. SECURITY: no other name, for a
 * repository can have a program of any name. None where no shell's quotes are known (Windows).
 * @param file of the command line; default: what this process was started with
 */
export function ownPrograms(file = process.argv[1]): readonly (readonly string[])[] {
  if (file === undefined || process.platform === 'win32') return [];
  const real = realOf(file);
  // The editor's own program is Node only by this variable, which the shell of an agent has not.
  const asNode = process.versions['electron'] === undefined ? [] : ['/usr/bin/env', 'ELECTRON_RUN_AS_NODE=1'];
  const whole = [...asNode, process.execPath, real];
  const found = (process.env['PATH'] ?? '')
    .split(path.delimiter)
    .filter(path.isAbsolute)
    .map((folder) => path.join(folder, 'banksman'))
    .find(isProgram);
  return found !== undefined && realOf(found) === real ? [['banksman'], whole] : [whole];
}

/** Whether a line of an agent's shell is `banksman run` and nothing else. @param file as of `ownPrograms` */
export function isOwnRun(line: string, file?: string): boolean {
  return isThroughRun(line, ownPrograms(file));
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
