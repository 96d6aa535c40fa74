import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { answerSlowly, callTool, PERSON_MS } from './call-tool.ts';
import type { InHost, InHostCase } from './in-host-case.ts';

interface Manifest {
  readonly contributes: {
    readonly commands: readonly { readonly command: string }[];
    readonly languageModelTools: readonly { readonly name: string; readonly toolReferenceName: string }[];
    readonly configuration: { readonly properties: Readonly<Record<string, { readonly scope: string }>> };
  };
  readonly enabledApiProposals?: unknown;
}

function manifestOf({ extension }: InHost): Manifest {
  return extension.packageJSON as Manifest;
}

export const cases: readonly InHostCase[] = [
  {
    name: 'runs where the files are, in a window whose user interface is elsewhere',
    async run({ api, extension }) {
      assert.equal(extension.extensionKind, api.ExtensionKind.Workspace);
      assert.notEqual(api.env.remoteName, undefined);
      assert.equal(api.env.uiKind, api.UIKind.Web);
    },
  },
  {
    name: 'registers every tool of the manifest under its reference name',
    async run(host) {
      const declared = manifestOf(host).contributes.languageModelTools;
      const registered = host.api.lm.tools.map((tool) => tool.name).filter((name) => name.startsWith('banksman_'));
      assert.deepEqual(registered.toSorted(), declared.map((tool) => tool.name).toSorted());
      assert.ok(declared.length >= 20);
      for (const tool of declared) assert.equal(tool.toolReferenceName, tool.name);
    },
  },
  {
    name: 'registers every command of the manifest',
    async run(host) {
      const known = new Set(await host.api.commands.getCommands(true));
      const missing = manifestOf(host).contributes.commands.filter(({ command }) => !known.has(command));
      assert.deepEqual(missing, []);
    },
  },
  {
    name: 'keeps every setting out of the reach of a repository, and uses no proposed API',
    async run(host) {
      const { contributes, enabledApiProposals } = manifestOf(host);
      const open = Object.entries(contributes.configuration.properties).filter(
        ([, { scope }]) => scope !== 'machine' && scope !== 'application',
      );
      assert.deepEqual(open, []);
      assert.equal(enabledApiProposals, undefined);
    },
  },
  {
    name: 'runs a green tool and asks nobody',
    async run(host) {
      const asked = answerSlowly(host, 'Approve once');
      const outcome = await callTool(host, 'get_cluster_status', {});
      assert.equal(outcome.status, 'ok');
      assert.deepEqual(asked, []);
    },
  },
  {
    name: 'refuses an unknown argument by name',
    async run(host) {
      const asked = answerSlowly(host, 'Approve once');
      const outcome = await callTool(host, 'stop_vm', { node: 'pve', vmid: 100, confirmed: true });
      assert.equal(outcome.status, 'error');
      assert.match(outcome.message, /`confirmed`/);
      assert.deepEqual(asked, []);
    },
  },
  {
    name: 'refuses a protected guest and asks nobody',
    async run(host) {
      const asked = answerSlowly(host, 'Approve once');
      const outcome = await callTool(host, 'stop_vm', { node: 'agent1', vmid: 103 });
      assert.equal(outcome.status, 'denied');
      assert.deepEqual(asked, []);
    },
  },
  {
    name: 'tells the caller that a person denied the call',
    async run(host) {
      const asked = answerSlowly(host, 'Deny');
      const outcome = await callTool(host, 'stop_vm', { node: 'pve', vmid: 100 });
      assert.equal(outcome.status, 'denied');
      assert.deepEqual(
        asked.map(({ title, buttons }) => ({ title, buttons })),
        [{ title: 'Stop VM 100 (web) on pve?', buttons: ['Deny', 'Show Details', 'Approve once'] }],
      );
    },
  },
  {
    name: 'does not count an answer that came too fast',
    async run(host) {
      let times = 0;
      host.seam.answerWith(async () => {
        times += 1;
        if (times > 1) await sleep(PERSON_MS);
        return times > 1 ? 'Deny' : 'Approve once';
      });
      const outcome = await callTool(host, 'stop_vm', { node: 'pve', vmid: 100 });
      assert.equal(times, 2);
      assert.equal(outcome.status, 'denied');
    },
  },
  {
    name: 'leaves a call pending that nobody answered, and says how to follow it',
    async run(host) {
      answerSlowly(host, undefined);
      const outcome = await callTool(host, 'stop_container', { node: 'pve', vmid: 201 });
      assert.equal(outcome.status, 'pending');
      const status = await callTool(host, 'check_request_status', { request_id: outcome.request_id });
      assert.match(JSON.stringify(status), /pending/);
    },
  },
  {
    name: 'is not let through by the real dialog, which cannot be shown here',
    async run(host) {
      host.seam.answerWith(undefined);
      const outcome = await callTool(host, 'stop_container', { node: 'Home', vmid: 200 });
      assert.equal(outcome.status, 'pending');
    },
  },
  {
    name: 'runs once what a person approved',
    async run(host) {
      const asked = answerSlowly(host, 'Approve once');
      const outcome = await callTool(host, 'stop_vm', { node: 'pve', vmid: 100 });
      assert.equal(outcome.status, 'ok', JSON.stringify(outcome));
      assert.equal(asked.length, 1);
      answerSlowly(host, 'Deny');
      assert.notEqual((await callTool(host, 'start_vm', { node: 'pve', vmid: 100 })).status, 'ok');
    },
  },
];
