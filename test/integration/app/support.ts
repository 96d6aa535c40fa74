/** An App on the embedded demo cluster, with everything real: store, keys, https, ssh. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseConfig } from '#app/config/config';
import { type AppOptions, createApp, type LocalApp } from '#app/create-app';
import { cliAgent, generateApproverKey, signerFrom } from '#app/for-hosts';
import { type DemoCluster, type DemoOptions, startDemoCluster } from '#demo/index';
import type { HaResource } from '#demo/pve/high-availability';
import type { Agent } from '#kernel/agent';
import type { App, CallRequest } from '#kernel/app';
import type { Signer } from '#kernel/approval/answer';
import type { Outcome } from '#kernel/outcome';
import type { Log } from '#kernel/ports/log';

export const agent: Agent = { id: 'mcp:tester', host: 'mcp', modelTier: 'advanced', model: 'some-model', label: 'Tester' };

export interface World {
  readonly demo: DemoCluster;
  readonly stateDir: string;
  /** What every App of it is opened with. */
  readonly config: object;
  /** Every log line, as `level line`. */
  readonly lines: string[];
  /** A person whose key is pinned already. */
  readonly person: Signer;
  /**
   * Another App on the same state: a second window or process of the same user. Without `workspaceBase` it has no workspace; `version`: of the
   * program that asked, where this one runs its calls. `stays`: as a window or a server does.
   */
  open(
    changes?: { readonly [key: string]: unknown },
    workspaceBase?: string,
    version?: string,
    more?: Pick<AppOptions, 'origin' | 'stays' | 'handOver'>,
  ): Promise<LocalApp>;
  close(): Promise<void>;
}

export async function startWorld(options: DemoOptions = {}): Promise<World> {
  const folder = mkdtempSync(join(tmpdir(), 'banksman-app-'));
  const demo = await startDemoCluster({ taskDurationMs: 50, ...options });
  const pair = generateApproverKey();
  const person = signerFrom(pair.privateKey, 'user:alice');
  const lines: string[] = [];
  const log: Log = {
    debug: () => undefined,
    info: (line) => void lines.push(`info ${line}`),
    warn: (line) => void lines.push(`warn ${line}`),
    error: (line) => void lines.push(`error ${line}`),
  };
  const apps: LocalApp[] = [];
  const stateDir = join(folder, 'state');
  const config = { ...demo.config, approvers: [{ name: person.approver, key: pair.publicKey }] };
  return {
    demo,
    stateDir,
    config,
    lines,
    person,
    open: async (changes = {}, workspaceBase?: string, version = 'test', more = {}) => {
      const raw = { ...config, ...changes };
      const app = await createApp({
        config: parseConfig(raw, 'test'),
        baseDir: folder,
        stateDir,
        configFile: join(folder, 'config.json'),
        log,
        via: 'editor',
        version,
        ...(workspaceBase === undefined ? {} : { workspaceBase }),
        ...more,
      });
      apps.push(app);
      return app;
    },
    close: async () => {
      await Promise.all(apps.map((app) => app.close()));
      await demo.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** One call with nobody waiting, as the command line makes it; parts can be replaced. */
export function call(app: App, tool: string, input: unknown = {}, more: Partial<CallRequest> = {}): Promise<Outcome> {
  return app.call({ tool, input, agent: cliAgent('tester', 'advanced'), signal: new AbortController().signal, waitMs: 0, ...more });
}

/** The guest's state as the cluster itself has it. */
export function guestStatus(world: World, vmid: number): string | undefined {
  world.demo.cluster.tasks.advance();
  const guest = world.demo.cluster.state.guests.get(vmid);
  return guest && (guest.running ? 'running' : 'stopped');
}

/** A red call that a person approves at once. */
export function approvedCall(
  world: World,
  app: App,
  asked: { readonly tool: string; readonly input: unknown; readonly onProgress?: (message: string) => void },
): Promise<Outcome> {
  return app.call({
    agent,
    signal: new AbortController().signal,
    waitMs: 60_000,
    gate: { ask: (request) => void app.approvals.approve(request.id, world.person) },
    ...asked,
  });
}

/** Puts a guest under high availability, in the manager's state as given. */
export function manageGuest(world: World, vmid: number, { crmState, state }: Pick<HaResource, 'crmState' | 'state'>): HaResource {
  const kind = world.demo.cluster.state.guests.get(vmid)?.kind;
  if (kind === undefined) throw new Error(`no guest ${vmid}`);
  const sid = `${kind === 'qemu' ? 'vm' : 'ct'}:${vmid}`;
  const resource: HaResource = { sid, kind, vmid, state, options: new Map(), crmState, round: 0 };
  world.demo.cluster.ha.resources.set(sid, resource);
  return resource;
}
