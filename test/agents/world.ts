/** What one agent is tried in: a home and a workspace of its own, the demo cluster, a person who approves, and the model that is a script. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import type { ModelScript } from '../../scripts/bench/scripted-agent.ts';
import { startScriptedModel } from '../../scripts/bench/scripted-model.ts';
import { type Person, personAt } from '../integration/cli/person.ts';
import { cli } from '../integration/cli/support.ts';
import type { TestedAgent } from './agents.ts';
import { type Conversation, follow, type Seen } from './conversation.ts';

/** A request as `approvals watch` tells of it. */
export interface SeenRequest {
  readonly request_id: string;
  readonly status: string;
}

export interface Ran {
  readonly seen: readonly Seen[];
  /** What its model may call. */
  readonly tools: readonly string[];
  readonly status: number | null;
  /** The end of what it printed. */
  readonly said: string;
}

export interface RunOptions extends Conversation {
  /** Behind the record's own. */
  readonly args?: readonly string[];
  /** Called once it runs. */
  readonly meanwhile?: (agent: ChildProcess) => void;
}

export interface AgentWorld {
  readonly agent: TestedAgent;
  readonly home: string;
  readonly workspace: string;
  readonly person: Person;
  /** Runs the agent with one prompt to its end. */
  run(options: RunOptions): Promise<Ran>;
  /** Our command line in the workspace. */
  banksman(words: readonly string[]): Promise<{ readonly status: number | null; readonly stdout: string; readonly stderr: string }>;
  /** The next request that comes to have this status; those told of before do not count. */
  nextRequest(status: string): Promise<SeenRequest>;
  close(): Promise<void>;
}

/** How long an agent may take for one prompt, in ms: its start, a wait of 40 s, and room. */
const longestRun = 240_000;

export async function startAgentWorld(agent: TestedAgent, modules: string): Promise<AgentWorld> {
  const home = mkdtempSync(path.join(tmpdir(), `agent-${agent.name}-`));
  const workspace = path.join(home, 'work', 'project');
  const programs = path.join(home, 'programs');
  for (const folder of [path.join(workspace, '.vscode'), programs]) mkdirSync(folder, { recursive: true });
  symlinkSync(cli, path.join(programs, 'banksman'));
  const PATH = [programs, path.dirname(process.execPath), '/usr/local/bin', '/usr/bin', '/bin'].join(path.delimiter);
  const env = { HOME: home, PATH, LANG: 'C.UTF-8', TERM: 'dumb', NO_COLOR: '1', NODE_NO_WARNINGS: '1' };
  const children = new Set<ChildProcess>();
  const start = (program: string, args: readonly string[], more: Readonly<Record<string, string>> = {}) => {
    const child = spawn(program, args, { cwd: workspace, env: { ...env, ...more }, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
    children.add(child);
    child.once('close', () => children.delete(child));
    return child;
  };
  let script: ModelScript = () => ({ text: 'done' });
  const model = await startScriptedModel({ dialects: [agent.dialect], script: (turn) => script(turn) });
  const origin = new URL(model.url).origin;
  // A login shell forgets the PATH that it was given.
  write(path.join(home, '.profile'), `export PATH='${PATH}'\n`);
  for (const [name, content] of Object.entries(agent.files(origin, workspace))) write(path.join(home, name), content);
  const demo = start(process.execPath, [cli, 'demo']);
  const [line] = (await once(createInterface({ input: demo.stdout }), 'line')) as [string];
  write(path.join(home, '.config/banksman/config.json'), JSON.stringify({ ...JSON.parse(line), hooks: { modelTier: 'advanced' } }));
  const banksman: AgentWorld['banksman'] = async (words) => {
    const child = start(process.execPath, [cli, ...words]);
    const closed = once(child, 'close') as Promise<[number | null]>;
    const [stdout, stderr, [status]] = await Promise.all([text(child.stdout), text(child.stderr), closed]);
    return { status, stdout, stderr };
  };
  const requests = requestsOf(start(process.execPath, [cli, 'approvals', 'watch', '--json']));
  return {
    ...{ agent, home, workspace, banksman, nextRequest: requests.next },
    person: personAt({ env: { ...env, SHELL: '/bin/sh' } }, workspace),
    async run(options) {
      const watched = follow(agent, options);
      script = watched.script;
      const child = start(path.join(modules, agent.program), [...agent.args, ...(options.args ?? [])], agent.env(origin));
      const limit = setTimeout(() => end(child), longestRun);
      options.meanwhile?.(child);
      const closed = once(child, 'close') as Promise<[number | null]>;
      const [stdout, stderr, [status]] = await Promise.all([text(child.stdout), text(child.stderr), closed]);
      clearTimeout(limit);
      return { seen: watched.seen, tools: [...watched.tools], status, said: `${stdout}\n${stderr}`.slice(-4_000) };
    },
    async close() {
      const ended = [...children].map((child) => once(child, 'close'));
      for (const child of children) end(child);
      await Promise.all(ended);
      await model.close();
    },
  };
}

function write(file: string, content: string): void {
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, content, { mode: 0o600 });
}

/** With all that it started in its group. */
function end(child: ChildProcess): void {
  if (child.pid !== undefined && child.exitCode === null && child.signalCode === null) process.kill(-child.pid, 'SIGKILL');
}

function requestsOf(watch: ChildProcess) {
  const told: SeenRequest[] = [];
  const waiting: { readonly status: string; readonly resolve: (request: SeenRequest) => void }[] = [];
  createInterface({ input: watch.stdout as NodeJS.ReadableStream }).on('line', (line) => {
    const request = JSON.parse(line) as SeenRequest;
    const index = waiting.findIndex(({ status }) => status === request.status);
    const [waiter] = index < 0 ? [] : waiting.splice(index, 1);
    if (waiter === undefined) told.push(request);
    else waiter.resolve(request);
  });
  const next = (status: string): Promise<SeenRequest> => {
    const index = told.findIndex((request) => request.status === status);
    const [known] = index < 0 ? [] : told.splice(index, 1);
    return known === undefined ? new Promise((resolve) => waiting.push({ status, resolve })) : Promise.resolve(known);
  };
  return { next };
}
