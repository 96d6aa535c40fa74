/** The conformance suite's own runner, as a process. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';

const modules = path.join(import.meta.dirname, '../../../../node_modules');
const runners = {
  stable: path.join(modules, '@modelcontextprotocol/conformance/dist/index.js'),
  /** The newest one, which knows 2026-07-28. */
  alpha: path.join(modules, 'conformance-alpha/dist/index.js'),
} as const;

export interface Check {
  readonly scenario: string;
  readonly id: string;
  readonly status: string;
  readonly message: string;
}

export interface SuiteRun {
  readonly exitCode: number | null;
  readonly output: string;
  readonly checks: readonly Check[];
}

export async function runSuite(runner: keyof typeof runners, url: string, options: readonly string[]): Promise<SuiteRun> {
  const folder = await mkdtemp(path.join(tmpdir(), 'conformance-'));
  try {
    const child = spawn(process.execPath, [runners[runner], 'server', '--url', url, '--output-dir', folder, ...options], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const closed = once(child, 'close') as Promise<[number | null]>;
    const [stdout, stderr, [exitCode]] = await Promise.all([text(child.stdout), text(child.stderr), closed]);
    return { exitCode, output: stdout + stderr, checks: await readChecks(folder) };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** One folder per scenario, named `server-NAME-TIME`, with `checks.json`. */
async function readChecks(folder: string): Promise<readonly Check[]> {
  const names = await readdir(folder, { recursive: true });
  const files = names.filter((name) => path.basename(name) === 'checks.json');
  const perFile = await Promise.all(
    files.map(async (file) => {
      const scenario = path
        .basename(path.dirname(file))
        .replace(/^server-/, '')
        .replace(/-\d{4}-\d{2}-\d{2}T.*$/, '');
      const parsed = JSON.parse(await readFile(path.join(folder, file), 'utf8')) as { id: string; status: string; errorMessage?: string }[];
      return parsed.map(({ id, status, errorMessage }) => ({ scenario, id, status, message: errorMessage ?? '' }));
    }),
  );
  return perFile.flat();
}
