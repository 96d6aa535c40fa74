/**
 * `npm run test:agents [-- NAME… --clients | --hooks]`: real coding agents with `banksman mcp` and with their hooks, each with a model that is a script. It installs them from npm's
 * registry into `.cache/agents`, then starts itself once more where only loopback is reachable, the disk cannot be written and all processes end with it.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { parseArgs } from 'node:util';
import { cacheFolder, ROOT } from '../../scripts/lib/cache-folder.mjs';
import { cleanEnv } from '../../scripts/lib/clean-env.mjs';
import { runCommand, say, seconds } from '../../scripts/lib/run-command.mjs';
import { type TestedAgent, testedAgents } from './agents.ts';
import { agentCases, type Finding } from './cases.ts';
import { tryHooks } from './hook-cases.ts';
import { type AgentResult, type AgentResults, findingsOf, triedNow } from './results.ts';
import { type AgentWorld, startAgentWorld } from './world.ts';

/** The results that docs/mcp.md and docs/hooks.md show. */
const resultsFile = path.join(import.meta.dirname, 'results.json');
const insideVariable = 'BANKSMAN_AGENTS_INSIDE';

const { values: parts, positionals: names } = parseArgs({
  options: { clients: { type: 'boolean' }, hooks: { type: 'boolean' } },
  allowPositionals: true,
});
const chosen = testedAgents.filter(({ name }) => names.length === 0 || names.includes(name));
const unknown = names.filter((name) => !testedAgents.some((agent) => agent.name === name));
if (unknown.length > 0)
  throw new Error(`no agent is named ${unknown.join(', ')}; there are ${testedAgents.map(({ name }) => name).join(', ')}`);

// At once: a person's dialogue that never came to its end would wait for ever, and all processes end with this one.
process.exit(process.env[insideVariable] === undefined ? await outside() : await inside());

/** Each is written down at once, so that nothing is lost of a run that is stopped. */
async function outside(): Promise<number> {
  let isFine = true;
  for (const agent of chosen) {
    await install(agent);
    const startedAt = Date.now();
    const found = await between(agent);
    if (found !== undefined) keep(agent.name, found);
    isFine &&= found !== undefined && findingsOf(found).every(([, { ok }]) => ok);
    say(`${agent.title} ${agent.version}: ${found === undefined ? 'not tried' : seconds(startedAt)}`);
  }
  say('test/agents/results.json is written; `npm run generate` puts it into the docs');
  return isFine ? 0 : 1;
}

/** Between the walls. undefined: it did not come to its end. */
async function between({ name }: TestedAgent): Promise<AgentResult | undefined> {
  const scratch = mkdtempSync(path.join(tmpdir(), 'banksman-agents-'));
  const halves = Object.keys(parts).map((part) => `--${part}`);
  const child = spawn('unshare', [...walls(scratch), process.execPath, import.meta.filename, name, ...halves], {
    env: cleanEnv({ [insideVariable]: '1' }),
    stdio: ['ignore', 'inherit', 'inherit', 'pipe'],
  });
  const closed = once(child, 'close');
  try {
    const said = await text(child.stdio[3] as NodeJS.ReadableStream);
    await closed;
    return said === '' ? undefined : (JSON.parse(said) as AgentResult);
  } finally {
    rmdirSync(scratch);
  }
}

function keep(name: string, found: AgentResult): void {
  const before = existsSync(resultsFile) ? (JSON.parse(readFileSync(resultsFile, 'utf8')) as AgentResults) : {};
  const all: AgentResults = { ...before, [name]: { ...before[name], ...found } };
  // The editor's agent, which is tried in the editor's own tests, stays behind them.
  const order = new Set([...testedAgents.map((agent) => agent.name), ...Object.keys(all)]);
  const inOrder = [...order].flatMap((one) => (all[one] === undefined ? [] : [[one, all[one]] as const]));
  writeFileSync(resultsFile, `${JSON.stringify(Object.fromEntries(inOrder), null, 2)}\n`);
}

