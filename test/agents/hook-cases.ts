/** What is tried with each agent's own tools behind its own hook. */
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import path from 'node:path';
import { installations } from '../../src/hosts/hook/installations.ts';
import type { OwnCall, TestedAgent } from './agents.ts';
import { type Finding, instead, shows } from './cases.ts';
import type { Seen } from './conversation.ts';
import type { AgentWorld, Ran } from './world.ts';

/** Kinds of tools as docs/hooks.md has them. */
export type HookKind = 'shell' | 'edits' | 'reads' | 'fetches' | 'mcp';

interface HookStep {
  readonly id: string;
  readonly kind: HookKind;
  /** undefined: the agent has no such tool. */
  call(world: AgentWorld): OwnCall | undefined;
  /** What has to have come of it. */
  holds(world: AgentWorld, seen: Seen): boolean | Promise<boolean>;
}

const inProject = (world: AgentWorld, name: string) => path.join(world.workspace, name);
const outside = (world: AgentWorld) => path.join(world.home, 'outside.txt');
const ownFile = (world: AgentWorld) => path.join(world.home, '.config', 'banksman', 'config.json');
const isAsked = /Banksman asks a person: request req-/;

/** A control file, which a person is asked about. */
const control = '.vscode/tasks.json';
const steps: readonly HookStep[] = [
  {
    ...{ id: 'shell refused', kind: 'shell' },
    call: ({ agent }) => agent.shell('touch shell-refused.txt'),
    holds: (world, seen) => shows(seen.text, 'banksman run -- ') && !existsSync(inProject(world, 'shell-refused.txt')),
  },
  {
    ...{ id: 'shell allowed', kind: 'shell' },
    call: ({ agent }) => agent.shell("banksman run -- 'touch shell-allowed.txt; echo $((6 * 7)) fine'"),
    holds: (world, seen) => shows(seen.text, '42 fine') && existsSync(inProject(world, 'shell-allowed.txt')),
  },
  {
    ...{ id: 'edit refused', kind: 'edits' },
    call: (world) => world.agent.write(outside(world), 'outside'),
    holds: (world, seen) => shows(seen.text, 'outside the workspace') && !existsSync(outside(world)),
  },
  {
    ...{ id: 'edit allowed', kind: 'edits' },
    call: (world) => world.agent.write(inProject(world, 'edit-allowed.txt'), 'fine'),
    holds: (world) => existsSync(inProject(world, 'edit-allowed.txt')),
  },
  {
    ...{ id: 'edit asked about', kind: 'edits' },
    call: (world) => world.agent.write(inProject(world, control), '{}'),
    holds: (world, seen) => shows(seen.text, isAsked) && !existsSync(inProject(world, control)),
  },
  {
    ...{ id: 'edit approved', kind: 'edits' },
    call: (world) => world.agent.write(inProject(world, control), '{}'),
    holds: (world) => existsSync(inProject(world, control)),
  },
  {
    ...{ id: 'read refused', kind: 'reads' },
    call: (world) => world.agent.read?.(ownFile(world)),
    holds: (_world, seen) => shows(seen.text, 'Banksman’s own state or configuration'),
  },
  {
    ...{ id: 'read allowed', kind: 'reads' },
    call: (world) => world.agent.read?.(inProject(world, 'edit-allowed.txt')),
    holds: (_world, seen) => shows(seen.text, 'fine'),
  },
  {
    ...{ id: 'mcp written down', kind: 'mcp' },
    call: ({ agent }) => ({ tool: agent.banksmanTool('get_vms'), args: {} }),
    async holds({ banksman }, seen) {
      const { stdout } = await banksman(['audit', 'tail', '--count', '20', '--json']);
      return shows(seen.text, '6 VMs') && shows(stdout, /"own_tool":\s*"[^"]*get_vms"/);
    },
  },
  {
    ...{ id: 'fetch asked about', kind: 'fetches' },
    call: ({ agent }) => agent.fetch?.('https://example.com/'),
    holds: (_world, seen) => shows(seen.text, isAsked),
  },
];

export interface HookFindings {
  /** Which of its tools the hook was tried with. */
  readonly kinds: Readonly<Partial<Record<HookKind, Finding>>>;
  /** What becomes of a call when the hook's program is gone: refused where there is no note. */
  readonly broken: Finding;
  /** A repository's file switches the user's hook off, as `doctor` says before. */
  readonly switchedOff?: Finding;
  /** The managed one holds all the same. */
  /** Absent: it takes none. */
  readonly managed?: Finding;
}

