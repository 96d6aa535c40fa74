/** What `doctor` finds on a real (demo) cluster. */
import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { generateApproverKey } from '#app/for-hosts';
import { demoTokens } from '#demo/index';
import type { App } from '#kernel/app';
import { call, startWorld, type World } from './support.ts';

let world: World;
beforeEach(async () => {
  world = await startWorld();
});
afterEach(async () => {
  await world.close();
});

const never = new AbortController().signal;

it('warns about protection that protects nothing, and tiers without effect', async () => {
  const app = await world.open({
    protected: { nodes: ['agent1', 'gone'], guests: [103, 555] },
    tiers: { stop_vm: 'green', restart_service: 'red' },
  });
  const warnings = (await app.doctor(never)).filter((finding) => finding.state === 'warning').map((finding) => finding.message);
  expect(warnings).toEqual(
    expect.arrayContaining([
      expect.stringMatching(/guest 555 is protected, but no cluster shows it/),
      expect.stringMatching(/node `gone` is protected, but no cluster shows it/),
      expect.stringMatching(/`tiers\.stop_vm` has no effect.*red already/),
    ]),
  );
  expect(warnings.join('\n')).not.toMatch(/guest 103|agent1|restart_service/);
});

it('suggests to protect what others depend on, until it is', async () => {
  world.demo.cluster.state.guests.get(100)?.config.set('nameserver', '192.168.1.53');
  const suggested = async (list: object) => {
    const app = await world.open({ protected: list });
    return (await app.doctor(never)).filter(({ message }) => message.endsWith('and is not protected'));
  };
  expect(await suggested({})).toMatchObject([
    {
      ...{ topic: 'protected', state: 'warning' },
      message: 'guest 200 (dns) of `demo` is a DNS server of 1 guest, is named as one that others depend on, and is not protected',
      remedy: expect.stringContaining('{ "vmid": 200, "reason": "…" } into `protected.guests`'),
    },
  ]);
  expect(await suggested({ guests: [200] })).toEqual([]);
});

it('says which cluster does not answer, and keeps on looking at the rest', async () => {
  const app = await world.open();
  for (const node of ['Home', 'pve', 'agent1']) await world.demo.faults.nodeDown(node);
  const findings = await app.doctor(never);
  expect(findings.find((finding) => finding.topic === 'cluster demo')).toMatchObject({
    state: 'failed',
    message: expect.stringMatching(/^pve_unreachable/),
  });
  expect(findings.find((finding) => finding.topic === 'store')).toMatchObject({ state: 'ok' });
});

describe('approvers', () => {
  const about = async (app: App, topic: string) => (await app.doctor(never)).filter((finding) => finding.topic === topic);

  it('of one name, and one key under two names, are warned of', async () => {
    const [one, two] = [generateApproverKey().publicKey, generateApproverKey().publicKey];
    const app = await world.open({
      approvers: [
        { name: 'user:ann', key: one },
        { name: 'user:ann', key: two },
        { name: 'user:bob', key: two },
        { name: 'eve', key: generateApproverKey().publicKey },
        { name: 'user:eve', key: generateApproverKey().publicKey },
      ],
    });
    const found = await about(app, 'approvers');
    expect(found).toEqual(
      expect.arrayContaining([
        expect.objectContaining({
          state: 'warning',
          message: expect.stringMatching(/2 keys are pinned as `user:ann`:/),
          remedy: expect.any(String),
        }),
        expect.objectContaining({ state: 'warning', message: expect.stringMatching(/2 keys are pinned as `eve`, `user:eve`:/) }),
        expect.objectContaining({
          state: 'warning',
          message: expect.stringMatching(/one key is pinned under 2 names: `user:ann`, `user:bob`/),
        }),
      ]),
    );
    const plain = await about(await world.open(), 'approvers');
    expect(plain.filter(({ state }) => state !== 'ok')).toEqual([]);
  });

  it.each([
    ['the file, by all', 'config.json', 0o602, /config\.json may be written by every user/, /chmod o-w/],
    ['the file, by a group', 'config.json', 0o620, /config\.json may be written by the group 12/, /chmod g-w/],
    [
      'a directory above, by all',
      '.',
      0o707,
      /may be written by every user.*decide what the configuration is, which pins who may approve/,
      /chmod o-w/,
    ],
  ])('in a configuration that others may write (%s) is a failure', async (_, ...[name, mode, message, remedy]) => {
    const folder = path.dirname(world.stateDir);
    const place = path.join(folder, name);
    writeFileSync(path.join(folder, 'config.json'), '{}', { mode: 0o600 });
    const app = await world.open();
    expect(await about(app, 'configuration')).toEqual([]);
    // Group 12 (man) is nobody's own.
    chownSync(place, process.getuid?.() ?? 0, process.getuid?.() === 0 ? 12 : (process.getgid?.() ?? 0));
    chmodSync(place, mode);
    expect(await about(app, 'configuration')).toMatchObject([
      { topic: 'configuration', state: 'failed', message: expect.stringMatching(message), remedy: expect.stringMatching(remedy) },
    ]);
  });

  it.runIf(process.getuid?.() === 0)('in a configuration that belongs to somebody else is a failure', async () => {
    const file = path.join(path.dirname(world.stateDir), 'config.json');
    writeFileSync(file, '{}', { mode: 0o600 });
    chownSync(file, 12_345, 12_345);
    expect(await about(await world.open(), 'configuration')).toMatchObject([
      { state: 'failed', message: expect.stringContaining('another user') },
    ]);
  });
});

