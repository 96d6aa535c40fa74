/** A person approves at a terminal, and the call they saw runs once. */
import { readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { banksman, type Person, passphrase, personAt } from './person.ts';
import { type Bench, startBench } from './support.ts';
import { quoted } from './terminal.ts';

// Every step is a process of its own, and slow cores run several suites at once.
vi.setConfig({ testTimeout: 240_000, hookTimeout: 60_000 });

let bench: Bench;
let person: Person;
beforeAll(async () => {
  bench = await startBench();
  person = personAt(bench);
});
afterAll(async () => {
  await bench.close();
});

/** How often the cluster itself was told to do this to a guest. */
async function tasksOf(type: string, vmid: number): Promise<number> {
  const { outcome } = await bench.call('get_recent_tasks', { limit: 100 });
  const { tasks } = outcome.result as { tasks: { type: string; id: string }[] };
  return tasks.filter((task) => task.type === type && task.id === String(vmid)).length;
}

describe('approving', () => {
  it('from the first approver to the one run', async () => {
    const created = await person.createApprover('alice');
    expect(created).toMatchObject({ status: 0, screen: expect.stringMatching(/FIRST approver[\s\S]*pinned in .*config\.json/) });
    const before = await tasksOf('qmreboot', 100);
    const { status, outcome } = await bench.call('restart_vm', { vmid: 100 });
    expect({ status, outcome }).toMatchObject({ status: 3, outcome: { status: 'pending', request_id: expect.any(String) } });
    const id = outcome.request_id ?? '';

    const shown = await person.at(['approvals', 'show', id]);
    expect(shown).toMatchObject({
      status: 0,
      screen: expect.stringMatching(/Restart VM 100 \(web\) on pve\?[\s\S]*one-time code: ott-\w{8} /),
    });
    const approved = await person.approve(id);
    expect(approved).toMatchObject({ status: 0, screen: expect.stringContaining(`approved once: Restart VM 100 (web) on pve (${id})`) });
    for (const { screen } of [created, approved]) expect(screen).not.toContain(passphrase.slice(0, 5));

    // The approval is for these arguments and no others, and for one run.
    expect(await bench.call('start_vm', { vmid: 101 })).toMatchObject({ status: 3 });
    expect(await bench.call('restart_vm', { vmid: 100 })).toMatchObject({ status: 0, outcome: { status: 'ok', request_id: id } });
    expect(await bench.call('restart_vm', { vmid: 100 })).toMatchObject({ status: 3, outcome: { status: 'pending' } });
    expect(await tasksOf('qmreboot', 100)).toBe(before + 1);

    const trail = (await bench.run(['audit', 'tail', '--json'])).stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Entry);
    expect(trail.find(({ name }) => name === 'approver.trusted')?.attributes).toMatchObject({ approver: 'alice', via: 'cli', first: true });
    expect(trail.find(({ name, attributes }) => name === 'approval.approved' && attributes['request_id'] === id)).toBeDefined();
    expect((await bench.run(['audit', 'verify'])).status).toBe(0);
  });

  it('leaves the key in a file of this user’s only, and nothing of it in the open', () => {
    const folder = join(dirname(bench.machineFile), 'approver-keys');
    const file = join(folder, 'alice.json');
    expect([folder, file, bench.machineFile].map((place) => statSync(place).mode & 0o777)).toEqual([0o700, 0o600, 0o600]);
    expect(readFileSync(file, 'utf8')).not.toMatch(/ed25519-private|correct horse/);
    const { approvers } = JSON.parse(readFileSync(bench.machineFile, 'utf8')) as { approvers: unknown };
    const { publicKey } = JSON.parse(readFileSync(file, 'utf8')) as { publicKey: string };
    expect(approvers).toEqual([{ name: 'alice', key: publicKey, kind: 'terminal' }]);
  });

  it('takes the code on the command line, too, and a second try at the passphrase', async () => {
    const id = await pending(200);
    const code = await person.codeOf(id);
    const approved = await person.at(
      ['approvals', 'approve', id, '--code', code, '--json'],
      [
        ['passphrase of approver', 'correct horse battery stable\r'],
        ['that is not the passphrase', `correct horse battery stable\u007f\u007f\u007f\u007f\u007fle\u0015${passphrase}\r`],
      ],
    );
    expect(approved.status).toBe(0);
    expect(approved.screen).toContain(`"code":"approved","message":"approved once`);
    expect((await bench.call('restart_container', { vmid: 200 })).outcome.status).toBe('ok');
  });

  it('uses a code once, and only the latest one', async () => {
    const id = await pending(201);
    const first = await person.codeOf(id);
    const second = await person.codeOf(id);
    expect(await person.at(['approvals', 'approve', id, '--code', first])).toMatchObject({
      status: 2,
      screen: expect.stringContaining('4 tries left'),
    });
    // The code is used up before the passphrase is asked for.
    expect(await person.at(['approvals', 'approve', id, '--code', second], [['passphrase of', '\u0003']])).toMatchObject({ status: 2 });
    expect(await person.at(['approvals', 'approve', id, '--code', second])).toMatchObject({
      status: 2,
      screen: expect.stringContaining('there is no one-time code'),
    });
    expect((await bench.call('restart_container', { vmid: 201 })).outcome).toMatchObject({ status: 'pending', request_id: id });
  });

  it('consumes no code where nobody could sign with it', async () => {
    const id = await pending(201);
    const code = await person.codeOf(id);
    // Another configuration folder: nobody is pinned there.
    const elsewhere = { XDG_CONFIG_HOME: join(bench.folder, 'nobody') };
    expect(await person.at(['approvals', 'approve', id, '--code', code], [], elsewhere)).toMatchObject({
      status: 2,
      screen: expect.stringContaining('no approver who is pinned'),
    });
    expect(await person.at(['approvals', 'approve', id, '--code', code, '--as', 'nobody'])).toMatchObject({ status: 2 });
    const answered = await person.at(['approvals', 'approve', id, '--code', code], [['passphrase of', '\u0003']]);
    expect(answered.screen).toContain('passphrase of approver alice');
  });

  it('names the command that goes on, with the same configuration, state and store', async () => {
    const state = join(bench.folder, "it's another state");
    const { outcome } = await bench.call('restart_container', { vmid: 201 }, ['--state', state]);
    const id = outcome.request_id ?? '';
    const places = ['--config', bench.configFile, '--state', state];
    const { screen } = await person.at(['approvals', 'show', id, ...places]);
    const hint = /approve it: +banksman (.*)/.exec(screen)?.[1] ?? '';
    // As a shell takes it.
    const approved = await person.shell(`${banksman([])} ${hint}`, [
      ['one-time code (', `${/one-time code: (ott-\w{8})/.exec(screen)?.[1]}\r`],
      ['passphrase of approver', `${passphrase}\r`],
    ]);
    expect(approved.status).toBe(0);
    // The command line runs nothing itself, and says so; around midnight with the day.
    expect(approved.screen).toMatch(
      /approved once: .*; no call waits for it: the agent may run it until (?:\w+ \d+, )?\d\d:\d\d:\d\d, when it asks again/,
    );
    expect((await bench.call('restart_container', { vmid: 201 }, ['--state', state])).outcome).toMatchObject({
      status: 'ok',
      request_id: id,
    });
  });

  it('gives up a code after five wrong ones', async () => {
    const id = await pending(201);
    const code = await person.codeOf(id);
    for (const left of ['4 tries', '3 tries', '2 tries', '1 try'])
      expect((await person.at(['approvals', 'approve', id, '--code', 'ott-00000000'])).screen).toContain(`${left} left`);
    expect((await person.at(['approvals', 'approve', id, '--code', 'rubbish'])).screen).toContain('void');
    expect((await person.at(['approvals', 'approve', id, '--code', code])).screen).toContain('there is no one-time code');
  });

  it('takes an approval back before it is used', async () => {
    const id = await pending(201);
    expect((await person.approve(id)).status).toBe(0);
    expect(await person.at(['approvals', 'revoke', id, '--message', 'wrong one'])).toMatchObject({ status: 0 });
    const again = (await bench.call('restart_container', { vmid: 201 })).outcome;
    expect(again.status).not.toBe('ok');
    expect(again.request_id).not.toBe(id);
    expect(await person.at(['approvals', 'revoke', id])).toMatchObject({ status: 2 });
  });

  it('denies with a message that reaches the model', async () => {
    const { outcome } = await bench.call('start_vm', { vmid: 101 });
    const id = outcome.request_id ?? '';
    expect(await person.at(['approvals', 'deny', id, '--message', 'backup is running until nine'])).toMatchObject({ status: 0 });
    const check = await bench.call('check_request_status', { request_id: id });
    expect(JSON.stringify(check.outcome)).toContain('backup is running until nine');
    expect(await person.at(['approvals', 'deny', id])).toMatchObject({ status: 2, screen: expect.stringContaining('already denied') });
  });

  it('says what a decided request was, gives no code for it, and asks for no passphrase', async () => {
    const decided = JSON.parse((await bench.run(['approvals', 'list', '--status', 'denied', '--json'])).stdout) as { request_id: string }[];
    const shown = await person.at(['approvals', 'show', decided[0]?.request_id ?? '']);
    expect(shown.status).toBe(0);
    expect(shown.screen).not.toContain('ott-');
    const late = await person.at(['approvals', 'approve', decided[0]?.request_id ?? '']);
    expect(late).toMatchObject({ status: 2, screen: expect.stringContaining('already denied') });
    expect(late.screen).not.toContain('passphrase');
  });

  it('leaves the terminal as it was, however it ends', async () => {
    const note = join(bench.folder, 'pid');
    const line = `sh -c ${quoted(`echo $$ > ${quoted(note)}; exec ${banksman(['approvers', 'create', 'zoe'])}`)}; echo "status $?"; stty -a`;
    const cancelled = await person.shell(line, [['passphrase of approver', 'half of\u0003']]);
    const stopped = await person.shell(line, [['passphrase of approver', () => process.kill(Number(readFileSync(note, 'utf8')))]]);
    for (const { screen } of [cancelled, stopped])
      expect(screen).toMatch(/cancelled; nothing was changed[\s\S]*status 2[\s\S]* icanon[\s\S]* echo /);
  });
});

interface Entry {
  readonly name: string;
  readonly attributes: Readonly<Record<string, unknown>>;
}

async function pending(vmid: number): Promise<string> {
  const { outcome } = await bench.call('restart_container', { vmid });
  expect(outcome.status).toBe('pending');
  return outcome.request_id ?? '';
}
