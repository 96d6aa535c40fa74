/** A branch of a Git remote: one commit a checkpoint, never forced, so that whoever keeps the remote keeps all of them. */
import { programRunner } from '#execution/run-child';
import { Fault } from '#kernel/errors';
import { checkpointsIn, requireContinued, type Send } from './witness.ts';

const fileName = 'checkpoint';

/** @param folder a repository of our own, made where missing */
export function sendToGit(remote: string, branch: string, folder: string): Send {
  return async ({ tree, checkpoint, note, signal }) => {
    const git = (args: readonly string[], input?: string) => runGit(['-C', folder, ...args], signal, input);
    await runGit(['init', '-q', '--bare', folder], signal);
    const parent = await newest(git, remote, branch);
    if (parent !== undefined) {
      const last = checkpointsIn(await git(['show', `${parent}:${fileName}`]), checkpoint.origin).at(-1);
      await requireContinued(tree, last);
      if (last?.size === checkpoint.size) return undefined;
    }
    const blob = (await git(['hash-object', '-w', '--stdin'], note)).trim();
    const listing = (await git(['mktree'], `100644 blob ${blob}\t${fileName}\n`)).trim();
    const message = `Checkpoint of ${checkpoint.size} records`;
    const commit = (await git(['commit-tree', listing, ...(parent === undefined ? [] : ['-p', parent]), '-m', message])).trim();
    await git(['push', '-q', remote, `${commit}:refs/heads/${branch}`]);
    return commit;
  };
}

async function newest(git: (args: readonly string[]) => Promise<string>, remote: string, branch: string): Promise<string | undefined> {
  const [listed = ''] = (await git(['ls-remote', remote, `refs/heads/${branch}`])).split('\t');
  if (!/^[0-9a-f]{40,64}$/.test(listed)) return undefined;
  await git(['fetch', '-q', '--no-tags', remote, `refs/heads/${branch}`]);
  return listed;
}

const timeoutMs = 60_000;

async function runGit(args: readonly string[], signal: AbortSignal, input?: string): Promise<string> {
  const { exitCode, stdout, stderr, timedOut } = await programRunner.run(
    { program: 'git', args, cwd: '/', env: gitEnvironment(), timeoutMs, keepBytes: 64 * 1024, ...(input === undefined ? {} : { input }) },
    signal,
  );
  if (exitCode === 0) return stdout;
  const why = timedOut ? `took longer than ${timeoutMs / 1000} s` : stderr.trim().slice(0, 500);
  throw new Fault('witness_failed', `git ${args.find((word) => /^[a-z]/.test(word)) ?? ''}: ${why}`, { retryable: true });
}

/** SECURITY: no transport that runs a program of the URL's, and nobody is asked for a password. */
function gitEnvironment(): Record<string, string> {
  const { PATH = '/usr/bin:/bin', HOME = '/', SSH_AUTH_SOCK: agent } = process.env;
  const person = { NAME: 'Banksman', EMAIL: 'banksman@localhost' };
  const names = Object.entries(person).flatMap(([key, value]) => [
    [`GIT_AUTHOR_${key}`, value] as const,
    [`GIT_COMMITTER_${key}`, value] as const,
  ]);
  return {
    ...{ PATH, HOME, LC_ALL: 'C', GIT_TERMINAL_PROMPT: '0', GIT_ALLOW_PROTOCOL: 'file:git:http:https:ssh' },
    GIT_SSH_COMMAND: 'ssh -oBatchMode=yes',
    ...(agent === undefined ? {} : { SSH_AUTH_SOCK: agent }),
    ...Object.fromEntries(names),
  };
}
