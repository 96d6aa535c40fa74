/** What the looks at a workspace remember of its directories: never more than is still so. */
import { chmodSync, mkdirSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { createDirectoryMemory, type DirectoryMemory } from '#execution/sandbox/directory-memory';
import { type ScanMemory, scanWorkspace } from '#execution/sandbox/scan-workspace';
import { isControlPath } from '#policy/paths/control-files';
import { isSecretPath } from '#policy/paths/secret-files';
import { canSandbox } from './support/bubblewrap.ts';
import { temporaryDirectory } from './support/temporary.ts';
import { openWorkbench } from './support/workbench.ts';

const rules = { isControl: isControlPath, isSecret: isSecretPath };
const idle = () => new AbortController().signal;
const look = (root: string, memory?: ScanMemory) =>
  scanWorkspace({ root, rules, limitMs: 30_000, thorough: true, ...(memory === undefined ? {} : { memory }) }, idle());

function fill(root: string, files: readonly string[]): void {
  for (const file of files) {
    mkdirSync(path.dirname(path.join(root, file)), { recursive: true });
    writeFileSync(path.join(root, file), '');
  }
}

/** Counts how often the directory had to be read. */
function counting(memory: DirectoryMemory<number>, directory: string) {
  let reads = 0;
  const recall = () =>
    memory.recall(directory, () => {
      reads += 1;
      return reads;
    });
  return { recall, reads: () => reads };
}

/** Until the memory trusts the stamps in there. */
async function settled(memory: DirectoryMemory<number>, directory: string): Promise<void> {
  const seen = counting(memory, directory);
  await vi.waitFor(
    () => {
      const before = seen.reads();
      seen.recall();
      expect(seen.reads()).toBe(before);
    },
    { timeout: 20_000, interval: 20 },
  );
}

/** Elsewhere nothing is remembered. */
function stampsAreKept(): boolean {
  const root = temporaryDirectory('memory-');
  const seen = counting(createDirectoryMemory<number>({ root, settledMs: -3_600_000 }), root);
  seen.recall();
  seen.recall();
  return seen.reads() === 1;
}
const keepsStamps = process.platform === 'linux' && stampsAreKept();

describe.skipIf(!keepsStamps)('the memory of directories', () => {
  it('reads a directory once, until an entry comes, goes or changes its name', async () => {
    const root = temporaryDirectory('memory-');
    const memory = createDirectoryMemory<number>({ root });
    fill(root, ['a']);
    for (const change of [
      () => fill(root, ['b']),
      () => renameSync(path.join(root, 'b'), path.join(root, 'c')),
      () => rmSync(path.join(root, 'c')),
      () => chmodSync(root, 0o755),
    ]) {
      await settled(memory, root);
      change();
      const after = counting(memory, root);
      after.recall();
      expect(after.reads()).toBe(1);
    }
  });

  it('is not taken in by times that were set back', async () => {
    const root = temporaryDirectory('memory-');
    const memory = createDirectoryMemory<number>({ root });
    const old = new Date('2001-01-01');
    utimesSync(root, old, old);
    await settled(memory, root);
    fill(root, ['b']);
    utimesSync(root, old, old);
    const after = counting(memory, root);
    after.recall();
    expect(after.reads()).toBe(1);
  });

  it('keeps nothing whose last change might hide another one', () => {
    const root = temporaryDirectory('memory-');
    const seen = counting(createDirectoryMemory<number>({ root, settledMs: 3_600_000 }), root);
    for (const turn of [1, 2, 3]) {
      seen.recall();
      expect(seen.reads()).toBe(turn);
    }
  });

  it('keeps nothing that could not be read, and nothing where directories are not stamped', () => {
    const root = temporaryDirectory('memory-');
    const memory = createDirectoryMemory<number>({ root, settledMs: -3_600_000 });
    const failed = counting(memory, root);
    expect(memory.recall(root, () => undefined)).toBeUndefined();
    expect(failed.recall()).toBe(1);
    expect(failed.reads()).toBe(1);
    // Another file system than the root's.
    const other = counting(memory, '/proc');
    other.recall();
    other.recall();
    expect(other.reads()).toBe(2);
    const unstamped = counting(createDirectoryMemory<number>({ root: '/proc', settledMs: -3_600_000 }), '/proc');
    unstamped.recall();
    unstamped.recall();
    expect(unstamped.reads()).toBe(2);
  });

  it('takes no link and no file for a directory', () => {
    const root = temporaryDirectory('memory-');
    fill(root, ['d/a', 'f']);
    symlinkSync('d', path.join(root, 'l'));
    const memory = createDirectoryMemory<number>({ root });
    for (const name of ['l', 'f', 'none']) expect(memory.recall(path.join(root, name), () => 1)).toBeUndefined();
    expect(memory.recall(path.join(root, 'd'), () => 1)).toBe(1);
  });

  it('keeps no more than it may', () => {
    const root = temporaryDirectory('memory-');
    fill(root, ['a/x', 'b/x', 'c/x']);
    const memory = createDirectoryMemory<number>({ root, most: 2, settledMs: -3_600_000 });
    const seen = ['a', 'b', 'c'].map((name) => counting(memory, path.join(root, name)));
    for (const { recall } of seen) recall();
    for (const { recall } of seen) recall();
    expect(seen.reduce((sum, { reads }) => sum + reads(), 0)).toBeGreaterThan(3);
  });
});

/** A small generator of numbers, the same in every run (mulberry32). */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

describe.skipIf(!keepsStamps)('a look with a memory', () => {
  it.each([1, 2, 3])('finds what one without finds, whatever was changed since (seed %i)', async (seed) => {
    const root = temporaryDirectory('memory-');
    const memory: ScanMemory = createDirectoryMemory({ root });
    const number = numbers(seed);
    const places = Array.from({ length: 90 }, (_, index) => `${['', 'a/b/', 'node_modules/x/'][index % 3]}d${index}`);
    const names = ['.env', '.git', '.vscode', 'HEAD', 'objects', 'refs', 'plain', 'tool.sh', 'key.pem', '.envrc'];
    const at = () => path.join(root, places[number(places.length)] ?? '', names[number(names.length)] ?? '');
    const changes = [
      (file: string) => writeFileSync(file, 'x'),
      (file: string) => mkdirSync(file),
      (file: string) => rmSync(file, { recursive: true }),
      (file: string) => renameSync(file, at()),
      (file: string) => symlinkSync('/etc', file),
      (file: string) => writeFileSync(path.join(file, 'tasks.json'), '{}'),
      (file: string) => chmodSync(file, 0o4755),
    ];
    for (const place of places) mkdirSync(path.join(root, place), { recursive: true });
    await settled(createDirectoryMemory({ root }), path.join(root, places.at(-1) ?? ''));
    await look(root, memory);
    for (let turn = 0; turn < 150; turn += 1) {
      try {
        changes[number(changes.length)]?.(at());
      } catch {
        // There is no such entry, or another kind of one.
      }
      expect(await look(root, memory)).toEqual(await look(root));
    }
  });
});

describe.skipIf(!canSandbox || !keepsStamps)('a run in a workspace that was looked at before', () => {
  it('hides new secrets and finds what is planted, in directories that it knows', async () => {
    const bench = openWorkbench();
    bench.files({ 'old/deep/file': '', 'swapped/file': '', 'other/.env': 'SECRET' });
    const memory = createDirectoryMemory<number>({ root: bench.workspace });
    for (const name of ['old', 'old/deep', 'swapped', 'other']) await settled(memory, path.join(bench.workspace, name));
    for (const _ of [1, 2]) await expect(bench.run('cat old/deep/file')).resolves.toMatchObject({ exitCode: 0, planted: [] });
    bench.files({ 'old/deep/.env': 'SECRET' });
    const result = await bench.run(
      'cat old/deep/.env other/.env; echo x > old/deep/.envrc; rm swapped/file; rmdir swapped; mkdir swapped; mkfifo swapped/f; ln -s /etc old/out; true',
    );
    expect(result.stdout).toBe('');
    expect(result.planted.map((line) => line.split(' ')[0])).toEqual(['old/deep/.envrc', 'old/out', 'swapped/f']);
  });
});
