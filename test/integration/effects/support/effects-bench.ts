/** A workspace, its journal and runs over a view of it. Runs in this process, or in a child of another user. */
import { createHash } from 'node:crypto';
import { type BigIntStats, lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import path from 'node:path';
import type { Disk } from '#execution/effects/disk';
import { createEffects, type Effects, type EffectsLimits } from '#execution/effects/effects';
import { programRunner } from '#execution/run-program';
import type { EffectJudge, RunEffects } from '#kernel/effects';

export interface BenchRequest {
  readonly root: string;
  readonly judge?: EffectJudge;
  readonly limits?: Partial<EffectsLimits>;
  readonly disk?: Disk;
}

export interface EffectsBench {
  readonly workspace: string;
  readonly journal: string;
  readonly effects: Effects;
  readonly log: readonly string[];
  run(command: string, more?: RunMore): Promise<RunEffects & { readonly exitCode: number | undefined; readonly stderr: string }>;
}

export interface RunMore {
  readonly apply?: boolean;
  readonly hide?: readonly string[];
  /** After the command, before its effects are looked at. */
  readonly meanwhile?: () => void | Promise<void>;
}

export const applyAll: EffectJudge = () => ({ action: 'apply', rule: 'test', why: 'a test' });

/** Without bubblewrap: what is tested here is the view, not the cage. */
export function openBench({ root, judge = applyAll, limits, disk }: BenchRequest): EffectsBench {
  const [workspace, journal] = [path.join(root, 'ws'), path.join(root, 'journal')];
  mkdirSync(workspace, { recursive: true });
  const log: string[] = [];
  const note = (line: string) => void log.push(line);
  const effects = createEffects({
    workspaceRoot: workspace,
    journal,
    programs: programRunner,
    judge,
    log: { debug: note, info: note, warn: note, error: note },
    ...(limits === undefined ? {} : { limits }),
    ...(disk === undefined ? {} : { disk }),
  });
  return {
    workspace,
    journal,
    effects,
    log,
    run: async (command, { apply = true, hide = [], meanwhile } = {}) => {
      const run = await effects.open(hide);
      const script = `cd "$1" || exit 99; ${command}`;
      const line = run.over({ program: '/bin/bash', args: ['--noprofile', '--norc', '-c', script, 'bash', workspace] });
      const { signal } = new AbortController();
      const env = { PATH: '/usr/bin:/bin', HOME: '/tmp', LANG: 'C.UTF-8' };
      const { exitCode, stderr } = await programRunner.run({ ...line, cwd: '/', env, timeoutMs: 60_000, keepBytes: 64_000 }, signal);
      await meanwhile?.();
      return { ...(await run.settle({ title: command, agentId: 'cli:test', apply }, signal)), exitCode, stderr };
    },
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

function contentOf(file: string, stats: BigIntStats): string {
  if (stats.isSymbolicLink()) return readlinkSync(file);
  return stats.isFile() ? createHash('sha256').update(readFileSync(file)).digest('hex').slice(0, 16) : '';
}
