/** The same over a shared store: agents' machine without the right to answer, a person's machine with it. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { samplePasswords, startValkey, type ValkeyServer } from '../stores/valkey-server.ts';
import { type Person, passphrase, personAt } from './person.ts';
import { type Bench, startBench } from './support.ts';

// Every step is a process of its own, and slow cores run several suites at once.
vi.setConfig({ testTimeout: 240_000, hookTimeout: 60_000 });

let bench: Bench;
let person: Person;
let valkey: ValkeyServer;
/** A folder of state whose user may take these roles. */
const machine = (name: string, roles: readonly (keyof typeof samplePasswords)[]): readonly string[] => {
  const state = join(bench.folder, name);
  mkdirSync(state, { mode: 0o700 });
  const credentials = Object.fromEntries(roles.map((role) => [role, samplePasswords[role]]));
  writeFileSync(join(state, 'credentials.json'), JSON.stringify(credentials), { mode: 0o600 });
  return ['--state', state, '--store', valkey.url];
};
beforeAll(async () => {
  [bench, valkey] = await Promise.all([startBench(), startValkey()]);
  person = personAt(bench);
});
afterAll(async () => {
  await Promise.all([bench.close(), valkey.close()]);
});

describe('approvals over Valkey', () => {
  it('are answered from a machine that may, and not from where agents run', async () => {
    const agents = machine('agents', ['agent', 'exec', 'log-writer']);
    const people = machine('people', ['agent', 'admin', 'log-writer']);
    const made = await person.at(
      ['approvers', 'create', 'alice', ...people],
      [
        ['new passphrase for alice', `${passphrase}\r`],
        ['the same again', `${passphrase}\r`],
      ],
    );
    expect(made).toMatchObject({ status: 0 });
    const { outcome } = await bench.call('stop_vm', { vmid: 100 }, agents);
    const id = outcome.request_id ?? '';
    expect(outcome.status).toBe('pending');

    const look = async (where: readonly string[]) => {
      const { screen, status } = await person.at(['approvals', 'show', id, ...where]);
      return { screen, status, code: /ott-[a-zA-Z0-9]{8}/.exec(screen)?.[0] };
    };
    const approve = ['approvals', 'approve', id, '--code'];
    expect(await look(agents)).toMatchObject({ status: 0, code: undefined, screen: expect.stringContaining('the role `admin`') });
    // The agents' own credentials do not even try a code, whoever read it.
    const { code = '' } = await look(people);
    const refused = await person.at([...approve, code, ...agents]);
    expect(refused).toMatchObject({ status: 1, screen: expect.stringContaining('the role `admin`') });
    expect((await bench.call('stop_vm', { vmid: 100 }, agents)).outcome.status).toBe('pending');

    const answered = await person.at([...approve, code, ...people], [['passphrase of approver alice', `${passphrase}\r`]]);
    expect(answered).toMatchObject({ status: 0, screen: expect.stringContaining('approved once') });
    expect((await bench.call('stop_vm', { vmid: 100 }, agents)).outcome).toMatchObject({ status: 'ok', request_id: id });
    expect((await bench.call('stop_vm', { vmid: 100 }, agents)).outcome.code).toBe('guest_already_stopped');

    const { stdout, status } = await bench.run(['audit', 'export', ...people]);
    expect(status).toBe(0);
    const file = join(bench.folder, 'shared.jsonl');
    writeFileSync(file, stdout);
    expect(JSON.parse((await bench.run(['audit', 'verify', file, '--json'])).stdout)).toMatchObject({ ok: true });
    writeFileSync(file, stdout.replace('stop_vm', 'stop_vn'));
    expect((await bench.run(['audit', 'verify', file])).status).toBe(1);
  });
});

describe('the trail over Valkey', () => {
  it('gives checkpoints, proofs and witnesses as the embedded one does, and shows whom it lacks records of', async () => {
    const people = machine('auditors', ['agent', 'admin', 'log-writer']);
    const [note, elsewhere, config] = ['first.note', 'elsewhere', 'witnesses.json'].map((name) => join(bench.folder, name)) as [
      string,
      string,
      string,
    ];
    writeFileSync(config, JSON.stringify({ ...bench.config, witnesses: [{ file: elsewhere }] }), { mode: 0o600 });
    const run = (...words: readonly string[]) => bench.run([...words, ...people, '--config', config]);
    await bench.call('list_nodes', {}, people);
    expect((await run('audit', 'checkpoint', '--output', note)).status).toBe(0);
    await bench.call('list_nodes', {}, people);
    expect(await run('audit', 'verify', '--since', note)).toMatchObject({
      status: 0,
      stdout: expect.stringContaining('goes on from the checkpoint'),
    });
    expect(await run('audit', 'witness')).toMatchObject({ status: 0, stdout: expect.stringContaining('ok') });

    const key = (await run('audit', 'key')).stdout.trim();
    const [newest] = (await run('audit', 'tail', '--count', '1', '--json')).stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { hash: string });
    const check = (proof: string) => {
      const file = join(bench.folder, 'proof.json');
      writeFileSync(file, proof);
      return spawnSync(process.execPath, [join(import.meta.dirname, '../../../docs/check-proof.mjs'), file, key], { encoding: 'utf8' });
    };
    const [one, extension] = [await run('audit', 'prove', newest?.hash ?? ''), await run('audit', 'prove', '--since', note)];
    expect([check(one.stdout).status, check(extension.stdout).status]).toEqual([0, 0]);
    const altered = JSON.parse(one.stdout) as { record: string };
    expect(check(JSON.stringify({ ...altered, record: altered.record.replace('"version":1', '"version":2') })).status).not.toBe(0);
    expect(await run('audit', 'tiles', join(bench.folder, 'tiles'))).toMatchObject({ status: 0 });

    const [oldest = ''] = await valkey.operator.zrange('molis:log:events', 0, 0);
    await valkey.operator.zrem('molis:log:events', oldest);
    expect((await run('audit', 'verify')).status).toBe(1);
    await valkey.operator.flushall();
    await bench.call('list_nodes', {}, people);
    expect(await run('audit', 'verify', '--since', note)).toMatchObject({ status: 1, stdout: expect.stringContaining('another trail') });
  });
});
