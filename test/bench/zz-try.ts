import { mkdtempSync, mkdirSync, chmodSync, writeFileSync, readFileSync } from 'node:fs';
import { createCommandRunner } from '#execution/command-runner';
const root = mkdtempSync('/tmp/bm-try-'); chmodSync(root, 0o777);
mkdirSync(root + '/ws', {recursive:true}); 
writeFileSync(root+'/ws/a.py', readFileSync('/tmp/attack.py'));
const quiet = { debug: () => undefined, info: console.log, warn: console.log, error: console.log };
const r = createCommandRunner({ workspaceRoot: root+'/ws', stateDir: root+'/st', hiddenPaths: [], requireSandbox: true, rules: { isControl: () => false, isSecret: () => false }, log: quiet });
for (const network of [false, true]) {
const o = await r.run({ command: 'python3 a.py; '+ (process.argv[2] ?? ''), surface: 'workspace_command', timeoutMs: 20000, network, agentId: 'cli:x' }, new AbortController().signal, () => undefined);
console.log('network', network); console.log(o.stdout); console.log(o.stderr.slice(0,1500)); console.log(o.planted);}
