/** Searching with ripgrep where this machine has one, and with the built-in engine: the same answers. */
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import type { SearchQuery } from '#kernel/ports/workspace';
import { ripgrep } from './machine-ripgrep.ts';
import { codeOf, never, openTestWorkspace, scope, type TestWorkspace, type TestWorkspaceOptions } from './support.ts';

const engines = [...(ripgrep === undefined ? [] : ['ripgrep' as const]), 'built-in' as const];

const ask = ({ search }: TestWorkspace, query: Partial<SearchQuery>) =>
  search.search({ pattern: 'needle', path: '.', maxResults: 50, ...query }, scope, never);
const places = async (workspace: TestWorkspace, query: Partial<SearchQuery>) =>
  (await ask(workspace, query)).hits.map((hit) => `${hit.path}:${hit.line}`);

describe.each(engines)('the engine %s', (engine) => {
  const open = (options: TestWorkspaceOptions = {}) =>
    openTestWorkspace({ ripgrep: engine === 'ripgrep' && ripgrep !== undefined ? [ripgrep] : [], ...options });

  it('finds lines, in order, with their text', async () => {
    const workspace = await open();
    workspace.put({ 'b.ts': 'x\nneedle = 1\r\n', 'a/deep.ts': 'needle\nNeedle\nneedle again', 'c.md': 'nothing' });
    expect(await ask(workspace, {})).toEqual({
      hits: [
        { path: 'a/deep.ts', line: 1, text: 'needle' },
        { path: 'a/deep.ts', line: 3, text: 'needle again' },
        { path: 'b.ts', line: 2, text: 'needle = 1' },
      ],
      truncated: false,
      engine,
    });
    expect(await places(workspace, { pattern: '^needle$' })).toEqual(['a/deep.ts:1']);
    expect(await places(workspace, { pattern: '(?i)^needle$' })).toEqual(['a/deep.ts:1', 'a/deep.ts:2']);
    expect(await places(workspace, { pattern: '1$' })).toEqual(['b.ts:2']);
    expect(await places(workspace, { path: 'a' })).toEqual(['a/deep.ts:1', 'a/deep.ts:3']);
    expect(await places(workspace, { path: 'b.ts' })).toEqual(['b.ts:2']);
    expect(await places(workspace, { path: 'c.md' })).toEqual([]);
  });

  it('keeps to the file pattern', async () => {
    const workspace = await open();
    workspace.put({ 'x.ts': 'needle', 'x.js': 'needle', 'src/y.ts': 'needle', 'src/lib/z.ts': 'needle' });
    expect(await places(workspace, { filePattern: '*.ts' })).toEqual(['src/lib/z.ts:1', 'src/y.ts:1', 'x.ts:1']);
    expect(await places(workspace, { filePattern: 'src/*.ts' })).toEqual(['src/y.ts:1']);
    expect(await places(workspace, { filePattern: 'src/**/*.{ts,js}' })).toEqual(['src/lib/z.ts:1', 'src/y.ts:1']);
    expect(await places(workspace, { filePattern: 'lib/*', path: 'src' })).toEqual(['src/lib/z.ts:1']);
    expect(await codeOf(ask(workspace, { filePattern: '!*.ts' }))).toBe('BAD_PATTERN');
    for (const filePattern of ['{a', '[', 'a}', '[z-a]', 'a\\']) expect(await codeOf(ask(workspace, { filePattern }))).toBe('BAD_PATTERN');
  });

  it('stops at the number of results that was asked for', async () => {
    const workspace = await open();
    workspace.put({ a: 'needle\n'.repeat(30), b: 'needle\n'.repeat(30) });
    for (const maxResults of [1, 30, 59]) {
      const found = await ask(workspace, { maxResults });
      expect([found.hits.length, found.truncated]).toEqual([maxResults, true]);
    }
    expect(await ask(workspace, { maxResults: 60 })).toMatchObject({ truncated: false });
  });

  it('searches no secrets, no binaries, no large files, nothing ignored, nothing behind links', async () => {
    const workspace = await open();
    mkdirSync(path.join(workspace.base, 'outside'));
    writeFileSync(path.join(workspace.base, 'outside/x'), 'needle');
    workspace.put({
      '.env': 'needle',
      '.ENV.local': 'needle',
      'keys/id_rsa': 'needle',
      '.ssh/config': 'needle',
      binary: Buffer.from('needle\0needle'),
      '.gitignore': 'skipped/\n',
      'skipped/x': 'needle',
      '.git/config': 'needle',
      '.hidden/x': 'needle',
      'seen.txt': 'needle',
      large: 'needle\n',
    });
    truncateSync(workspace.absolute('large'), 6 * 1024 * 1024);
    symlinkSync('../outside', workspace.absolute('out'));
    symlinkSync('../outside/x', workspace.absolute('out.txt'));
    symlinkSync('/', workspace.absolute('root'));
    execFileSync('mkfifo', [workspace.absolute('pipe')]);
    expect(await places(workspace, {})).toEqual(['.hidden/x:1', 'seen.txt:1']);
    for (const name of ['out', 'out/x', 'out.txt', '..', '/etc', '../outside', 'root/etc/passwd']) {
      expect(await codeOf(ask(workspace, { path: name, pattern: '.' })), name).toMatch(/^(?:SYMLINK|PATH)_OUTSIDE_WORKSPACE$/);
    }
    expect(await codeOf(ask(workspace, { path: '.env' }))).toBe('SECRET_FILE');
    expect(await codeOf(ask(workspace, { path: 'pipe' }))).toBe('NOT_A_REGULAR_FILE');
    expect(await codeOf(ask(workspace, { path: 'none' }))).toBe('FILE_NOT_FOUND');
    expect(await codeOf(ask(workspace, { path: 'large' }))).toBe('FILE_TOO_LARGE');
    // A person's agreement is for that file alone.
    const agreed = await workspace.search.search({ pattern: 'needle', path: '.env', maxResults: 5 }, { ...scope, agreed: '.env' }, never);
    expect(agreed.hits.map((hit) => hit.path)).toEqual(['.env']);
  });

  it('reads the encodings that read_file reads', async () => {
    const workspace = await open();
    workspace.put({
      utf8: '\ufeffa needle é',
      utf16: Buffer.from('\ufefffirst\nthe needle é', 'utf16le'),
      latin1: Buffer.from('needle \u00e9\n', 'latin1'),
    });
    expect((await ask(workspace, {})).hits).toEqual([
      { path: 'latin1', line: 1, text: 'needle é' },
      { path: 'utf16', line: 2, text: 'the needle é' },
      { path: 'utf8', line: 1, text: 'a needle é' },
    ]);
  });

  it('explains a pattern that it does not take', async () => {
    const workspace = await open();
    workspace.put({ a: 'x' });
    for (const pattern of [
      '(',
      'a{2',
      '[',
      '*a',
      'a{5000}{5000}',
      '(?=a)',
      '(a)\\1',
      'a\nb',
      'a\0b',
      '',
      'x'.repeat(1_001),
      '\ud800',
      '\\p{Nope}',
    ]) {
      const refused = await ask(workspace, { pattern }).catch((thrown: unknown) => thrown);
      // Both engines take a brace that starts no repetition for itself, or refuse it.
      if (pattern === 'a{2' && !(refused instanceof Error)) continue;
      expect(refused, JSON.stringify(pattern)).toMatchObject({
        code: 'BAD_PATTERN',
        message: expect.stringMatching(/^the pattern is not understood: \S/),
      });
      expect(String(refused)).not.toMatch(/multiline|pcre2|--/i);
    }
  });

  it('takes whatever else a model sends as it is', async () => {
    const workspace = await open();
    workspace.put({ '-rf': '--needle', 'a b/$HOME;x': '-e needle', "it's.txt": 'needle `id` $(id)' });
    expect(await places(workspace, { pattern: '--needle' })).toEqual(['-rf:1']);
    expect(await places(workspace, { pattern: '-e needle' })).toEqual(['a b/$HOME;x:1']);
    expect(await places(workspace, { pattern: '\\$\\(id\\)' })).toEqual(["it's.txt:1"]);
    expect(await places(workspace, { path: '-rf' })).toEqual(['-rf:1']);
    expect(await places(workspace, { path: 'a b/$HOME;x' })).toEqual(['a b/$HOME;x:1']);
  });

  it.each(['(a+)+$', '(a|a?)+$', '([a-zA-Z]+)*$', '(.*)*b', '(x+x+)+y', '(?:a?){100}a{100}$'])(
    'answers to %s in linear time',
    async (pattern) => {
      const workspace = await open();
      workspace.put({ evil: `${'a'.repeat(20_000)}!\n${'x'.repeat(20_000)}\n` });
      // It answers at all: with backtracking these need longer than the universe has.
      expect(await ask(workspace, { pattern })).toMatchObject({ engine });
    },
  );

  it('says when time was up, and stops when it is cancelled', async () => {
    const workspace = await open({ timeoutMs: 0 });
    workspace.put({ a: 'x' });
    expect(await codeOf(ask(workspace, { pattern: 'nothing here' }))).toBe('SEARCH_TIMEOUT');
    const cancelled = workspace.search.search({ pattern: 'x', path: '.', maxResults: 5 }, scope, AbortSignal.abort(new Error('enough')));
    await expect(cancelled).rejects.toThrow('enough');
  });

  it('searches the agent’s own sandbox', async () => {
    const workspace = await open();
    await workspace.files.write('/tmp/deep/a.txt', 'needle', { createDirs: true }, scope);
    expect(await places(workspace, { path: '/tmp' })).toEqual(['/tmp/deep/a.txt:1']);
    const other = workspace.search.search({ pattern: 'needle', path: '/tmp', maxResults: 5 }, { agentId: 'mcp:other' }, never);
    expect(await codeOf(other)).toBe('FILE_NOT_FOUND');
  });
});

