/**
 * Two machines over one Valkey: an agent's and a person's, in network namespaces of their own. The agent's is the bundled command line with
 * the agent's credentials; it reaches the server and nothing else.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cli, type Outcome } from '../cli/support.ts';
import { startChild } from './child-process.ts';
import { type Machine, startMachine, whyNoNamespaces } from './namespaces.ts';
import { temporaryFolder } from './store-fixtures.ts';
import { samplePasswords, startValkey, type ValkeyServer } from './valkey-server.ts';

const why = whyNoNamespaces();

describe.skipIf(why !== undefined)(
  `two machines over one Valkey${why === undefined ? '' : ` (skipped: ${why})`}`,
  { timeout: 180_000 },
  () => {
    let server: ValkeyServer;
    beforeAll(async () => {
      server = await startValkey();
    }, 300_000);
    afterAll(() => server.close());

    async function machines(): Promise<readonly [agent: Machine, person: Machine]> {
      const socket = join(server.folder, 'server.sock');
      return [await startMachine(socket), await startMachine(socket)];
    }
    const urlOf = ({ port }: Machine): string => `valkey://127.0.0.1:${port}/0`;

    it('share a request; of two answers one counts; the call then runs once', async () => {
      const [agentMachine, person] = await machines();
      const [first, second] = ['user:alice', 'user:bob'].map((name) => startChild('answer', [urlOf(person), name], person.wrap));
      const keys = [await first!.line(), await second!.line()];
      const agent = await startAgent(agentMachine, urlOf(agentMachine), [
        { name: 'user:alice', key: keys[0] },
        { name: 'user:bob', key: keys[1] },
      ]);
      try {
        const stop = { vmid: 100 };
        const asked = await agent.call('stop_vm', stop);
        expect(asked).toMatchObject({ status: 'pending', request_id: expect.stringMatching(/^req-[a-f0-9]{8}$/) });
        expect(await agent.call('stop_vm', stop)).toMatchObject({ status: 'pending', request_id: asked.request_id });
        first!.send(`${asked.request_id} approve`);
        second!.send(`${asked.request_id} approve`);
        const answers = [await first!.line(), await second!.line()].map((line) => JSON.parse(line) as { ok: boolean; asked: string });
        expect(answers.filter((answer) => answer.ok)).toHaveLength(1);
        expect(answers[0]?.asked).toContain('100');
        expect(await agent.call('start_vm', { vmid: 101 })).toMatchObject({ status: 'pending' });
        expect(await agent.call('stop_vm', stop)).toMatchObject({ status: 'ok' });
        expect(await agent.call('stop_vm', stop)).toMatchObject({ code: 'guest_already_stopped' });
      } finally {
        await agent.close();
      }
    });

    it('leave the agent nothing else to reach: not the person\u2019s machine, not this one, no name server', async () => {
      const outside = createServer().listen(0, '0.0.0.0');
      await once(outside, 'listening');
      const { port } = outside.address() as AddressInfo;
      const here = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
      const mine = here.filter(({ family, internal }) => family === 'IPv4' && !internal).map(({ address }) => `${address}:${port}`);
      const [agent, person] = await machines();
      const nowhere = [`127.0.0.1:${server.port}`, `127.0.0.1:${person.port}`, `127.0.0.1:${port}`, '1.1.1.1:53', ...mine];
      const reached = await startChild('reach', [`127.0.0.1:${agent.port}`, ...nowhere], agent.wrap).end();
      // The same from here: what is told from there must come from where it is.
      const fromHere = await startChild('reach', [`127.0.0.1:${server.port}`, `127.0.0.1:${port}`, ...mine]).end();
      outside.close();
      expect(reached[0]).toBe('open');
      expect(reached).toHaveLength(1 + nowhere.length);
      for (const [index, outcome] of reached.slice(1).entries()) expect(outcome, nowhere[index]).toMatch(/^(ENETUNREACH|ECONNREFUSED)$/);
      expect(new Set(fromHere)).toEqual(new Set(['open']));
    });
  },
);

interface AgentMachine {
  call(tool: string, input: object): Promise<Outcome>;
  close(): Promise<void>;
}

/** The demo cluster is on the agent's own machine: there is no other network there. */
async function startAgent(machine: Machine, url: string, approvers: readonly object[]): Promise<AgentMachine> {
  const folder = temporaryFolder();
  const credentials = join(folder, 'credentials.json');
  const roles = { agent: samplePasswords.agent, exec: samplePasswords.exec, 'log-writer': samplePasswords['log-writer'] };
  writeFileSync(credentials, JSON.stringify(roles), { mode: 0o600 });
  const env = { ...process.env, XDG_STATE_HOME: join(folder, 'state'), XDG_CONFIG_HOME: join(folder, 'config') };
  const start = (...words: readonly string[]): ChildProcess => {
    const [command = '', ...before] = machine.wrap;
    return spawn(command, [...before, process.execPath, cli, ...words], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  };
  const demo = start('demo');
  const [line] = (await once(createInterface({ input: demo.stdout! }), 'line')) as [string];
  const configFile = join(folder, 'config.json');
  const config = { ...(JSON.parse(line) as object), approvers, store: `${url}?credentials=${encodeURIComponent(credentials)}` };
  writeFileSync(configFile, JSON.stringify(config));
  return {
    call: async (tool, input) => {
      const child = start('call', tool, '--input', JSON.stringify(input), '--json', '--config', configFile);
      const [output, errors] = await Promise.all([text(child.stdout!), text(child.stderr!)]);
      if (output === '') throw new Error(`the call said nothing: ${errors}`);
      return JSON.parse(output) as Outcome;
    },
    close: async () => {
      demo.kill('SIGTERM');
      if (demo.exitCode === null) await once(demo, 'exit');
    },
  };
}
