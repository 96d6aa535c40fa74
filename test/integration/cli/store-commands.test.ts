/** `banksman store`: a backup, putting it back, and a person who accepts what `doctor` misses. */
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, rmdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Person, personAt } from './person.ts';
import { type Bench, startBench } from './support.ts';

let bench: Bench;
let person: Person;
beforeAll(async () => {
  bench = await startBench();
  person = personAt(bench);
}, 120_000);
afterAll(() => bench.close());

async function records(): Promise<readonly { readonly sequence: number; readonly name: string; readonly attributes: object }[]> {
  const { stdout } = await bench.run(['audit', 'tail', '--count', '1000', '--json']);
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
}

/** What `doctor` says of the trail. */
async function trail(): Promise<{ readonly state: string; readonly message: string } | undefined> {
  const { stdout } = await bench.run(['doctor', '--json']);
  const findings = JSON.parse(stdout) as { readonly topic: string; readonly state: string; readonly message: string }[];
  return findings.find(({ topic }) => topic === 'audit');
}

it('is backed up, lost, missed, and put back by a person at a terminal', async () => {
  const backup = join(bench.folder, 'backup.db');
  for (let calls = 0; calls < 3; calls += 1) await bench.call('get_cluster_status');
  const made = await bench.run(['store', 'backup', backup, '--json']);
  expect(made).toMatchObject({ status: 0, stderr: '' });
  const { head } = JSON.parse(made.stdout) as { readonly head: { readonly sequence: number; readonly hash: string } };
  expect(await bench.run(['store', 'backup', backup])).toMatchObject({ status: 1, stderr: expect.stringContaining('not written over') });
  expect(await trail()).toMatchObject({ state: 'ok' });
  const state = join(bench.state);
  for (const name of readdirSync(state)) if (name.startsWith('banksman.db')) rmSync(join(state, name));
  const { stderr } = await bench.call('get_cluster_status');
  expect(stderr).toContain('this is not the trail that was here');
  expect(await trail()).toMatchObject({ state: 'failed', message: expect.stringContaining('not the trail that was here') });
  expect((await records())[0]).toMatchObject({ name: 'store.changed', attributes: { change: 'began_anew' } });

  expect(await bench.run(['store', 'restore', backup], { stdin: 'restore\n' })).toMatchObject({ status: 2 });
  const no = await person.at(['store', 'restore', backup], [['to go on', 'no\r']]);
  expect(no.status).toBe(2);
  expect(await trail()).toMatchObject({ state: 'failed' });
  const yes = await person.at(['store', 'restore', backup], [['to go on', 'restore\r']]);
  expect(yes).toMatchObject({ status: 0, screen: expect.stringContaining('is set aside') });
  expect(yes.screen).not.toContain('\\n');
  const restored = (await records()).find(({ sequence }) => sequence === head.sequence + 1);
  expect(restored).toMatchObject({ name: 'store.changed', attributes: { change: 'restored', to: head } });
  expect(await trail()).toMatchObject({ state: 'ok' });
  expect(readdirSync(state).some((name) => name.startsWith('banksman.db.before-'))).toBe(true);
}, 180_000);

it('that was deleted is accepted by a person at a terminal, and only there', async () => {
  await bench.call('get_cluster_status');
  for (const name of readdirSync(bench.state)) if (name.startsWith('banksman.db')) rmSync(join(bench.state, name));
  expect(await trail()).toMatchObject({ state: 'failed' });
  expect(await bench.run(['store', 'accept'], { stdin: 'accept\n' })).toMatchObject({ status: 2 });
  expect(await person.at(['store', 'accept'], [['to go on', 'accept\r']])).toMatchObject({ status: 0 });
  expect(await trail()).toMatchObject({ state: 'ok' });
  // With what it says where it asks once more.
  expect(await bench.run(['store', 'accept'])).toEqual({ status: 0, stdout: expect.stringContaining('nothing to accept'), stderr: '' });
  expect(existsSync(join(bench.state, 'banksman.db'))).toBe(true);
}, 180_000);

