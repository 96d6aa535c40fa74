import { mkdtempSync, mkdirSync } from 'node:fs';
import { launch } from '#execution/sandbox/launch';
import { findProcessCages } from '#execution/sandbox/process-cage';
import { programRunner } from '#execution/run-program';
import { limitedCommand } from '#execution/sandbox/limited-command';
import { sandboxEnvironment } from '#execution/sandbox/clean-environment';
const root = mkdtempSync('/tmp/bm-try-');
const tool = { directories: [], env: {} };
const limits = { tasks: 1024, fileBytes: 4*2**30, processMemoryBytes: 4*2**30, openFiles: 4096, cpuSeconds: 100 };
const plan = { architecture: 'x64', devices: [], workspaceRoot: root, toolchains: tool, env: sandboxEnvironment(tool, {}), command: limitedCommand('true', limits), mounts: [], readonly: false, network: false, memoryDiskBytes: 2**24, user: {uid:1000,gid:1000} } as const;
const o = { program: '/usr/bin/bwrap', timeoutMs: 20000, keepBytes: 1000, stopAfterBytes: 1e6, treeLimits: { processes: 512, memoryBytes: 2**33, diskBytes: 2**35 }, tasks: 1024 };
const s = new AbortController().signal; const cages = findProcessCages();
const rows: Record<string, number[]> = { plain: [], nocage: [], cage: [] };
for (let i = 0; i < Number(process.argv[2] ?? 40); i++) {
  let t = performance.now(); await programRunner.run({ program: '/bin/bash', args: ['-c','true'], cwd: '/', env: {}, timeoutMs: 1e4, keepBytes: 100 }, s); rows.plain!.push(performance.now()-t);
  t = performance.now(); await launch(plan, o, s); rows.nocage!.push(performance.now()-t);
  t = performance.now(); await launch(plan, {...o, cages}, s); rows.cage!.push(performance.now()-t);
}
for (const [n,v] of Object.entries(rows)) { v.sort((a,b)=>a-b); console.log(n.padEnd(8), 'min', v[0]!.toFixed(1), 'p25', v[v.length>>2]!.toFixed(1), 'p50', v[v.length>>1]!.toFixed(1), 'p90', v[Math.floor(v.length*.9)]!.toFixed(1)); }
