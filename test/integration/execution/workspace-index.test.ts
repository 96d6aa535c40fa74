/** The index is asked again and again while others change the tree: it must say what a fresh look says. */
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createWorkspaceIndex, type IndexOptions } from '#execution/sandbox/workspace-index';
import { isSecretPath } from '#policy/paths/secret-files';
import { temporaryDirectory } from './support/temporary.ts';

const { signal } = new AbortController();
const rules = { isSecret: isSecretPath };

function open(files: readonly string[] = [], more: Partial<IndexOptions> = {}) {
  const root = path.join(temporaryDirectory('index-'), 'ws');
  const at = (name: string) => path.join(root, name);
  const put = (name: string) => {
    mkdirSync(path.dirname(at(name)), { recursive: true });
    writeFileSync(at(name), 'x');
  };
  mkdirSync(root);
  files.forEach(put);
  const index = createWorkspaceIndex({ root, rules, ...more });
  const look = async (limitMs = 60_000) => sorted(await index.look(limitMs, signal));
  const fresh = async () => sorted(await createWorkspaceIndex({ root, rules }).look(60_000, signal));
  return { root, at, put, look, fresh };
}

function sorted(found: Awaited<ReturnType<ReturnType<typeof createWorkspaceIndex>['look']>>) {
  return found && { secrets: found.secrets.toSorted(), repositories: found.repositories.toSorted(), closed: found.closed.toSorted() };
}

describe.skipIf(process.platform !== 'linux')('where secrets and repositories are', () => {
  it('is found by names, not in installed packages and not in repositories', async () => {
    const files = [
      '.env',
      'a/b/id_rsa',
      'a/plain',
      'node_modules/x/.env',
      'bare.git/HEAD',
      'bare.git/objects/o',
      'bare.git/refs/r',
      '.git/HEAD',
    ];
    const { look } = open([...files, 'sub/.git/HEAD', 'bare.git/.env']);
    expect(await look()).toEqual({ secrets: ['.env', 'a/b/id_rsa'], repositories: ['.git', 'bare.git', 'sub/.git'], closed: [] });
  });

  it.each([
    ['a new file', 'echo x > d/.env', ['d/.env', 'd/e/id_rsa']],
    ['one that is gone', 'rm d/e/id_rsa', []],
    ['one that got the name', 'mv d/e/f d/.env', ['d/.env', 'd/e/id_rsa']],
    ['a new tree', 'mkdir -p n/e/w; echo x > n/e/w/.env', ['d/e/id_rsa', 'n/e/w/.env']],
    ['a tree that moved in', 'mkdir -p ../out/t; echo x > ../out/t/.env; mv ../out in', ['d/e/id_rsa', 'in/t/.env']],
    ['a directory that moved', 'mv d moved', ['moved/e/id_rsa']],
    ['what came into a directory that moved', 'mv d m; echo x > m/e/.env', ['m/e/.env', 'm/e/id_rsa']],
    ['a directory that was replaced', 'rm -r d/e; mkdir d/e; echo x > d/e/.env', ['d/e/.env']],
    ['a workspace that was replaced', 'mv ../ws ../old; mkdir -p ../ws/new; echo x > ../ws/new/.env', ['new/.env']],
    ['a file where a directory was', 'rm -r d; echo x > d', []],
  ])('sees %s', async (_name, change, expected) => {
    const { root, put, look, fresh } = open(['d/e/id_rsa', 'd/e/f']);
    expect((await look())?.secrets).toEqual(['d/e/id_rsa']);
    execFileSync('bash', ['-c', change], { cwd: root });
    expect((await look())?.secrets).toEqual(expected);
    put('d2/e2/.env');
    expect(await look()).toEqual(await fresh());
  });

  it('sees a directory become a repository, and one go', async () => {
    const { at, put, look } = open(['r/HEAD', 'r/objects/o', 's/.git/HEAD']);
    expect((await look())?.repositories).toEqual(['s/.git']);
    put('r/refs/heads/main');
    rmSync(at('s'), { recursive: true });
    expect((await look())?.repositories).toEqual(['r']);
  });

  it('reads all anew when more happened than the kernel keeps', async () => {
    const { root, put, look } = open(['a/f', 'b/f']);
    await look();
    const most = readFileSync('/proc/sys/fs/inotify/max_queued_events', 'utf8').trim();
    // This process waits meanwhile, and takes no event.
    execFileSync('bash', ['-c', `seq ${most} | xargs touch && rm [0-9]*`], { cwd: path.join(root, 'a') });
    put('b/.env');
    expect((await look())?.secrets).toEqual(['b/.env']);
  });

  it.each([
    ['no watch is left', { mostWatched: 3 }],
    ['nothing is watched', { mostWatched: 0 }],
    ['each event is one too many', { queued: 0 }],
  ])('is complete where %s', async (_name, more) => {
    const { at, put, look, fresh } = open(['a/b/c/d/.env', 'e/f/g/id_rsa'], more);
    expect((await look())?.secrets).toEqual(['a/b/c/d/.env', 'e/f/g/id_rsa']);
    put('a/b/c/d/new/.env');
    renameSync(at('e'), at('a/e'));
    expect((await look())?.secrets).toEqual(['a/b/c/d/.env', 'a/b/c/d/new/.env', 'a/e/f/g/id_rsa']);
    expect(await look()).toEqual(await fresh());
  });

  it('goes on where a look had too little time, and until then says nothing', async () => {
    const { put, look } = open();
    for (let index = 0; index < 1_200; index += 1) put(`d${index % 30}/e${index}/f`);
    put('d3/e3/.env');
    expect(await look(0)).toBeUndefined();
    let turns = 0;
    let found = await look(4);
    for (; found === undefined && turns < 10_000; turns += 1) found = await look(4);
    expect(found?.secrets).toEqual(['d3/e3/.env']);
  });

  it('names a directory that nobody may list, until it can be', async () => {
    const { at, put, look } = open(['shut/.env']);
    // Root may list any.
    if (process.getuid?.() === 0) return;
    chmodSync(at('shut'), 0);
    expect(await look()).toMatchObject({ secrets: [], closed: ['shut'] });
    chmodSync(at('shut'), 0o700);
    put('shut/id_rsa');
    expect(await look()).toMatchObject({ secrets: ['shut/.env', 'shut/id_rsa'], closed: [] });
  });

  it('says what a fresh look says, whatever happens in between', { timeout: 120_000 }, async () => {
    const name = fc.constantFrom('a', 'b', 'c', '.env', 'id_rsa', '.git', 'HEAD', 'objects', 'refs', 'node_modules');
    const place = fc.array(name, { minLength: 1, maxLength: 4 }).map((names) => names.join('/'));
    const act = fc.record({ kind: fc.constantFrom('mkdir -p', 'touch', 'rm -rf', 'mv -T'), one: place, other: place });
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(act, { maxLength: 12 }), { minLength: 1, maxLength: 4 }), async (rounds) => {
        const { root, look, fresh } = open(['a/b/.env', 'c/.git/HEAD']);
        await look();
        for (const acts of rounds) {
          const script = acts.map(({ kind, one, other }) => `${kind} ${one}${kind === 'mv -T' ? ` ${other}` : ''} 2>/dev/null`).join('; ');
          execFileSync('bash', ['-c', `${script}\ntrue`], { cwd: root });
          expect(await look(), script).toEqual(await fresh());
        }
      }),
      { numRuns: 60 },
    );
  });
});
