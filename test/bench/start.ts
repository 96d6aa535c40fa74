/**
 * `npm run bench:start`: how long the command line and the extension take to start, beside bare Node. On an idle machine; exit 1 when a goal is
 * missed. `npm run bench:start -- 40` starts each 40 times.
 */
import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { figure, quantiles } from './measure.ts';

const root = join(import.meta.dirname, '..', '..');
const cli = join(root, 'dist', 'cli.cjs');
const folder = mkdtempSync(join(tmpdir(), 'banksman-start-'));
const workspace = join(folder, 'work');
mkdirSync(workspace);
const runs = Number(process.argv[2] ?? 20);

interface Start {
  readonly name: string;
  readonly args: readonly string[];
  /** Of the p50, in ms. */
  readonly goal?: number;
  /** The same, over bare Node's. */
  readonly over?: number;
  readonly input?: string;
  /** What a start prints; that it is right is looked at with each. */
  readonly prints?: RegExp;
}

/**
 * Requires and activates the extension as the editor does, without an editor: `vscode` and the context are whatever is asked of them. It prints the time
 * until `activate` has ended, in ms; what the window begins afterwards is not waited for, as the editor does not.
 */
const activateExtension = `
const special = { then: undefined, bundle: undefined, workspaceFolders: undefined };
const any = new Proxy(function () {}, {
  get: (_, key) => (key === Symbol.toPrimitive ? () => '' : Object.hasOwn(special, key) ? special[key] : any), construct: () => any, apply: () => any,
});
const { Module } = require('node:module');
const load = Module._load;
Module._load = function (name, ...rest) { return name === 'vscode' ? any : load.call(this, name, ...rest); };
const begun = performance.now();
const packageJSON = JSON.parse(require('node:fs').readFileSync(process.argv[2], 'utf8'));
const extensionPath = require('node:path').dirname(process.argv[2]);
const own = { extension: { packageJSON, extensionPath }, extensionPath };
const context = new Proxy(any, { get: (_, key) => own[key] ?? any });
require(process.argv[1]).activate(context).then(() => {
  process.stdout.write(String(performance.now() - begun));
  process.exit(0);
});
`;

async function main(): Promise<void> {
  const demo = spawn(process.execPath, [cli, 'demo'], { stdio: ['ignore', 'pipe', 'ignore'] });
  try {
    const [config = ''] = await new Promise<readonly string[]>((resolve) =>
      createInterface(demo.stdout).once('line', (line) => resolve([line])),
    );
    const bare = measured({ name: 'node -e 0', args: ['-e', '0'] });
    judged({ name: 'node -e 0', args: [] }, bare, bare);
    const missed = starts(config).filter((start) => judged(start, measured(start), bare));
    process.exitCode = missed.length > 0 ? 1 : 0;
  } finally {
    demo.kill();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** What Claude Code says before it reads a file. */
const readEvent = `${JSON.stringify({ hook_event_name: 'PreToolUse', tool_name: 'Read', tool_input: { file_path: join(workspace, 'notes.txt') }, cwd: workspace })}\n`;

function starts(config: string): readonly Start[] {
  const file = join(folder, 'config.json');
  writeFileSync(file, config);
  const places = ['--state', join(folder, 'state'), '--config'];
  return [
    { name: 'banksman --version', args: [cli, '--version'], goal: 120, prints: /^\d/ },
    { name: 'banksman call --help', args: [cli, 'call', '--help'], goal: 120, prints: /^Makes one call/ },
    { name: 'banksman call get_vms', args: [cli, 'call', 'get_vms', ...places, file], goal: 250, prints: /^ok: / },
    { name: 'banksman approvals list', args: [cli, 'approvals', 'list', '--json', ...places, file], goal: 250, prints: /^\[/ },
    // The process behind it is warm from the second on; it ends by itself when nobody asks.
    { name: 'banksman hook claude-code', args: [cli, 'hook', 'claude-code', ...places, file], input: readEvent, prints: /^$/, over: 30 },
    {
      name: 'the extension, activated',
      args: ['-e', activateExtension, join(root, 'dist', 'extension.cjs'), join(root, 'package.json')],
      goal: 50,
    },
  ];
}

interface Times {
  readonly p50: number;
  readonly p99: number;
  readonly least: number;
}

function measured({ name, args, prints, input = '' }: Start): Times {
  const times = Array.from({ length: runs + 1 }, () => {
    const begun = performance.now();
    const printed = execFileSync(process.execPath, args, { cwd: workspace, input, encoding: 'utf8', stdio: ['pipe', 'pipe', 'ignore'] });
    if (prints?.test(printed) === false) throw new Error(`${name} printed ${printed.slice(0, 200)}`);
    // One that prints a time has measured itself.
    return prints === undefined && printed !== '' ? Number(printed) : performance.now() - begun;
  });
  // The first finds no files in memory.
  return { ...quantiles(times.slice(1)), least: Math.min(...times) };
}

/** @returns whether its goal is missed */
function judged({ name, goal, over }: Start, { p50, p99, least }: Times, bare: Times): boolean {
  const most = over === undefined ? goal : bare.p50 + over;
  const isMissed = most !== undefined && p50 > most;
  const verdict =
    most === undefined ? '' : `  goal ${over === undefined ? '' : 'node + '}${over ?? goal} ms: ${isMissed ? 'MISSED' : 'met'}`;
  console.log(
    `${name.padEnd(28)} p50 ${figure(p50)} ms, least ${figure(least)}, p99 ${figure(p99)}, n ${runs}, load ${figure(loadavg()[0] ?? 0)}${verdict}`,
  );
  return isMissed;
}

await main();