/** Exactly the version of the record, with no script of its own. */
async function install(agent: TestedAgent): Promise<void> {
  const folder = folderOf(agent);
  if (existsSync(path.join(folder, 'node_modules', agent.program))) return;
  mkdirSync(folder, { recursive: true });
  writeFileSync(path.join(folder, 'package.json'), '{"private":true}\n');
  const words = ['install', '--no-audit', '--no-fund', '--save-exact', '--ignore-scripts', `${agent.package}@${agent.version}`];
  const { ok, output } = await runCommand('npm', words, { cwd: folder, label: agent.title });
  if (!ok) throw new Error(`${agent.title} was not installed: ${output}`);
}

function folderOf({ name, version }: TestedAgent): string {
  return path.join(cacheFolder(), 'agents', `${name}-${version}`);
}

/**
 * SECURITY: an agent finds no home, no network but loopback, and nothing that it could leave behind: what it writes is in memory. Root's sandboxes inside
 * (`banksman run`) mount a `/proc` of their own and make device nodes, so that nothing may cover a part of the one and forbid the other, as bubblewrap's own do.
 */
function walls(scratch: string): readonly string[] {
  const user = process.getuid?.() === 0 ? [] : ['--map-root-user'];
  // The managed places of agents lie there: a folder of its own, with all that is in this machine's.
  const settings = readdirSync('/etc', { withFileTypes: true }).flatMap((entry) => {
    const place = path.join('/etc', entry.name);
    return entry.isSymbolicLink() ? ['--symlink', readlinkSync(place), place] : ['--ro-bind-try', place, place];
  });
  const shown = [ROOT, cacheFolder(), process.execPath].flatMap((place) => ['--ro-bind', place, place]);
  return [
    ...[...user, '--pid', '--fork', '--kill-child', '--mount', '--mount-proc'],
    ...['sh', '-c', 'mount -t tmpfs -o mode=1777 agents "$0" && exec "$@"', scratch],
    ...['bwrap', '--die-with-parent', '--unshare-net', '--unshare-ipc', '--new-session', '--dev-bind', '/', '/', '--remount-ro', '/'],
    ...['--dev-bind', scratch, '/tmp', ...['/root', '/home', '/run', '/var/tmp'].flatMap((place) => ['--tmpfs', place])],
    ...['--tmpfs', '/etc', ...settings, ...shown, '--'],
  ];
}

async function inside(): Promise<number> {
  for (const agent of chosen) writeFileSync(3, JSON.stringify(await tried(agent)));
  return 0;
}

async function tried(agent: TestedAgent): Promise<AgentResult> {
  const world = await startAgentWorld(agent, path.join(folderOf(agent), 'node_modules'));
  try {
    await world.person.createApprover('tester');
    const connected = await world.person.at(['connect', agent.name], [['Write it?', 'y\r']]);
    if (connected.status !== 0) throw new Error(`it was not connected: ${connected.screen}`);
    const client: AgentResult = parts.hooks === true ? {} : { client: { ...triedNow(agent), cases: await asClient(world) } };
    const hook: AgentResult = parts.clients === true ? {} : { hook: { ...triedNow(agent), ...(await tryHooks(world)) } };
    tell(agent, { ...hook });
    return { ...client, ...hook };
  } finally {
    await world.close();
  }
}

async function asClient(world: AgentWorld): Promise<Readonly<Record<string, Finding>>> {
  const cases: Record<string, Finding> = {};
  for (const { id, run } of agentCases) {
    cases[id] = await run(world).catch((error: unknown): Finding => ({ ok: false, note: String(error) }));
    tell(world.agent, { client: { ...triedNow(world.agent), cases: { [id]: cases[id] } } });
  }
  return cases;
}

function tell({ name }: TestedAgent, result: AgentResult): void {
  for (const [what, { ok, note }] of findingsOf(result))
    say(`  ${name} ${what}: ${ok ? 'ok' : 'FAILED'}${note === undefined ? '' : `, ${note}`}`);
}
