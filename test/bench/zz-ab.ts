import { readFileSync, mkdtempSync } from 'node:fs';
import { programRunner } from '#execution/run-program';
import { sandboxEnvironment } from '#execution/sandbox/clean-environment';
import { launch } from '#execution/sandbox/launch';
import { limitedCommand } from '#execution/sandbox/limited-command';
import { findProcessCages } from '#execution/sandbox/process-cage';

const root = mkdtempSync('/tmp/bm-try-');
const tool = { directories: [], env: {} };
const limits = { tasks: 1024, fileBytes: 4 * 2 ** 30, processMemoryBytes: 4 * 2 ** 30, openFiles: 4096, cpuSeconds: 100 };
const plan = {
  architecture: 'x64',
  devices: [],
  workspaceRoot: root,
  toolchains: tool,
  env: sandboxEnvironment(tool, {}),
  command: limitedCommand('true', limits),
  mounts: [],
  readonly: false,
  network: false,
  memoryDiskBytes: 2 ** 24,
  user: { uid: 1000, gid: 1000 },
} as const;
const o = {
  program: '/usr/bin/bwrap',
  timeoutMs: 20000,
  keepBytes: 1000,
  stopAfterBytes: 1e6,
  treeLimits: { processes: 512, memoryBytes: 2 ** 33, diskBytes: 2 ** 35 },
  tasks: 1024,
};
const s = new AbortController().signal;
const cages = findProcessCages();
const ch = () => { const f = readFileSync('/proc/self/stat','utf8').split(') ')[1]!.split(' '); return (Number(f[13])+Number(f[14]))*10; };
const cpu: Record<string, number[]> = {plain:[0,0],nocage:[0,0],cage:[0,0]};
const wrap = async (n: string, f: () => Promise<unknown>) => { const a = ch(), b = process.cpuUsage(); await f(); const d = process.cpuUsage(b); cpu[n]![0]! += ch()-a; cpu[n]![1]! += (d.user+d.system)/1000; };
const rows: Record<string, number[]> = { plain: [], nocage: [], cage: [] };
for (let i = 0; i < Number(process.argv[2] ?? 40); i++) {
  let t = performance.now();
  await programRunner.run({ program: '/bin/bash', args: ['-c', 'true'], cwd: '/', env: {}, timeoutMs: 1e4, keepBytes: 100 }, s);
  rows.plain!.push(performance.now() - t);
  t = performance.now();
  await wrap('nocage', () => launch(plan, o, s));
  rows.nocage!.push(performance.now() - t);
  t = performance.now();
  await wrap('cage', () => launch(plan, {...o, cages}, s));
  rows.cage!.push(performance.now() - t);
}
for (const [n, v] of Object.entries(rows)) {
  v.sort((a, b) => a - b);
  console.log(
    n.padEnd(8),
    'min',
    v[0]!.toFixed(1),
    'p25',
    v[v.length >> 2]!.toFixed(1),
    'p50',
    v[v.length >> 1]!.toFixed(1),
    'p90',
    v[Math.floor(v.length * 0.9)]!.toFixed(1),
  );
}
console.log(cpu, process.argv[2]);
