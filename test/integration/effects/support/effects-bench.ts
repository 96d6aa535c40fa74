/** A workspace, its journal and runs over a view of it. Runs in this process, or in a child of another user. */

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { type BigIntStats, lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Disk } from '#execution/effects/disk';
import { createEffects, type Effects, type EffectsLimits } from '#execution/effects/effects';
import type { ProgramLine } from '#execution/effects/view';
import { programRunner } from '#execution/run-child';
import type { EffectJudge, RunBegun, RunEffects } from '#kernel/effects';
import type { ProgramRunner } from '#kernel/ports/program-runner';
import { controlRowOf } from '#policy/effects/control-places';
import { whyHeldSettings } from '#policy/effects/git-settings';

/** `scratch`: the overlay writes to memory, another file system than the journal's. */
export type Way = 'overlay' | 'scratch' | 'copy';

export interface BenchRequest {
  readonly root: string;
  readonly way?: Way | undefined;
  readonly judge?: EffectJudge;
  readonly limits?: Partial<EffectsLimits>;
  readonly disk?: Disk;
  readonly programs?: ProgramRunner;
}

export interface EffectsBench {
  readonly workspace: string;
  readonly journal: string;
  /** Where the way `scratch` writes. */
  readonly scratch: string;
  readonly effects: Effects;
  readonly log: readonly string[];
  run(command: string, more?: RunMore): Promise<RunEffects & { readonly exitCode: number | undefined; readonly stderr: string }>;
}

export interface RunMore {
  readonly apply?: boolean;
  readonly hide?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** After the command, before its effects are looked at. */
  readonly meanwhile?: () => void | Promise<void>;
  readonly signal?: AbortSignal;
  readonly onApply?: (begun: RunBegun) => void;
}

export const applyAll: EffectJudge = () => ({ action: 'apply', rule: 'test', why: 'a test' });

/** Holds whatever has `held` in a name on its way. */
export const holdMarked: EffectJudge = ({ path: at }) =>
  at.includes('held')
    ? { action: 'hold', rule: 'marked', why: 'it is marked' }
    : applyAll({ path: at, kind: 'create', type: 'file', mode: 0, bytes: 0 }, { workspaceRoot: '' });

/** Without bubblewrap: what is tested here is the view, not the cage. */
export function openBench({ root, judge = applyAll, limits, disk, programs = programRunner, way = 'overlay' }: BenchRequest): EffectsBench {
  const [workspace, journal] = [path.join(root, 'ws'), path.join(root, 'journal')];
  mkdirSync(workspace, { recursive: true });
  const scratch = `/dev/shm/${path.basename(root)}`;
  const how = { copy: way === 'copy', scratch: way === 'scratch' ? scratch : undefined };
  const log: string[] = [];
  const note = (line: string) => void log.push(line);
  const effects = createEffects({
    workspaceRoot: workspace,
    journal,
    programs,
    judge,
    log: { debug: note, info: note, warn: note, error: note },
    ...(limits === undefined ? {} : { limits }),
    ...(disk === undefined ? {} : { disk }),
  });
  return {
    workspace,
    journal,
    scratch,
    effects,
    log,
    run: async (command, { apply = true, hide = [], env: more = {}, meanwhile, signal: ended, onApply } = {}) => {
      const run = await effects.open(hide, how);
      const script = `cd "$1" || exit 99; ${command}`;
      const bash = { program: '/bin/bash', args: ['--noprofile', '--norc', '-c', script, 'bash', workspace] };
      const line = run.isCopy ? atItsPlace(run.upper, workspace, bash) : run.over(bash);
      const { signal } = new AbortController();
      const env = { PATH: '/usr/bin:/bin', HOME: '/tmp', LANG: 'C.UTF-8', ...more };
      const { exitCode, stderr } = await programRunner.run({ ...line, cwd: '/', env, timeoutMs: 60_000, keepBytes: 64_000 }, signal);
      await meanwhile?.();
      const settling = { title: command, agentId: 'cli:test', apply, ...(onApply === undefined ? {} : { onApply }) };
      try {
        return { ...(await run.settle(settling, ended ?? signal)), exitCode, stderr };
      } finally {
        await leftGone(journal);
      }
    },
  };
}

/** Until the views of ended runs are gone, which no answer waits for. */
export async function leftGone(place: string): Promise<void> {
  while (readdirSync(place).some((name) => name.startsWith('gone-'))) await delay(2);
}

/** As bubblewrap mounts a copy. */
function atItsPlace(upper: string, workspace: string, { program, args }: ProgramLine): ProgramLine {
  const namespaces = process.getuid?.() === 0 ? ['-m'] : ['-U', '-r', '-m'];
  return {
    program: 'unshare',
    args: [...namespaces, 'bash', '-c', 'mount --bind "$0" "$1" && shift && exec "$@"', upper, workspace, program, ...args],
  };
}

/** Every entry below a directory with all that undo promises to bring back; inode numbers too where asked. */
export function snapshot(root: string, { times = true, inodes = false } = {}): Readonly<Record<string, string>> {
  const found: Record<string, string> = {};
  const look = (below: string) => {
    const file = path.join(root, below);
    const stats = lstatSync(file, { bigint: true });
    const parts = [stats.mode.toString(8), contentOf(file, stats), times ? stats.mtimeNs : '', inodes ? stats.ino : ''];
    found[below === '' ? '.' : below] = [...parts, stats.isFile() && stats.nlink > 1n ? 'linked' : ''].join(' ');
    if (stats.isDirectory()) for (const name of readdirSync(file)) look(below === '' ? name : `${below}/${name}`);
  };
  look('');
  return found;
}

const largestRead = 2n ** 30n;

function contentOf(file: string, stats: BigIntStats): string {
  if (stats.isFile() && stats.size > largestRead)
    return execFileSync('bash', ['-c', 'sha256sum < "$0"', file], { encoding: 'utf8' }).slice(0, 16);
  if (stats.isSymbolicLink()) return readlinkSync(file);
  return stats.isFile() ? createHash('sha256').update(readFileSync(file)).digest('hex').slice(0, 16) : '';
}

/**
 * What other programs run or obey: of control files their state in a snapshot, of settings of git what must not be there. The time of a
 * directory says that a file beside was made; that of a file, that its own words were written anew.
 */
export function controlsOf(root: string, tree = snapshot(root, { times: false })): string {
  const withoutTimes = (state: string) => state.replace(/ -?\d+ {2}(?:linked)?$/, '');
  const stateOf = (file: string, state: string): string | undefined => {
    if (/(?:^|\/)\.git\/(?:.*\/)?config(?:\.worktree)?$/.test(file) && state.startsWith('100'))
      return whyHeldSettings({ before: '', after: readFileSync(path.join(root, file), 'utf8') });
    const isControl =
      controlRowOf(file.split('/')) !== undefined || /(?:^|\/)\.git\/(?:.*\/)?(?:hooks|commondir|info\/attributes)/.test(file);
    return isControl && !state.startsWith('4') && !file.endsWith('.sample') ? withoutTimes(state) : undefined;
  };
  return JSON.stringify(
    Object.entries(tree).flatMap(([file, state]) => (stateOf(file, state) === undefined ? [] : [[file, stateOf(file, state)]])),
  );
}
