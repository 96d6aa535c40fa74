/**
 * `npm run bench:window [-- 5000 10000]`: the memory that the extension takes in a window's extension host, with a cluster of so many guests in its view and so
 * many requests in its store: resident, over a Node process that does nothing. Exit 1 when the goal is missed. Linux, after `npm run build`.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { build } from 'esbuild';
import { startDemoCluster } from '#demo/index';
import { banner, commonOptions } from '../../scripts/build/bundle-options.mjs';
import { noExamples } from '../../scripts/build/no-examples.mjs';
import { slimUndici } from '../../scripts/build/slim-undici.mjs';
import { seedRequests } from '../editor/harness/seed-requests.ts';
import { figure, residentMb } from './measure.ts';

const root = path.join(import.meta.dirname, '..', '..');
const [guests = 5_000, requests = 10_000] = process.argv.slice(2).map(Number);
const goalMb = 80;
const settleMs = 5_000;

/** As esbuild.mjs bundles what is shipped: Node's own stripping of types would be counted, too. */
async function bundleWindow(outfile: string): Promise<void> {
  const { plugins, ...common } = commonOptions(root);
  await build({
    ...common,
    entryPoints: [path.join(import.meta.dirname, 'window', 'window.ts')],
    ...{ outfile, minify: true, target: 'node24', format: 'cjs' },
    external: ['vscode', './twin.cjs', './sinks.cjs'],
    plugins: [...plugins, slimUndici, noExamples],
    banner,
  });
}

/** In MB, once the process has said that it is ready and has had time to give back what it needed for that. */
async function memoryOf(args: readonly string[]): Promise<{ readonly mb: number; readonly said: string }> {
  const child = spawn(process.execPath, ['--expose-gc', ...args], { stdio: ['pipe', 'pipe', 'inherit'] });
  try {
    const [said] = await new Promise<readonly string[]>((resolve, reject) => {
      createInterface(child.stdout).once('line', (line) => resolve([line]));
      child.once('exit', (code) => reject(new Error(`it ended with ${code}`)));
    });
    await sleep(settleMs);
    return { mb: await residentMb(child.pid ?? 0), said: said ?? '' };
  } finally {
    child.stdin.end();
  }
}

async function main(folder: string): Promise<void> {
  const demo = await startDemoCluster();
  try {
    const { guests: all } = demo.cluster.state;
    const [pattern] = [...all.values()];
    if (pattern === undefined) throw new Error('the demo has no guest');
    for (let vmid = 10_000; all.size < guests; vmid += 1) all.set(vmid, { ...structuredClone(pattern), vmid });
    writeFileSync(path.join(folder, 'demo.json'), JSON.stringify(demo.config));
    await seedRequests(folder, requests);
    const bundle = path.join(folder, 'window.cjs');
    await bundleWindow(bundle);
    const bare = await memoryOf(['-e', "console.log('ready'); process.stdin.resume()"]);
    const window = await memoryOf([bundle, folder, root, String(guests)]);
    const over = window.mb - bare.mb;
    const isMet = over <= goalMb;
    console.log(
      `bare Node ${figure(bare.mb)} MB, a window ${figure(window.mb)} MB (${window.said}; ${guests} guests, ${requests} requests)`,
    );
    console.log(`over: ${figure(over)} MB  goal ${goalMb} MB: ${isMet ? 'met' : 'MISSED'}`);
    process.exitCode = isMet ? 0 : 1;
  } finally {
    await demo.close();
  }
}

const folder = mkdtempSync(path.join(tmpdir(), 'banksman-window-'));
await main(folder).finally(() => rmSync(folder, { recursive: true, force: true }));
