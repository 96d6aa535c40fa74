import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { spawnLeashed } from '../../../scripts/bench/leashed.ts';
import { cleanEnv } from '../../../scripts/lib/clean-env.mjs';
import { waitUntil } from '../harness/wait-until.ts';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'banksman-leash-'));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** A program that prints its own id and that of a child, and does what `body` says. */
function program(name: string, body: string): string {
  const file = path.join(folder, name);
  const start = `const child = require('node:child_process').spawn('sleep', ['300']);\n`;
  // Printed last: what the body sets up is in place then.
  writeFileSync(file, `${start}${body}\nconsole.log('pids', process.pid, child.pid);\n`);
  return file;
}

async function pidsOf(line: Promise<string>): Promise<number[]> {
  return (await line).split(' ').slice(1).map(Number);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

describe('a program on a leash', () => {
  it('stops with its children', async () => {
    const leashed = spawnLeashed(process.execPath, [program('polite.cjs', 'setInterval(() => {}, 1000);')], { env: cleanEnv() });
    const pids = await pidsOf(leashed.waitForLine(/^pids/, 10_000));
    expect(pids.map(isAlive)).toEqual([true, true]);
    expect(await leashed.stop()).toBe(0);
    await waitUntil('both to end', () => !pids.some(isAlive));
  });

  it('is killed when it does not listen', async () => {
    const stubborn = program('stubborn.cjs', "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000);");
    const leashed = spawnLeashed(process.execPath, [stubborn], { env: cleanEnv() });
    const pids = await pidsOf(leashed.waitForLine(/^pids/, 10_000));
    expect(await leashed.stop()).toBe(1);
    await waitUntil('both to end', () => !pids.some(isAlive));
  });

  it('stops when whoever started it is killed', async () => {
    const target = program('target.cjs', 'setInterval(() => {}, 1000);');
    const owner = path.join(folder, 'owner.ts');
    const leashed = path.resolve(import.meta.dirname, '../../../scripts/bench/leashed.ts');
    writeFileSync(
      owner,
      `import { spawnLeashed } from ${JSON.stringify(leashed)};
       const run = spawnLeashed(process.execPath, [${JSON.stringify(target)}], { env: process.env });
       console.log(await run.waitForLine(/^pids/, 10_000));`,
    );
    const child = spawn(process.execPath, [owner], { stdio: ['ignore', 'pipe', 'inherit'] });
    const pids = await pidsOf(new Promise((resolve) => child.stdout.once('data', (chunk: Buffer) => resolve(chunk.toString().trim()))));
    expect(pids.map(isAlive)).toEqual([true, true]);
    child.kill('SIGKILL');
    await waitUntil('both to end', () => !pids.some(isAlive));
  });

  it('says what it printed when it ends before it was ready', async () => {
    const failing = program('failing.cjs', "child.kill(); console.error('no disk'); process.exit(3);");
    const leashed = spawnLeashed(process.execPath, [failing], { env: cleanEnv() });
    await expect(leashed.waitForLine(/^ready/, 10_000)).rejects.toThrow(/failing\.cjs` ended with code 3[\s\S]*no disk/);
  });
});