describe('the trail', () => {
  const audit = async (app: App) => (await app.doctor(never)).find((finding) => finding.topic === 'audit');

  it.each([
    ['deleted', 0],
    ['deleted, and used again for longer', 6],
  ])('of a store that was %s since is missed, until a person says that it was meant', async (_, later) => {
    const before = await world.open();
    for (let calls = 0; calls < 3; calls += 1) await call(before, 'reboot_node', { node: 'pve' });
    expect(await audit(before)).toMatchObject({ state: 'ok' });
    await before.close();
    rmSync(world.stateDir, { recursive: true });
    let app = await world.open();
    for (let calls = 0; calls < later; calls += 1) await call(app, 'reboot_node', { node: 'pve' });
    for (let looks = 0; looks < 2; looks += 1) {
      expect(await audit(app)).toMatchObject({
        state: 'failed',
        message: expect.stringMatching(/had come to record 3, which is gone or another/),
        remedy: expect.stringContaining('seen-trails'),
      });
      await app.close();
      app = await world.open();
    }
    rmSync(path.join(path.dirname(world.stateDir), 'seen-trails'), { recursive: true });
    expect(await audit(app)).toMatchObject({ state: 'ok' });
  });

  it('with a record that does not fit is no "ok"', async () => {
    const app = await world.open();
    for (let calls = 0; calls < 3; calls += 1) await call(app, 'reboot_node', { node: 'pve' });
    await app.close();
    const file = path.join(world.stateDir, 'banksman.db');
    const bytes = readFileSync(file);
    const at = bytes.lastIndexOf('reboot_node');
    bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at);
    writeFileSync(file, bytes);
    expect(await audit(await world.open())).toMatchObject({
      state: 'failed',
      message: expect.stringMatching(/^audit_broken: record \d was altered/),
      remedy: expect.stringContaining('banksman audit verify'),
    });
  });

  it('that goes on is not missed, nor one that lost its memory', async () => {
    const app = await world.open();
    await call(app, 'reboot_node', { node: 'pve' });
    await app.close();
    const again = await world.open();
    await call(again, 'reboot_node', { node: 'pve' });
    expect(await audit(again)).toMatchObject({ state: 'ok', message: expect.stringMatching(/^2 records/) });
    const memory = path.join(path.dirname(world.stateDir), 'seen-trails', 'trails.json');
    expect(statSync(memory).mode & 0o777).toBe(0o600);
    writeFileSync(memory, 'no json');
    expect(await audit(again)).toMatchObject({ state: 'ok' });
  });
});

it.runIf(process.getuid?.() === 0)(
  'a disk that is full is a failure, with the remedy, and what was tried leaves nothing behind',
  async () => {
    mkdirSync(world.stateDir, { mode: 0o700 });
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'none', world.stateDir]);
    try {
      const app = await world.open();
      const disk = async () => (await app.doctor(never)).find((finding) => finding.topic === 'disk');
      expect(await disk()).toMatchObject({ state: 'ok' });
      const ballast = path.join(world.stateDir, 'ballast');
      expect(() => writeFileSync(ballast, Buffer.alloc(4 * 1024 * 1024))).toThrow('ENOSPC');
      expect(await disk()).toMatchObject({
        state: 'failed',
        message: expect.stringMatching(/takes no record: the disk is full/),
        remedy: expect.stringContaining('free some disk space'),
      });
      rmSync(ballast);
      expect(await disk()).toMatchObject({ state: 'ok' });
      expect(readdirSync(world.stateDir).filter((name) => name.startsWith('.doctor'))).toEqual([]);
      await app.close();
    } finally {
      execFileSync('umount', ['-l', world.stateDir]);
    }
  },
);

