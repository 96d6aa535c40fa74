/**
 * A repository's hook, or a model with a terminal, writes the machine's configuration: what makes it looser counts for nothing until an approver who
 * counted before agrees to that very difference.
 */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { generateApproverKey, signerFrom } from '#app/for-hosts';
import { writeKeyFile } from '#app/people/approver-key-file';
import { createApprovals } from '#approval/approvals';
import { sealKey } from '#approval/keys';
import { seal } from '#audit/seal';
import { systemClock } from '#execution/deadline';
import { openSqliteStore } from '#stores/sqlite/open-sqlite-store';
import { callTool, newOverStdio } from '../mcp/clients.ts';
import { type Person, passphrase, personAt } from './person.ts';
import { type Bench, type Outcome, startBench } from './support.ts';

vi.setConfig({ testTimeout: 240_000, hookTimeout: 120_000 });

const own = 'the model knows this one well';
const mallory = generateApproverKey();
let bench: Bench;
let person: Person;

interface Written {
  approvers: { name: string; key: string }[];
  protected: { guests: unknown[] };
  clusters: { endpoints: string[] }[];
  securityLevel?: string;
}

function edit(change: (config: Written) => void): void {
  const config = JSON.parse(readFileSync(bench.machineFile, 'utf8')) as Written;
  change(config);
  writeFileSync(bench.machineFile, JSON.stringify(config));
}

/** With the machine's own configuration, as an agent calls. */
async function call(tool: string, input: object): Promise<Outcome> {
  return JSON.parse((await bench.run(['call', tool, '--input', JSON.stringify(input), '--json'])).stdout) as Outcome;
}

const waiting = async () => (JSON.parse((await bench.run(['config', 'show', '--json'])).stdout) as { waiting: string[] }).waiting;
const agree = (name = 'alice') => person.at(['config', 'agree', '--as', name], [[`passphrase of approver ${name}`, `${passphrase}\r`]]);

/** The answer of whoever may write the store: the product's own code, with a key that it was told to trust. */
async function forge(id: string): Promise<void> {
  const store = await openSqliteStore({ file: join(bench.state, 'banksman.db'), seal });
  const key = { name: 'user:mallory', key: mallory.publicKey };
  const approvals = createApprovals({ ...store, clock: systemClock, trustedKeys: async () => [key], via: 'cli' });
  const { ok, message } = await approvals.approve(id, signerFrom(mallory.privateKey, 'user:mallory'));
  await store.close();
  if (!ok) throw new Error(message);
}

beforeAll(async () => {
  bench = await startBench();
  person = personAt(bench);
  await person.createApprover('alice');
  edit((config) => Object.assign(config, { ...bench.config, approvers: config.approvers }));
  const { status, screen } = await agree();
  if (status !== 0) throw new Error(screen);
});
afterAll(() => bench.close());

describe('a pin that a program wrote', () => {
  it('approves nothing with its key, and is named', async () => {
    await writeKeyFile(
      join(dirname(bench.machineFile), 'approver-keys'),
      await sealKey({ name: 'mallory', pair: mallory, createdAt: new Date().toISOString() }, own),
    );
    edit(({ approvers }) => approvers.push({ name: 'mallory', key: mallory.publicKey }));
    const id = (await call('stop_vm', { vmid: 100 })).request_id ?? '';
    const code = await person.codeOf(id);
    expect(await person.at(['approvals', 'approve', id, '--code', code, '--as', 'mallory'])).toMatchObject({
      status: 2,
      screen: expect.stringContaining('no pinned approver named `mallory`'),
    });
    await forge(id);
    expect(await call('stop_vm', { vmid: 100 })).not.toMatchObject({ status: 'ok' });
    expect(await waiting()).toEqual([`one more approver: \`mallory\` (${mallory.publicKey})`]);
    const { stdout, status } = await bench.run(['doctor']);
    expect(status).toBe(1);
    expect(stdout).toMatch(/warning embedded: pins, store and cluster token lie in your account/);
    expect(stdout).toMatch(/FAILED {2}configuration: does not count, for nobody agreed to it: one more approver: `mallory`/);
  });

  it('cannot agree to itself', async () => {
    expect(await person.at(['config', 'agree', '--as', 'mallory'])).toMatchObject({ status: 2 });
    expect(await waiting()).toHaveLength(1);
  });

  it('counts from then on that an approver agreed', async () => {
    expect(await agree()).toMatchObject({ status: 0, screen: expect.stringContaining('one more approver: `mallory`') });
    expect(await waiting()).toEqual([]);
    expect((await bench.run(['approvers', 'list'])).stdout).toMatch(/mallory .*pinned/);
  });

  it('that was revoked does not come back by being written again', async () => {
    expect(
      await person.at(['approvers', 'revoke', 'mallory', '--as', 'alice'], [['passphrase of approver alice', `${passphrase}\r`]]),
    ).toMatchObject({ status: 0 });
    edit(({ approvers }) => approvers.push({ name: 'mallory', key: mallory.publicKey }));
    expect(await waiting()).toHaveLength(1);
    edit((config) => (config.approvers = config.approvers.filter(({ name }) => name === 'alice')));
  });
});

