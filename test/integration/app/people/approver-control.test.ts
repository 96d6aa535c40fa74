import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { parseConfig } from '#app/config/config';
import { generateApproverKey, signerFrom } from '#app/for-hosts';
import { type ApproverControl, localApprovers, unlockApprover, withApproverControl } from '#app/people/approver-control';
import { openStore } from '#app/store/open-store';
import type { Signer } from '#kernel/approval/answer';

// Opening a key is meant to be slow.
vi.setConfig({ testTimeout: 180_000, hookTimeout: 60_000 });

const passphrase = 'correct horse battery staple';
const editor = generateApproverKey();
let folder: string;
let configFile: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'banksman-approvers-'));
  configFile = join(folder, 'config.json');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const stateDir = () => join(folder, 'state');
const keyFolder = () => join(folder, 'approver-keys');

function control<T>(work: (approvers: ApproverControl) => Promise<T>, config: object = {}): Promise<T> {
  return withApproverControl({ config: parseConfig(config, 'test'), stateDir: stateDir(), configFile }, work);
}

/** Events of the trail that say whose key counts; that each was agreed to as well is another test's (agreement.test.ts). */
async function recorded(): Promise<readonly object[]> {
  const store = await openStore({ config: parseConfig({}, 'test'), stateDir: stateDir() });
  try {
    const records = (await store.audit.read(0, 100)).map(({ name, attributes }) => ({ name, ...attributes }));
    return records.filter((record) => !('change' in record) || record.change !== 'configuration_agreed');
  } finally {
    await store.close();
  }
}

async function unlock(name: string): Promise<Signer> {
  const key = (await localApprovers([configFile])).find((entry) => entry.name === name);
  const signer = key && (await unlockApprover(key, passphrase));
  if (signer === undefined) throw new Error(`no approver ${name} here`);
  return signer;
}

describe('the first approver', () => {
  it('is pinned beside whatever else the file says, and recorded', async () => {
    writeFileSync(configFile, JSON.stringify({ securityLevel: 'strict' }));
    const entry = await control((approvers) => approvers.create({ name: 'alice', passphrase }));
    expect(entry).toMatchObject({ name: 'alice', pinned: 'machine', local: true });
    expect(JSON.parse(readFileSync(configFile, 'utf8'))).toEqual({
      securityLevel: 'strict',
      approvers: [{ name: 'alice', key: entry.key, kind: 'terminal' }],
    });
    expect(await recorded()).toEqual([
      expect.objectContaining({ name: 'approver.trusted', approver: 'alice', key: entry.key, first: true }),
    ]);
    expect(await unlock('alice')).toMatchObject({ approver: 'user:alice', publicKey: entry.key });
  });

  it.each(['', 'Alice', 'a b', '../a', 'a.json', '-a', 'x'.repeat(64), 'älice'])('is not named %j', async (name) => {
    await expect(control((approvers) => approvers.create({ name, passphrase }))).rejects.toMatchObject({ code: 'bad_approver_name' });
    expect(existsSync(keyFolder())).toBe(false);
  });
});

describe('another approver', () => {
  it('counts once one that is pinned vouches for it', async () => {
    await control((approvers) => approvers.create({ name: 'alice', passphrase }));
    const voucher = await unlock('alice');
    expect(await control((approvers) => approvers.create({ name: 'bob', passphrase, voucher }))).toMatchObject({ pinned: 'machine' });
    expect((await recorded())[1]).toMatchObject({ approver: 'bob', by: 'user:alice' });
    await expect(control((approvers) => approvers.create({ name: 'bob', passphrase, voucher }))).rejects.toMatchObject({
      code: 'approver_exists',
    });
  });

  it('counts for nothing where nobody vouches for it', async () => {
    writeFileSync(configFile, JSON.stringify({ approvers: [{ name: 'user:alice', key: editor.publicKey }] }));
    expect(await control((approvers) => approvers.create({ name: 'mallory', passphrase }))).toMatchObject({ pinned: null, local: true });
    expect(readFileSync(configFile, 'utf8')).not.toContain('mallory');
    expect(await localApprovers([configFile])).toEqual([]);
    expect(await recorded()).toEqual([]);
  });

  it('is not vouched for by a key that is pinned elsewhere or nowhere', async () => {
    await control((approvers) => approvers.create({ name: 'alice', passphrase }));
    const voucher = signerFrom(editor.privateKey, 'user:alice');
    const config = { approvers: [{ name: 'eve', key: editor.publicKey }] };
    for (const named of [{}, config])
      await expect(control((approvers) => approvers.create({ name: 'mallory', passphrase, voucher }), named)).rejects.toMatchObject({
        code: 'needs_approver',
      });
    expect(readdirSync(keyFolder())).toEqual(['alice.json']);
  });

  it('is not the first one where a configuration that was named pins others', async () => {
    const config = { approvers: [{ name: 'ops', key: editor.publicKey }] };
    expect(await control((approvers) => approvers.create({ name: 'alice', passphrase }), config)).toMatchObject({ pinned: null });
  });
});

describe('revoking', () => {
  it('takes the pin and the key away, and is recorded', async () => {
    await control((approvers) => approvers.create({ name: 'alice', passphrase }));
    const voucher = await unlock('alice');
    const bob = await control((approvers) => approvers.create({ name: 'bob', passphrase, voucher }));
    await expect(control((approvers) => approvers.revoke(bob, undefined))).rejects.toMatchObject({ code: 'needs_approver' });
    expect(await control((approvers) => approvers.list())).toHaveLength(2);
    await control((approvers) => approvers.revoke(bob, voucher));
    expect(await control((approvers) => approvers.list())).toMatchObject([{ name: 'alice' }]);
    expect(readdirSync(keyFolder())).toEqual(['alice.json']);
    expect((await recorded()).at(-1)).toMatchObject({
      name: 'policy.changed',
      change: 'approver_revoked',
      approver: 'bob',
      by: 'user:alice',
    });
  });

  it('of a key that is pinned elsewhere is done there', async () => {
    const config = { approvers: [{ name: 'ops', key: editor.publicKey }] };
    const [ops] = await control((approvers) => approvers.list(), config);
    expect(ops).toMatchObject({ pinned: 'configuration', local: false });
    if (ops === undefined) return;
    await expect(control((approvers) => approvers.revoke(ops, undefined), config)).rejects.toMatchObject({ code: 'not_pinned_here' });
  });

  it('of a key that counts for nothing just removes it', async () => {
    writeFileSync(configFile, JSON.stringify({ approvers: [{ name: 'user:alice', key: editor.publicKey }] }));
    const mallory = await control((approvers) => approvers.create({ name: 'mallory', passphrase }));
    await control((approvers) => approvers.revoke(mallory, undefined));
    expect(readdirSync(keyFolder())).toEqual([]);
  });
});

describe('a key file', () => {
  it('that others can read, that is damaged, or that is under another name is not used', async () => {
    await control((approvers) => approvers.create({ name: 'alice', passphrase }));
    const file = join(keyFolder(), 'alice.json');
    const text = readFileSync(file, 'utf8');
    chmodSync(file, 0o640);
    expect(await localApprovers([configFile])).toEqual([]);
    chmodSync(file, 0o600);
    expect(await localApprovers([configFile])).toHaveLength(1);
    for (const changed of [
      '',
      '{}',
      text.replace('131072', '2'),
      text.replace('"version": 1', '"version": 2'),
      text.replace('"alice"', '"bob"'),
    ]) {
      writeFileSync(file, changed);
      expect(await localApprovers([configFile])).toEqual([]);
    }
  });
});