describe('choosing the engine', () => {
  const program = (workspace: TestWorkspace, name: string, script: string): string => {
    const file = path.join(workspace.base, name);
    writeFileSync(file, script);
    chmodSync(file, 0o755);
    return file;
  };

  it('goes on to the next candidate, and to the built-in engine, where one does not run or is too old', async () => {
    const first = await openTestWorkspace();
    const old = program(first, 'old', '#!/bin/sh\necho "ripgrep 11.0.2"\n');
    const broken = program(first, 'broken', 'not a program');
    const workspace = await openTestWorkspace({ ripgrep: [path.join(first.base, 'none'), old, broken] });
    workspace.put({ a: 'needle' });
    expect(await ask(workspace, {})).toMatchObject({ engine: 'built-in', hits: [{ path: 'a' }] });
  });

  it('runs nothing that lies in the workspace', async () => {
    const outer = await openTestWorkspace();
    outer.put({ 'node_modules/.bin/rg': '#!/bin/sh\ntouch "$0.ran"\necho "ripgrep 15.0.0"\n' });
    chmodSync(outer.absolute('node_modules/.bin/rg'), 0o755);
    const linked = path.join(outer.base, 'rg');
    symlinkSync(outer.absolute('node_modules/.bin/rg'), linked);
    const workspace = await openTestWorkspace({ root: outer.root, ripgrep: [outer.absolute('node_modules/.bin/rg'), linked] });
    expect((await ask(workspace, {})).engine).toBe('built-in');
    expect(
      (await workspace.files.list('node_modules/.bin', { recursive: false }, scope, never)).entries.map((entry) => entry.path),
    ).toEqual(['node_modules/.bin/rg']);
  });

  it('believes a program only as far as the files go', async () => {
    const first = await openTestWorkspace();
    const match = (file: string, line: number, text: string) =>
      JSON.stringify({ type: 'match', data: { path: { text: file }, lines: { text }, line_number: line } });
    const lies = [
      match('./a', 1, 'needle'),
      match('./a', 2, 'not there'),
      match('../../etc/passwd', 1, 'root'),
      match('./.env', 1, 'KEY=1'),
      match('/etc/passwd', 1, 'root'),
      '{"type":"match"',
      'noise',
    ];
    const liar = program(
      first,
      'liar',
      `#!/bin/sh\n[ "$2" = --version ] && echo "ripgrep 15.0.0" && exit\ncat <<'E'\n${lies.filter((line) => line !== '{"type":"match"').join('\n')}\nE\n`,
    );
    const workspace = await openTestWorkspace({ ripgrep: [liar] });
    workspace.put({ a: 'needle', '.env': 'KEY=1' });
    expect((await ask(workspace, {})).hits).toEqual([{ path: 'a', line: 1, text: 'needle' }]);
  });

  it('reports a program that fails', async () => {
    const first = await openTestWorkspace();
    const failing = program(
      first,
      'failing',
      '#!/bin/sh\n[ "$2" = --version ] && echo "ripgrep 15.0.0" && exit\necho "rg: out of memory" >&2\nexit 2\n',
    );
    const workspace = await openTestWorkspace({ ripgrep: [failing] });
    const failed = await ask(workspace, {}).catch((thrown: unknown) => thrown);
    expect(failed).toMatchObject({ code: 'SEARCH_FAILED', message: 'ripgrep ended with exit code 2: rg: out of memory' });
  });
});
