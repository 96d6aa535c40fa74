/** What is tried with each agent as a client of `banksman mcp`: one record a column of the table. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { AgentWorld, Ran } from './world.ts';

/** What a cell says. `ok`: as it should be; else what the agent does instead, in a few words. */
export interface Finding {
  readonly ok: boolean;
  readonly note?: string;
}

export interface AgentCase {
  readonly id: string;
  /** The column's head. */
  readonly title: string;
  run(world: AgentWorld): Promise<Finding>;
}

const red = { tool: 'stop_vm', args: { vmid: 100, node: 'pve' } } as const;
const redLater = { tool: 'stop_container', args: { vmid: 200, node: 'Home' } } as const;
const redCancelled = { tool: 'stop_container', args: { vmid: 201, node: 'pve' } } as const;

type Call = { readonly tool: string; readonly args: Readonly<Record<string, unknown>> };

function stepsOf({ agent }: AgentWorld, calls: readonly Call[]): readonly Call[] {
  return calls.map(({ tool, args }) => ({ tool: agent.banksmanTool(tool), args }));
}

/** Whether the model was shown it, escaped or not. */
export function shows(text: string | undefined, ...parts: readonly (string | RegExp)[]): boolean {
  const plain = (text ?? '').replaceAll('\\"', '"');
  return parts.every((part) => (typeof part === 'string' ? plain.includes(part) : part.test(plain)));
}

/** As long as `approvalWait.mcp`, less what a clock may be wrong. */
const waitMs = 39_900;
const isOk = /"status":\s*"ok"/;
const isPending = /"status":\s*"pending"/;

/** What it was shown instead, for whoever reads the log. */
export function instead({ seen, said }: Ran, index: number): Finding {
  return { ok: false, note: (seen[index]?.text ?? `nothing; it ended with: ${said}`).replaceAll(/\s+/g, ' ').slice(0, 300) };
}

function finding(ran: Ran, index: number, ok: boolean): Finding {
  return ok ? { ok } : instead(ran, index);
}

/** Lets a person deny what still waits, so that the next case finds nothing. */
async function denyWaiting({ banksman, person }: AgentWorld): Promise<readonly string[]> {
  const { stdout } = await banksman(['approvals', 'list', '--json']);
  const ids = [...new Set(stdout.match(/req-[0-9a-f]{8}/g) ?? [])];
  for (const id of ids) await person.at(['approvals', 'deny', id]);
  return ids;
}

export const agentCases: readonly AgentCase[] = [
  {
    id: 'list',
    title: 'list and a look',
    async run(world) {
      const ran = await world.run({ steps: stepsOf(world, [{ tool: 'get_vms', args: {} }]) });
      return finding(ran, 0, shows(ran.seen[0]?.text, isOk, '6 VMs'));
    },
  },
  {
    id: 'unknown',
    title: 'unknown argument',
    async run(world) {
      const ran = await world.run({ steps: stepsOf(world, [{ tool: 'get_vms', args: { colour: 'red' } }]) });
      if (shows(ran.seen[0]?.text, 'colour', '`filter`')) return { ok: true };
      return shows(ran.seen[0]?.text, /invalid|additional/i) ? { ok: true, note: 'refused by the client itself' } : instead(ran, 0);
    },
  },
  {
    id: 'protected',
    title: 'protected guest',
    async run(world) {
      const ran = await world.run({ steps: stepsOf(world, [{ tool: 'stop_vm', args: { vmid: 103, node: 'agent1' } }]) });
      return finding(ran, 0, shows(ran.seen[0]?.text, 'protected_resource', 'do not try again'));
    },
  },
  {
    id: 'approved',
    title: 'approved while it waits',
    async run(world) {
      const asked = world.nextRequest('pending').then(({ request_id: id }) => world.person.approve(id));
      const ran = await world.run({ steps: stepsOf(world, [red]), meanwhile: () => void asked });
      const isDone = shows(ran.seen[0]?.text, isOk);
      await denyWaiting(world);
      return finding(ran, 0, isDone);
    },
  },
  {
    id: 'pending',
    title: 'waits 40 s, then pending; runs once after the approval',
    async run(world) {
      const ids = world.nextRequest('pending');
      const ran = await world.run({
        steps: stepsOf(world, [redLater, redLater, redLater]),
        onSeen: async (index) => {
          if (index === 0) await world.person.approve((await ids).request_id);
        },
      });
      await denyWaiting(world);
      const [first, second, third] = ran.seen;
      if (first === undefined || !shows(first.text, isPending, 'check_request_status')) return instead(ran, 0);
      if (first.took < waitMs) return { ok: false, note: `pending after ${Math.round(first.took / 1_000)} s` };
      return shows(second?.text, isOk) ? finding(ran, 2, third !== undefined && !shows(third.text, isOk)) : instead(ran, 1);
    },
  },
  {
    id: 'cancel',
    title: 'stopped while it waits',
    async run(world) {
      const asked = world.nextRequest('pending');
      const ran = await world.run({
        steps: stepsOf(world, [redCancelled]),
        meanwhile: (agent) => void asked.then(() => agent.kill('SIGINT')),
      });
      const { request_id: id } = await asked;
      const status = await settled(world, id);
      await denyWaiting(world);
      if (status === 'cancelled') return { ok: true };
      return status === 'pending' ? { ok: true, note: 'stays for its hour' } : instead(ran, 0);
    },
  },
];

/** Its status, once it waits no more, or after 10 s. */
async function settled({ banksman }: AgentWorld, id: string): Promise<string> {
  const until = Date.now() + 10_000;
  for (;;) {
    const status = /"status":\s*"([a-z]+)"/.exec((await banksman(['approvals', 'show', id, '--json'])).stdout)?.[1] ?? 'unknown';
    if (status !== 'pending' || Date.now() > until) return status;
    await sleep(500);
  }
}
