/**
 * A model that owns a terminal, every file of this user and the whole command line, and not the passphrase: it cannot approve. A request of
 * the real configuration is attacked again and again, and the call is made after each attempt.
 */
import { chmodSync, copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { generateApproverKey } from '#app/for-hosts';
import { writeKeyFile } from '#app/people/approver-key-file';
import { hashOneTimeCode } from '#app/people/one-time-codes';
import { sealKey } from '#approval/keys';
import { createApprover, grantFor } from '../stores/request-fixtures.ts';
import { banksman, type Person, passphrase, personAt } from './person.ts';
import { type Bench, startBench } from './support.ts';
import { quoted } from './terminal.ts';

// Every step is a process of its own, and slow cores run several suites at once.
vi.setConfig({ testTimeout: 240_000, hookTimeout: 60_000 });

const own = 'the model knows this one well';
let bench: Bench;
let person: Person;
let id: string;
beforeAll(async () => {
  bench = await startBench();
  person = personAt(bench);
  await person.createApprover('alice');
  id = (await bench.call('stop_vm', { vmid: 100 })).outcome.request_id ?? '';
  if (id === '') throw new Error('there is no request to attack');
});
/** The only thing that counts in the end. */
afterEach(async () => {
  const { outcome } = await bench.call('stop_vm', { vmid: 100 });
  if (outcome.status === 'ok') throw new Error('the call ran');
});
afterAll(async () => {
  const { outcome: seen } = await bench.call('get_vms', { filter: 'web' });
  await bench.close();
  if (!/"vmid":100[^}]*"status":"running"/.test(JSON.stringify(seen.result))) throw new Error('the guest was stopped');
});

/** A folder of its own, with an approver whose passphrase it knows. */
async function ownFolder(name: string): Promise<{ readonly config: string; readonly state: string; readonly env: NodeJS.ProcessEnv }> {
  const folder = join(bench.folder, name);
  const env = { HOME: folder, XDG_CONFIG_HOME: join(folder, 'config'), XDG_STATE_HOME: join(folder, 'state') };
  mkdirSync(folder);
  const made = await person.at(
    ['approvers', 'create', 'alice'],
    [
      ['new passphrase for alice', `${own}\r`],
      ['the same again', `${own}\r`],
    ],
    env,
  );
  expect(made.status).toBe(0);
  return { config: join(folder, 'config', 'banksman', 'config.json'), state: join(folder, 'state', 'banksman'), env };
}

