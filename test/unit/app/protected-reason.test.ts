/** Why a person protected something reaches whoever is refused. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parseConfig } from '#app/config/config';
import { protectedListOf } from '#app/config/policy-settings';
import { createApp } from '#app/create-app';
import { cliAgent } from '#app/for-hosts';
import type { App } from '#kernel/app';
import { protectTarget } from '#policy/protected-resources';

const silent = () => undefined;
const protectedEntries = {
  nodes: ['quiet', { name: 'agent1', reason: 'runs Banksman itself' }],
  guests: [{ vmid: 103, reason: 'the VPN: without it nobody gets in' }, 104],
  services: ['docker', { name: 'nginx', node: '*', reason: 'the proxy' }, { name: 'bind9', reason: 'the DNS' }],
  addresses: [{ address: '192.168.1.61', reason: 'token \u202eghp_abcdefghijklmnopqrstuvwxyz0123456789\u0007' }],
};

const config = parseConfig({ protected: protectedEntries }, 'test');
let folder: string;
let app: App;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'banksman-reason-'));
  app = await createApp({
    config,
    baseDir: folder,
    stateDir: join(folder, 'state'),
    configFile: join(folder, 'config.json'),
    log: { debug: silent, info: silent, warn: silent, error: silent },
    via: 'cli',
    version: 'test',
  });
});
afterEach(async () => {
  await app.close();
  rmSync(folder, { recursive: true });
});

const agent = cliAgent('tester', 'advanced');
const call = (tool: string, input: unknown) => app.call({ tool, input, agent, signal: new AbortController().signal, waitMs: 0 });

describe('a protected entry with a reason', () => {
  it.each<[string, unknown, RegExp]>([
    ['stop_vm', { vmid: 103 }, /guest 103 is protected.*; the reason given: the VPN: without it nobody gets in$/],
    ['execute_ssh', { node: 'agent1', command: 'uptime' }, /; the reason given: runs Banksman itself$/],
    ['restart_service', { node: 'any', service: 'nginx' }, /; the reason given: the proxy$/],
  ])('%s %j is refused with it, and explained with it', async (tool, input, words) => {
    expect(await call(tool, input)).toMatchObject({ status: 'denied', code: 'protected_resource', message: expect.stringMatching(words) });
    const explained = await app.explain({ tool, input, agent });
    expect(explained.decision).toMatchObject({ code: 'protected_resource', reason: expect.stringMatching(words) });
  });

  it('without one is refused as ever', async () => {
    expect((await call('stop_vm', { vmid: 104 })).message).toMatch(/change the protected list$/);
  });

  it('protects the node that its guest runs on for the same reason', () => {
    const list = protectedListOf(config.protected);
    const target = { kind: 'node', access: 'operate', cluster: 'lab', node: 'pve', online: true, addresses: [] } as const;
    const derived = { hosts: new Map([['pve', [103]]]), addressed: new Map() };
    expect(protectTarget(target, list, derived).reason).toMatch(/hosts protected guest 103.*the reason given: the VPN/);
  });

  it('shows no secret and nothing unseen', async () => {
    const { reason } = (await app.explain({ tool: 'execute_ssh', input: { node: '192.168.1.61', command: 'id' }, agent })).decision;
    expect(reason).toContain('the reason given: token ');
    for (const hidden of ['ghp_', '\u202e', '\u0007']) expect(reason).not.toContain(hidden);
  });

  it('is in what doctor says', async () => {
    const found = (await app.doctor(new AbortController().signal)).find(({ topic }) => topic === 'protected');
    expect(found).toMatchObject({ state: 'ok', message: expect.stringMatching(/^8 protected resources, .*guests:103 \(the VPN/) });
  });

  it('is parsed again as it was', () => {
    expect(parseConfig(config, 'again')).toEqual(config);
  });

  it.each([
    [{ guests: [{ vmid: 103, why: 'x' }] }, /`protected\.guests\.0`: .*why.*allowed here: vmid, reason/],
    [{ nodes: [{ name: 'a', reason: '' }] }, /`protected\.nodes\.0\.reason`: must not be empty/],
    [{ guests: [{ vmid: 103, reason: 'x'.repeat(301) }] }, /`protected\.guests\.0\.reason`: must have at most 300/],
  ])('%j is refused by its field', (entries, message) => {
    expect(() => parseConfig({ protected: entries }, 'test')).toThrow(message);
  });
});