it.runIf(process.getuid?.() === 0)(
  'that root accepts for a service counts for root and for the service',
  async () => {
    const service = { uid: 54_321, gid: 54_321 };
    // As /etc/banksman is: the service reads its configuration.
    mkdirSync(dirname(bench.machineFile), { recursive: true });
    for (const folder of [bench.folder, dirname(dirname(bench.machineFile)), dirname(bench.machineFile)]) chmodSync(folder, 0o755);
    const own = () => execFileSync('chown', ['-R', `${service.uid}:${service.gid}`, dirname(bench.state)]);
    await bench.call('get_cluster_status');
    own();
    expect(await trail()).toMatchObject({ state: 'ok' });
    for (const name of readdirSync(bench.state)) if (name.startsWith('banksman.db')) rmSync(join(bench.state, name));
    expect(await trail()).toMatchObject({ state: 'failed' });
    own();
    const accepted = await person.at(['store', 'accept'], [['to go on', 'accept\r']]);
    expect(accepted).toMatchObject({ status: 0, screen: expect.stringContaining('accepted, and written down') });
    expect(await trail()).toMatchObject({ state: 'ok' });
    for (const name of readdirSync(bench.state)) expect(statSync(join(bench.state, name))).toMatchObject(service);
    await rootBeside(service);
  },
  180_000,
);

/** Owners of all that lies in the service's folder. */
function owners(): readonly string[] {
  const out = execFileSync('find', [bench.state, '-printf', '%U %P\n'], { encoding: 'utf8' });
  return out.split('\n').filter((line) => line !== '');
}

async function rootBeside({ uid }: { readonly uid: number }): Promise<void> {
  const isOurs = (lines: readonly string[]) => expect(lines.filter((line) => !line.startsWith(`${uid} `))).toEqual([]);
  const backup = join(bench.folder, 'of-root', 'backup.db');
  mkdirSync(dirname(backup), { mode: 0o700 });
  expect(await bench.run(['store', 'backup', backup])).toMatchObject({ status: 0, stderr: '' });
  expect(await bench.run(['audit', 'checkpoint'])).toMatchObject({ status: 0, stdout: expect.stringContaining('banksman') });
  expect(await bench.run(['audit', 'checkpoint'])).toMatchObject({ status: 0 });
  isOurs(owners());

  for (const name of readdirSync(bench.state)) if (name.startsWith('banksman.db')) rmSync(join(bench.state, name));
  // As root's `doctor` left it once.
  mkdirSync(join(bench.state, 'x; id # root-made'));
  const before = owners();
  const missing = `there is no store at ${join(bench.state, 'banksman.db')}`;
  const { stdout } = await bench.run(['doctor', '--json']);
  const findings = JSON.parse(stdout) as { readonly topic: string; readonly state: string; readonly message: string }[];
  expect(findings).toContainEqual(expect.objectContaining({ topic: 'store', state: 'failed', message: missing }));
  expect(findings).toContainEqual(expect.objectContaining({ topic: 'audit', message: expect.stringContaining('it is empty now') }));
  expect(findings.map(({ message }) => message).join()).not.toContain('belongs to another user');
  expect(findings).toContainEqual(
    expect.objectContaining({
      ...{ topic: 'state', message: expect.stringMatching(/belong to root.*: x; id # root-made$/) },
      // Pasted by root, and the names are that user's.
      remedy: expect.stringMatching(/^chown -R \d+:\d+ \S+$/),
    }),
  );
  const elsewhere = join(bench.state, 'not-there-yet');
  expect((await bench.run(['doctor', '--state', elsewhere])).stderr).not.toContain('internal error');
  expect(existsSync(elsewhere)).toBe(false);
  const lookers = ['approvals list', 'audit verify', 'runs list', 'config show', 'policy explain get_vms', 'audit export'];
  const said = await Promise.all(
    [...lookers, `store backup ${join(bench.folder, 'other.db')}`].map((words) => bench.run(words.split(' '))),
  );
  expect(said.map(({ stderr }) => stderr).filter((text) => !/there is no (?:store at|such file)/.test(text))).toEqual([]);
  expect(await bench.run(['sandbox', 'stats'])).toMatchObject({ status: 0 });
  expect(owners()).toEqual(before);
  rmdirSync(join(bench.state, 'x; id # root-made'));

  // What changes something makes a store that the service's own user can write.
  expect(await bench.run(['pause'])).toMatchObject({ status: 0 });
  expect(await bench.call('get_vms')).toMatchObject({ outcome: { code: 'ok' } });
  isOurs(owners());
  expect(await person.at(['store', 'restore', backup], [['to go on', 'restore\r']])).toMatchObject({ status: 0 });
  expect(await trail()).toMatchObject({ state: 'ok' });
  isOurs(owners());
  rmSync(join(bench.state, 'banksman.db'));
  writeFileSync(join(bench.state, 'banksman.db'), '');
  expect((await bench.run(['doctor'])).stderr).toMatch(/belongs to another user than its folder[\s\S]*chown/);
}