describe('with a terminal and no passphrase', () => {
  it('nothing, a wrong one, and leaving are refused', async () => {
    const code = await person.codeOf(id);
    const tried = await person.at(
      ['approvals', 'approve', id, '--code', code],
      ['\r', `${own}\r`, `${passphrase}\u0020\r`].map((types) => ['passphrase of approver alice', types] as const),
    );
    expect(tried).toMatchObject({ status: 2, screen: expect.stringContaining('that was not alice’s passphrase') });
    const left = await person.at(['approvals', 'approve', id, '--code', await person.codeOf(id)], [['passphrase of', '\u0004']]);
    expect(left).toMatchObject({ status: 2, screen: expect.stringContaining('cancelled') });
  });

  it('no pipe, flag or variable takes the place of typing it, not even the right one', async () => {
    const words = ['approvals', 'approve', id, '--code', await person.codeOf(id)];
    const env = { BANKSMAN_PASSPHRASE: passphrase, BANKSMAN_TTY: '1', PASSPHRASE: passphrase, SSH_ASKPASS: '/bin/echo', CI: '' };
    const piped = await person.shell(`printf '%s\\n%s\\n' ${quoted(passphrase)} ${quoted(passphrase)} | ${banksman(words)}`, [], env);
    expect(piped).toMatchObject({ status: 2, screen: expect.stringContaining('needs a terminal') });
    expect(await bench.run(words, { stdin: `${passphrase}\n`, env })).toMatchObject({ status: 2, stdout: '' });
    // A new session has no controlling terminal, even where standard input still is one.
    expect(await person.shell(`setsid -w ${banksman(words)}`, [], env)).toMatchObject({ status: 2 });
    for (const flag of ['--passphrase', '--yes', '--force', '--confirmed', '--approve'])
      expect(await bench.run([...words, flag])).toMatchObject({ status: 1, stderr: expect.stringContaining(flag) });
    const asked = await person.at(words, [['passphrase of approver alice', '\u0003']], env);
    expect(asked).toMatchObject({ status: 2 });
  });

  it('no approver is made or revoked', async () => {
    const wrong = [1, 2, 3].map(() => ['passphrase of approver alice', `${own}\r`] as const);
    for (const words of [
      ['create', 'mallory'],
      ['revoke', 'alice'],
    ])
      expect(await person.at(['approvers', ...words], wrong)).toMatchObject({ status: 2 });
    expect(await bench.run(['approvers', 'create', 'mallory'], { stdin: `${own}\n${own}\n` })).toMatchObject({ status: 2 });
    expect(readdirSync(join(dirname(bench.machineFile), 'approver-keys'))).toEqual(['alice.json']);
    expect(readFileSync(bench.machineFile, 'utf8')).not.toContain('mallory');
  });

  it('neither the level nor a rule changes, and nothing that a person paused goes on', async () => {
    const wrong = [1, 2, 3].map(() => ['passphrase of approver alice', `${own}\r`] as const);
    for (const words of [
      ['level', 'set', 'relaxed'],
      ['auto-approve', 'set', 'tool:restart_service', 'allow'],
      ['resume'],
      ['plans', 'resume', 'req-00000000'],
    ]) {
      expect(await person.at(words, wrong)).toMatchObject({ status: 2 });
      expect(await bench.run(words, { stdin: `${passphrase}\n` })).toMatchObject({ status: 2, stdout: '' });
    }
    expect((await bench.run(['level', 'get'])).stdout).toBe('balanced\n');
    expect(JSON.parse((await bench.run(['auto-approve', 'list', '--json'])).stdout)).toEqual([]);
  });
});