describe('a configuration that a program made looser', () => {
  it('goes on as it was: what was protected is, and the token goes to no other endpoint', async () => {
    const before = readFileSync(bench.machineFile, 'utf8');
    edit((config) => {
      config.protected.guests = [];
      config.securityLevel = 'relaxed';
      for (const cluster of config.clusters) cluster.endpoints = ['https://127.0.0.1:9'];
    });
    const { guests } = (bench.config as unknown as Written).protected;
    const vmid = typeof guests[0] === 'number' ? guests[0] : (guests[0] as { vmid: number }).vmid;
    expect(await call('stop_vm', { vmid })).toMatchObject({ status: 'denied' });
    expect(await call('get_vms', {})).toMatchObject({ status: 'ok' });
    expect((await bench.run(['level', 'get'])).stdout).toBe('balanced\n');
    const lines = await waiting();
    expect(lines).toHaveLength(2 + guests.length);
    expect(lines.join('\n')).toMatch(
      /securityLevel`: balanced → relaxed[\s\S]*no longer protected: guests[\s\S]*cluster `\w+`: `endpoints`/,
    );
    writeFileSync(bench.machineFile, before);
    expect(await waiting()).toEqual([]);
  });

  it('counts for an MCP server that runs already from then on that an approver agreed, and no sooner', async () => {
    const before = readFileSync(bench.machineFile, 'utf8');
    edit((config) => Object.assign(config, { approvalWait: { mcp: 0 } }));
    const { client } = await newOverStdio({ env: bench.env, config: [] });
    const stop = async () => (await callTool(client, 'stop_vm', { vmid: 100 })).outcome;
    expect(await stop()).toMatchObject({ status: 'pending' });
    edit((config) => config.protected.guests.push(100));
    expect((await agree()).status).toBe(0);
    await vi.waitFor(async () => expect(await stop()).toMatchObject({ status: 'denied' }), { interval: 1_000 });
    writeFileSync(bench.machineFile, before);
    edit((config) => Object.assign(config, { approvalWait: { mcp: 0 } }));
    expect(await stop()).toMatchObject({ status: 'denied' });
    expect((await agree()).status).toBe(0);
    await vi.waitFor(async () => expect(await stop()).toMatchObject({ status: 'pending' }), { interval: 1_000 });
    await client.close();
    writeFileSync(bench.machineFile, before);
  });

  it('counts at once where it is stricter', async () => {
    edit((config) => (config.securityLevel = 'strict'));
    expect((await bench.run(['level', 'get'])).stdout).toBe('strict\n');
    expect(await waiting()).toEqual([]);
    edit((config) => (config.securityLevel = 'balanced'));
  });
});

describe('the file of what was agreed to', () => {
  const file = () => join(dirname(bench.machineFile), 'agreed.json');

  it('stops everything where somebody wrote into it', async () => {
    const kept = readFileSync(file(), 'utf8');
    writeFileSync(file(), kept.replaceAll('"balanced"', '"relaxed"'));
    expect(await bench.run(['call', 'get_vms', '--input', '{}'])).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('was not signed by an approver who counted'),
    });
    writeFileSync(file(), kept);
  });

  it('that is gone, or older, makes nothing looser in a server that runs, which says so within a minute', async () => {
    const kept = readFileSync(file(), 'utf8');
    const before = readFileSync(bench.machineFile, 'utf8');
    edit((config) => Object.assign(config, { approvalWait: { mcp: 0 } }));
    const { client, said } = await newOverStdio({ env: bench.env, config: [] });
    const stop = async () => (await callTool(client, 'stop_vm', { vmid: 103 })).outcome;
    expect(await stop()).toMatchObject({ status: 'denied' });
    edit((config) => {
      config.protected.guests = [];
      config.approvers.push({ name: 'mallory', key: mallory.publicKey });
    });
    for (const text of [undefined, JSON.stringify((JSON.parse(kept) as unknown[]).slice(0, 1))]) {
      if (text === undefined) rmSync(file());
      else writeFileSync(file(), text);
      await vi.waitFor(() => expect(said()).toMatch(text === undefined ? /it was removed while/ : /an older copy, or another/), {
        timeout: 60_000,
      });
      expect(await stop()).toMatchObject({ status: 'denied' });
      const { request_id: asked } = (await callTool(client, 'stop_vm', { vmid: 100 })).outcome;
      if (asked !== undefined) await forge(asked);
      expect((await callTool(client, 'stop_vm', { vmid: 100 })).outcome).not.toMatchObject({ status: 'ok' });
    }
    await client.close();
    writeFileSync(file(), kept);
    writeFileSync(bench.machineFile, before);
  });

  it('that is gone is told: the trail remembers it', async () => {
    const kept = readFileSync(file(), 'utf8');
    rmSync(file());
    expect((await bench.run(['doctor'])).stdout).toMatch(/FAILED {2}configuration: what was agreed to of the configuration is gone/);
    // With nobody pinned it is a beginning, and nobody can approve.
    const config = readFileSync(bench.machineFile, 'utf8');
    edit((written) => (written.approvers = []));
    expect((await bench.run(['doctor'])).stdout).not.toMatch(/what was agreed to of the configuration is gone/);
    writeFileSync(bench.machineFile, config);
    const first = JSON.parse(kept) as unknown[];
    writeFileSync(file(), JSON.stringify(first.slice(0, 1)));
    expect((await bench.run(['doctor'])).stdout).toMatch(
      /FAILED {2}configuration: what was agreed to of the configuration is not what the trail says/,
    );
    writeFileSync(file(), kept);
    expect((await bench.run(['doctor'])).stdout).toMatch(/ok +configuration: as user:alice agreed to it/);
  });
});
