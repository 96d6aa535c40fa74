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