describe('with files of its own', () => {
  it('a code that it filed itself is no passphrase', async () => {
    const { digest } = await storedRequest();
    await person.codeOf(id);
    const hashed = await hashOneTimeCode('ott-mallory1', { requestId: id, digest });
    const store = new DatabaseSync(join(bench.state, 'banksman.db'));
    store.prepare('UPDATE one_time_codes SET salt = ?, hash = ? WHERE request_id = ?').run(hashed.salt, hashed.hash, id);
    store.close();
    const tried = await person.at(['approvals', 'approve', id, '--code', 'ott-mallory1'], [['passphrase of', `\u0003`]]);
    expect(tried).toMatchObject({ status: 2, screen: expect.stringContaining('cancelled') });
  });

  it('a key file in place of the approver’s, or beside it, is worth nothing', async () => {
    const folder = join(dirname(bench.machineFile), 'approver-keys');
    copyFileSync(join(folder, 'alice.json'), join(bench.folder, 'alice.json'));
    const pair = generateApproverKey();
    const forged = await sealKey({ name: 'alice', pair, createdAt: new Date().toISOString() }, own);
    const words = async () => ['approvals', 'approve', id, '--code', await person.codeOf(id)];
    // Its own key, and its own key that says it is alice's.
    for (const publicKey of [pair.publicKey, (JSON.parse(readFileSync(bench.machineFile, 'utf8')) as Pins).approvers[0]?.key ?? '']) {
      writeFileSync(join(folder, 'alice.json'), JSON.stringify({ ...forged, publicKey }));
      const tried = await person.at(await words(), publicKey === pair.publicKey ? [] : [1, 2, 3].map(() => ['passphrase of', `${own}\r`]));
      expect(tried).toMatchObject({ status: 2 });
    }
    copyFileSync(join(bench.folder, 'alice.json'), join(folder, 'alice.json'));
    chmodSync(join(folder, 'alice.json'), 0o600);
    // Pinned in a configuration of its own, which it names.
    await writeKeyFile(folder, { ...forged, name: 'mallory' });
    const mallory = await sealKey({ name: 'eve', pair, createdAt: new Date().toISOString() }, own);
    await writeKeyFile(folder, mallory);
    const config = JSON.stringify({ ...bench.config, approvers: [{ name: 'eve', key: pair.publicKey }] });
    const tried = await person.at([...(await words()), '--as', 'eve', '--config', config]);
    expect(tried).toMatchObject({ status: 2, screen: expect.stringContaining('no pinned approver named `eve`') });
    const vouched = await person.at(['approvers', 'create', 'frank', '--as', 'eve', '--config', config]);
    expect(vouched).toMatchObject({ status: 2 });
  });

  it('an approver of another configuration does not count for this one', async () => {
    const { env, config, state } = await ownFolder('elsewhere');
    // There is no such request in a state of its own.
    expect(await person.at(['approvals', 'approve', id], [], env)).toMatchObject({ status: 1 });
    // With its own key over the real state it may spoil the request, and no more.
    const shown = await person.at(['approvals', 'show', id, '--state', bench.state], [], env);
    const code = /ott-[a-zA-Z0-9]{8}/.exec(shown.screen)?.[0] ?? '';
    await person.at(
      ['approvals', 'approve', id, '--state', bench.state, '--code', code],
      [['passphrase of approver alice', `${own}\r`]],
      env,
    );
    const { outcome } = await bench.call('stop_vm', { vmid: 100 });
    expect(outcome).toMatchObject({ code: 'untrusted_key' });
    // Nor does the real approver's key count there, or the real configuration lend it its pins.
    expect(await bench.call('stop_vm', { vmid: 100 }, ['--state', state])).toMatchObject({ status: 3 });
    expect(readFileSync(config, 'utf8')).not.toEqual(readFileSync(bench.machineFile, 'utf8'));
    expect(await person.at(['approvals', 'revoke', id])).toMatchObject({ status: 0 });
  });

  it('a row written into the store, with a grant signed by a key of its own, is no approval', async () => {
    const { outcome } = await bench.call('stop_vm', { vmid: 100 });
    id = outcome.request_id ?? '';
    const request = { ...(await storedRequest()), id, expiresAt: 0 };
    const mallory = createApprover('user:alice');
    const { signer } = mallory;
    const grant = await grantFor(request, mallory, Date.now());
    const pinned = (JSON.parse(readFileSync(bench.machineFile, 'utf8')) as Pins).approvers[0]?.key ?? '';
    const database = new DatabaseSync(join(bench.state, 'banksman.db'));
    const decision = { by: signer.approver, via: 'cli', at: Date.now() };
    const row = "UPDATE requests SET status = 'approved', approver = ?, decision = ?, grants = ?, due_at = ? WHERE id = ?";
    const written = database
      .prepare(row)
      .run(signer.approver, JSON.stringify(decision), JSON.stringify([grant]), grant.payload.expiresAt, id);
    expect(written.changes).toBe(1);
    database.close();
    expect((await bench.call('stop_vm', { vmid: 100 })).outcome).toMatchObject({ code: 'untrusted_key' });
    // The same, naming the pinned key.
    const { keyIdOf } = await import('#approval/keys');
    const again = new DatabaseSync(join(bench.state, 'banksman.db'));
    again.exec('DROP TRIGGER requests_fixed; DROP TRIGGER requests_edges; DROP TRIGGER requests_grants; DROP TRIGGER requests_approved');
    const renamed = { ...grant, proof: { ...grant.proof, keyId: keyIdOf(pinned) } };
    again.prepare('UPDATE requests SET grants = ? WHERE id = ?').run(JSON.stringify([renamed]), id);
    again.close();
    expect((await bench.call('stop_vm', { vmid: 100 })).outcome).toMatchObject({ code: 'bad_signature' });
  });
});

interface Pins {
  readonly approvers: readonly { readonly key: string }[];
}

async function storedRequest(): Promise<{ readonly digest: string }> {
  const database = new DatabaseSync(join(bench.state, 'banksman.db'), { readOnly: true });
  try {
    return database.prepare('SELECT digest FROM requests WHERE id = ?').get(id) as { digest: string };
  } finally {
    database.close();
  }
}