it.runIf(process.getuid?.() === 0)('a disk on which little is left, or few files more, is warned of before it is full', async () => {
  mkdirSync(world.stateDir, { mode: 0o700 });
  const disks = async (options: string) => {
    execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'none', world.stateDir]);
    try {
      const app = await world.open();
      const found = (await app.doctor(never)).filter(({ topic, message }) => topic === 'disk' && message.includes(world.stateDir));
      await app.close();
      return found;
    } finally {
      execFileSync('umount', ['-l', world.stateDir]);
    }
  };
  expect(await disks('size=300m')).toMatchObject([{ state: 'ok' }]);
  expect(await disks('size=50m')).toMatchObject([{ state: 'ok' }, { state: 'warning', message: expect.stringMatching(/has \d+ MB free/) }]);
  expect(await disks('size=300m,nr_inodes=200')).toMatchObject([
    { state: 'ok' },
    { state: 'warning', message: expect.stringMatching(/room for \d+ more files/) },
  ]);
});

it('a store whose folder others may write is a failure, with the remedy', async () => {
  const app = await world.open();
  const about = async () => (await app.doctor(never)).filter(({ topic, state }) => topic === 'store' && state !== 'ok');
  expect(await about()).toEqual([]);
  chmodSync(world.stateDir, 0o707);
  expect(await about()).toMatchObject([
    {
      topic: 'store',
      state: 'failed',
      message: expect.stringMatching(/may be written by every user.*replace the store/),
      remedy: expect.stringContaining(`chmod o-w ${world.stateDir}`),
    },
  ]);
});

describe('what is damaged or of no use is no "ok"', () => {
  const about = async (app: App, topic: string) => (await app.doctor(never)).filter((finding) => finding.topic === topic);
  const database = () => new DatabaseSync(path.join(world.stateDir, 'banksman.db'));

  it('a pending request that cannot be read', async () => {
    const app = await world.open();
    await call(app, 'stop_vm', { vmid: 100 });
    await call(app, 'stop_container', { vmid: 200 });
    expect(await about(app, 'store')).toMatchObject([{ state: 'ok', message: expect.stringContaining('2 pending requests') }]);
    await app.close();
    const file = path.join(world.stateDir, 'banksman.db');
    const bytes = readFileSync(file);
    for (let at = bytes.indexOf('"title":"Stop VM'); at >= 0; at = bytes.indexOf('"title":"Stop VM', at + 1)) bytes[at + 1] = 0x75;
    writeFileSync(file, bytes);
    expect(await about(await world.open(), 'store')).toMatchObject([
      {
        state: 'warning',
        message: expect.stringMatching(/1 of 2 pending requests cannot be read/),
        remedy: expect.stringContaining('can be neither approved nor denied'),
      },
    ]);
  });

  it.each(['strikt', '{"signed":', ''])('a security level that is none (%j), and it counts as strict', async (text) => {
    const app = await world.open();
    await app.security.setLevel('strict', world.person);
    expect(await about(app, 'security level')).toMatchObject([{ state: 'ok' }]);
    await app.close();
    const db = database();
    db.prepare("UPDATE settings SET value = ? WHERE key = 'security_level'").run(text);
    db.close();
    const damaged = await world.open({ securityLevel: 'strict' });
    expect(await about(damaged, 'security level')).toMatchObject([
      { state: 'warning', message: expect.stringContaining('is damaged'), remedy: expect.stringContaining('banksman level set') },
    ]);
    expect((await damaged.security.level()).level).toBe('strict');
  });

  it.each([
    ['deleted', () => rmSync(world.stateDir, { recursive: true })],
    [
      'replaced by a copy',
      () => {
        const file = path.join(world.stateDir, 'banksman.db');
        const bytes = readFileSync(file);
        rmSync(file);
        writeFileSync(file, bytes, { mode: 0o600 });
      },
    ],
  ])('a store that is %s while the process runs', async (_what, change) => {
    const app = await world.open();
    await call(app, 'stop_vm', { vmid: 100 });
    change();
    for (const topic of ['store', 'audit'])
      expect(await about(app, topic)).toMatchObject([
        { state: 'failed', message: expect.stringContaining('was removed or replaced while it was in use'), remedy: expect.any(String) },
      ]);
    expect(await call(app, 'stop_container', { vmid: 200 })).toMatchObject({ status: 'error', code: 'audit_unavailable' });
  });

  it('a token that sees nothing', async () => {
    const id = demoTokens.nobody;
    const tokenFile = path.join(path.dirname(world.stateDir), 'nobody');
    writeFileSync(tokenFile, (world.demo.authorization[id] ?? '').split('=').at(-1) ?? '', { mode: 0o600 });
    const app = await world.open({ clusters: [{ ...world.demo.config.clusters[0], tokenId: id, tokenFile }] });
    expect(await call(app, 'get_vms')).toMatchObject({ status: 'ok', message: expect.stringContaining('0 VMs visible to this token') });
    const [finding] = await about(app, 'cluster demo');
    expect(finding).toMatchObject({
      state: 'failed',
      message: expect.stringMatching(/^token_sees_nothing: the API token .* holds no privilege/),
    });
    expect(finding?.remedy).toContain('pveum acl modify /');
    expect(finding?.remedy).toContain(id);
  });
});