export async function tryHooks(world: AgentWorld): Promise<HookFindings> {
  await change(world, 'install', '--user');
  const kinds = await tryKinds(world);
  const broken = await tryBroken(world);
  const { agent } = world;
  const switchedOff = agent.switchOff === undefined ? undefined : await trySwitchedOff(world, agent.switchOff);
  const managed = await tryManaged(world);
  return { kinds, broken, ...(switchedOff === undefined ? {} : { switchedOff }), managed };
}

async function change({ person, agent }: AgentWorld, verb: 'install' | 'uninstall', kind: string): Promise<void> {
  const { status, screen } = await person.at(['hook', verb, agent.name, kind], [['to go on: ', `${verb}\r`]]);
  if (status !== 0) throw new Error(`hook ${verb}: ${screen}`);
}

async function tryKinds(world: AgentWorld): Promise<HookFindings['kinds']> {
  const asked = steps.flatMap((step) => {
    const call = step.call(world);
    return call === undefined ? [] : [{ step, call }];
  });
  const found: Partial<Record<HookKind, Finding>> = {};
  const ran = await world.run({
    steps: asked.map(({ call }) => call),
    args: world.agent.hookArgs ?? [],
    async onSeen(index, seen) {
      const step = asked[index]?.step;
      if (step === undefined || seen.isOffered === false) return;
      const isOk = await step.holds(world, seen);
      const before = found[step.kind];
      if (before?.ok !== false) found[step.kind] = isOk ? { ok: true } : { ok: false, note: `${step.id}: ${seen.text.slice(0, 300)}` };
      const id = /request (req-[0-9a-f]{8})/.exec(seen.text)?.[1];
      if (id !== undefined && step.kind === 'edits') await world.person.approveTyping(id);
    },
  });
  return ran.seen.length === asked.length ? found : { ...found, shell: instead(ran, ran.seen.length) };
}

/** A command that the hook refuses. */
async function refusedCommand(world: AgentWorld, args: readonly string[]): Promise<{ readonly ran: Ran; readonly isRefused: boolean }> {
  const file = inProject(world, 'marker.txt');
  rmSync(file, { force: true });
  const ran = await world.run({ steps: [world.agent.shell('touch marker.txt')], args });
  return { ran, isRefused: !existsSync(file) && shows(ran.seen[0]?.text, 'banksman run -- ') };
}

/** As after an update that moved it, or where it was killed: its process ends with 1. */
async function tryBroken(world: AgentWorld): Promise<Finding> {
  const file = path.join(world.home, installations[world.agent.name]?.files.user?.slice(2) ?? '');
  const text = readFileSync(file, 'utf8');
  writeFileSync(file, text.replaceAll('cli.cjs', 'gone.cjs'));
  const { ran } = await refusedCommand(world, world.agent.hookArgs ?? []);
  writeFileSync(file, text);
  if (ran.seen.length === 0) return instead(ran, 0);
  return existsSync(inProject(world, 'marker.txt')) ? { ok: true, note: 'the call runs' } : { ok: true };
}

async function trySwitchedOff(world: AgentWorld, { file, text }: NonNullable<TestedAgent['switchOff']>): Promise<Finding> {
  const place = inProject(world, file);
  mkdirSync(path.dirname(place), { recursive: true });
  writeFileSync(place, text);
  const { stdout } = await world.banksman(['doctor', '--json']);
  if (!shows(stdout, 'is switched off by')) return { ok: false, note: '`doctor` does not say so' };
  const { ran, isRefused } = await refusedCommand(world, world.agent.hookArgs ?? []);
  if (isRefused) return { ok: true, note: 'holds' };
  return existsSync(inProject(world, 'marker.txt')) ? { ok: true } : instead(ran, 0);
}

/** With what switches a user's hook off still there, and no word on the command line that trusts a hook. */
async function tryManaged(world: AgentWorld): Promise<Finding> {
  const account = path.join(userInfo().homedir, '.config', 'banksman', 'config.json');
  // A managed hook takes the user's places from the list of accounts.
  mkdirSync(path.dirname(account), { recursive: true });
  copyFileSync(ownFile(world), account);
  await change(world, 'uninstall', '--user');
  await change(world, 'install', '--managed');
  const { ran, isRefused } = await refusedCommand(world, []);
  await change(world, 'uninstall', '--managed');
  return isRefused ? { ok: true } : instead(ran, 0);
}
