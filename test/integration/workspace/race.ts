/** A workspace whose links are swapped by another process, and what the tools see in it. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import { never, openTestWorkspace, scope } from './support.ts';

export interface Seen {
  readonly inside: number;
  readonly outside: number;
  readonly refused: number;
}

export interface Race {
  reads(rounds: number): Promise<Seen>;
  writes(rounds: number): Promise<Seen>;
  looks(rounds: number): Promise<Seen>;
  /** Check, then open by name: what the tools must not do. */
  naiveReads(rounds: number): Promise<Seen>;
  outsideNames(): readonly string[];
  outsideText(): string;
}

export async function openRace(engines: readonly string[] = []): Promise<Race> {
  const workspace = await openTestWorkspace({ ripgrep: engines });
  const outside = path.join(workspace.base, 'outside');
  mkdirSync(outside);
  writeFileSync(path.join(outside, 'secret.txt'), 'OUTSIDE needle\n');
  await startSwapping(workspace.root, outside);
  const { files, search } = workspace;
  const targets = ['d/secret.txt', 'f'];
  return {
    reads: (rounds) => count(rounds, async (round) => (await files.read(targets[round % 2] ?? '', {}, scope, never)).text),
    writes: (rounds) =>
      count(rounds, async (round) => {
        await files.write(['d/new.txt', 'd/deep/new.txt', 'd/secret.txt'][round % 3] ?? '', 'inside', { createDirs: true }, scope);
        return 'inside';
      }),
    looks: (rounds) =>
      count(rounds, async (round) => {
        if (round % 2 === 0) return JSON.stringify(await files.list('.', { recursive: true }, scope, never));
        return JSON.stringify(await search.search({ pattern: 'OUTSIDE|inside', path: '.', maxResults: 50 }, scope, never));
      }),
    naiveReads: (rounds) =>
      count(rounds, async (round) => {
        const file = path.join(workspace.root, 'd/secret.txt');
        if (!realpathSync(file).startsWith(`${workspace.root}/`)) throw new Error('refused');
        if (round % 1_000 === 0) await new Promise(setImmediate);
        return readFileSync(file, 'utf8');
      }),
    outsideNames: () => readdirSync(outside),
    outsideText: () => readFileSync(path.join(outside, 'secret.txt'), 'utf8'),
  };
}

async function count(rounds: number, look: (round: number) => Promise<string>): Promise<Seen> {
  let [inside, outside, refused] = [0, 0, 0];
  for (let round = 0; round < rounds; round += 1) {
    try {
      const text = await look(round);
      if (text.includes('OUTSIDE')) outside += 1;
      else inside += 1;
    } catch {
      refused += 1;
    }
  }
  return { inside, outside, refused };
}

async function startSwapping(root: string, outside: string): Promise<void> {
  const child = spawn(process.execPath, [path.join(import.meta.dirname, 'children/swap.ts'), root, outside], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(async () => {
    const closed = once(child, 'close');
    if (!child.kill('SIGKILL')) throw new Error('the swapping ended before the test');
    await closed;
  });
  await once(child.stdout, 'data');
}
