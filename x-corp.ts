import { readFileSync, mkdtempSync, mkdirSync, writeFileSync, symlinkSync, realpathSync, truncateSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { decideSshCommand } from './src/policy/commands/decide-ssh-command.ts';
import { decideReadonlyCommand } from './src/policy/commands/decide-readonly-command.ts';
import { decidePath } from './src/policy/paths/decide-path.ts';
import { createPathFacts } from './src/connectors/workspace-files/path-facts.ts';
const base=realpathSync(mkdtempSync('/tmp/fx-'));
const f=JSON.parse(readFileSync('/work/shared/policy-corpus/fixture.json','utf8'));
for(const d of f.dirs) mkdirSync(base+d,{recursive:true});
for(const [p,c] of Object.entries(f.files)){mkdirSync(path.dirname(base+p),{recursive:true});writeFileSync(base+p,c as string);}
for(const [p,t] of Object.entries(f.symlinks as Record<string,string>)){symlinkSync(t.startsWith('/')&&(/^\/(outside|ws)/.test(t))?base+t:t,base+p);}
execFileSync('mkfifo',[base+'/ws/fifo']); writeFileSync(base+'/ws/big.bin',''); truncateSync(base+'/ws/big.bin',2**40);
const repl=(s:string)=>s.replace(/\/(ws-evil|ws\.bak|wsx|ws |ws|outside)(?=$|[\/\s"'])/g,(m)=>base+m);
const view={ground:{roots:[base+'/ws'],platform:'posix' as const},facts:createPathFacts(base+'/ws')};
const rows = readFileSync('/work/shared/policy-corpus/attacks.public.jsonl','utf8').trim().split('\n').map((l)=>JSON.parse(l));
const bad:Record<string,number>={};let n=0;
const only=process.argv[2];
for (const r of rows){ const i=repl(r.input); let d;
 if(only&&r.surface!==only)continue;
 if(r.surface==='ssh') d=decideSshCommand(r.input).decision; else if(r.surface==='readonly_bash') d=decideReadonlyCommand(i,view).decision; else if(r.surface==='path') d=decidePath(i,r.op,view); else continue;
 n++;
 if((d.effect==='allow')!==(r.must==='allow')){bad[r.surface]=(bad[r.surface]??0)+1;console.log(r.must,r.family,r.op??'',JSON.stringify(i).slice(0,120),d.code,d.reason.slice(0,200));} }
console.log('bad',bad,'of',n);
if(process.argv[3]) for(const l of process.argv.slice(3)) {console.log(decideReadonlyCommand(l,view));}
import { loadShellParser } from './src/policy/commands/workspace/shell-parser.ts';
import { decideWorkspaceCommand } from './src/policy/commands/workspace/decide-workspace-command.ts';
const parser=await loadShellParser({runtime:readFileSync('node_modules/web-tree-sitter/web-tree-sitter.wasm'),bash:readFileSync('node_modules/tree-sitter-bash/tree-sitter-bash.wasm')});
let wb=0,wn=0;
const t0=process.hrtime.bigint();
for(const r of rows){ if(r.surface!=='workspace_command')continue; wn++; const i=repl(r.input); const d=decideWorkspaceCommand(i,{parser,view}).decision; if((d.effect==='allow')!==(r.must==='allow')){wb++;console.log(r.must,r.family,r.layer??'',JSON.stringify(r.input).slice(0,120),d.code,d.reason.slice(0,200));}}
console.log('workspace bad',wb,'of',wn, Number(process.hrtime.bigint()-t0)/1000/wn,'us each');
function bench(name:string, lines:string[], f:(l:string)=>unknown){ for(let k=0;k<5;k++) for(const l of lines) f(l); const ts:number[]=[]; for(let k=0;k<20;k++) for(const l of lines){const t=process.hrtime.bigint(); f(l); ts.push(Number(process.hrtime.bigint()-t)/1000);} ts.sort((a,b)=>a-b); console.log(name,'p50',ts[ts.length>>1]?.toFixed(1),'p99',ts[Math.floor(ts.length*.99)]?.toFixed(1)); }
const pick=(s:string)=>rows.filter((r)=>r.surface===s&&r.must==='allow').map((r)=>repl(r.input));
bench('ssh',pick('ssh'),(l)=>decideSshCommand(l)); bench('readonly',pick('readonly_bash'),(l)=>decideReadonlyCommand(l,view)); bench('workspace',pick('workspace_command'),(l)=>decideWorkspaceCommand(l,{parser,view})); bench('parse only',pick('workspace_command'),(l)=>parser.parse(l)); bench('path',pick('path'),(l)=>decidePath(l,'read',view));
import { cases } from './x-adv.ts';
import { existsSync } from 'node:fs';
for (const [surface,f] of [['workspace_command','adversarial-workspace.txt'],['readonly_bash','adversarial-readonly.txt'],['ssh','adversarial-ssh.txt']] as const){ const file='test/fixtures/policy-corpus/'+f; if(!existsSync(file))continue; let b=0; const cs=cases(file); for(const c of cs){const i=repl(c.input); const d=surface==='ssh'?decideSshCommand(c.input).decision:surface==='readonly_bash'?decideReadonlyCommand(i,view).decision:decideWorkspaceCommand(i,{parser,view}).decision; if((d.effect==='allow')!==(c.must==='allow')){b++;console.log('ADV',c.must,c.family,JSON.stringify(c.input),d.code,d.reason.slice(0,140));}} console.log('ADV bad',surface,b,'of',cs.length);}
