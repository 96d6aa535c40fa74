/** What people read and set on the command line: requests, changes as they happen, level, rules, approvers, exports. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { generateApproverKey } from '#app/for-hosts';
import { type Person, passphrase, personAt } from './person.ts';
import { type Bench, cli, startBench } from './support.ts';

// Every step is a process of its own, and slow cores run several suites at once.
vi.setConfig({ testTimeout: 240_000, hookTimeout: 60_000 });

let bench: Bench;
let person: Person;
beforeAll(async () => {
  bench = await startBench();
  person = personAt(bench);
  await person.createApprover('alice');
});
afterAll(async () => {
  await bench.close();
});

const typed = [['passphrase of approver alice', `${passphrase}\r`]] as const;

async function pending(tool: string, input: object): Promise<string> {
  return (await bench.call(tool, input)).outcome.request_id ?? '';
}

describe('bad input is named', () => {
  it.each([
    [['approvals', 'show', 'req-00000000'], /there is no request `req-00000000`/],
    [['audit', 'export', '--output', '/nowhere/at/all'], /--output/],
    [['audit', 'verify', '/nowhere/at/all'], /cannot be read/],
  ] as const)('%j', async (words, message) => {
    const { status, stdout, stderr } = await bench.run(words);
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toMatch(message);
  });
});

describe('requests', () => {
  it('are listed, pending ones where nothing is said, and shown without a code where there is no terminal', async () => {
    const id = await pending('start_vm', { vmid: 101, reason: 'x\u001b[2J\u202e' });
    const rows = JSON.parse((await bench.run(['approvals', 'list', '--json'])).stdout) as Record<string, unknown>[];
    expect(rows).toEqual([expect.objectContaining({ request_id: id, status: 'pending', tool: 'start_vm', arguments: { vmid: 101 } })]);
    const { stdout } = await bench.run(['approvals', 'list']);
    expect(stdout).toContain(id);
    const shown = await bench.run(['approvals', 'show', id]);
    expect(shown).toMatchObject({
      status: 0,
      stdout: expect.stringContaining('Start VM 101'),
      stderr: expect.stringContaining('on a terminal only'),
    });
    for (const hidden of ['ott-', '\u001b', '\u202e']) expect(`${stdout}${shown.stdout}${shown.stderr}`).not.toContain(hidden);
    const json = JSON.parse((await bench.run(['approvals', 'show', id, '--json'])).stdout) as { card: { tampered: boolean } };
    expect(json).toMatchObject({ request_id: id, card: { tampered: false } });
    expect((await bench.run(['approvals', 'list', '--status', 'denied,consumed', '--json'])).stdout).toBe('[]\n');
    const found = async (search: string) => bench.run(['approvals', 'list', '--search', search]);
    expect((await found('START vm')).stdout).toContain(id);
    expect(await found('no such thing')).toMatchObject({ status: 0, stdout: '', stderr: expect.stringContaining('`no such thing` in it') });
  });

  it('that an agent reported never give away what was found, except at a terminal', async () => {
    const id = 'req-abcdef01';
    const { outcome } = await bench.call('report_block', {
      request_id: id,
      reason: 'credential_detected',
      destination: 'api.example.org',
      pattern: 'the-matched-thing',
    });
    expect(outcome.status).toBe('ok');
    for (const words of [
      ['list', '--all', '--json'],
      ['list', '--all'],
      ['show', id],
      ['show', id, '--json'],
    ]) {
      const { stdout, stderr } = await bench.run(['approvals', ...words]);
      expect(stdout).toContain(id);
      expect(stdout + stderr).not.toContain('the-matched-thing');
    }
    expect((await person.at(['approvals', 'show', id])).screen).toContain('the-matched-thing');
  });

  it('refuse an answer without a terminal, before anything is opened', async () => {
    for (const verb of ['approve', 'deny', 'revoke'])
      expect(await bench.run(['approvals', verb, 'req-00000000'])).toMatchObject({
        status: 2,
        stderr: expect.stringMatching(/needs a terminal/),
      });
  });

  it('are watched: each change as it happens, until Ctrl+C', async () => {
    const child = spawn(process.execPath, [cli, 'approvals', 'watch', '--json'], { env: bench.env, stdio: ['ignore', 'pipe', 'ignore'] });
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const next = async () => JSON.parse((await lines.next()).value ?? '{}') as { request_id: string; status: string };
    const seen = new Map<string, string>();
    const until = async (id: string, status: string) => {
      while (seen.get(id) !== status) {
        const line = await next();
        seen.set(line.request_id, line.status);
      }
    };
    const [known] = JSON.parse((await bench.run(['approvals', 'list', '--json'])).stdout) as { request_id: string }[];
    await until(known?.request_id ?? '', 'pending');
    const id = await pending('stop_container', { vmid: 200 });
    await until(id, 'pending');
    expect((await person.approve(id)).status).toBe(0);
    await until(id, 'approved');
    await bench.call('stop_container', { vmid: 200 });
    await until(id, 'consumed');
    child.kill('SIGINT');
    expect(await once(child, 'close')).toEqual([0, null]);
  });

  it.runIf(process.platform === 'linux')('are watched until nobody reads any more, also while nothing changes', async () => {
    const other = { ...bench.env, XDG_STATE_HOME: join(bench.folder, 'quiet') };
    const child = spawn('bash', ['-c', '"$0" "$1" approvals watch --json | true; echo "$PIPESTATUS"', process.execPath, cli], {
      env: other,
    });
    expect(await text(child.stdout)).toBe('1\n');
  });
});

describe('level and rules', () => {
  it('are set by an approver, for every process on the store', async () => {
    expect(await person.at(['level', 'set', 'strict'], typed)).toMatchObject({ status: 0 });
    expect(JSON.parse((await bench.run(['level', 'get', '--json'])).stdout)).toMatchObject({
      level: 'strict',
      from: 'store',
      by: 'user:alice',
    });
    // Yellow asks at strict; a rule lifts that for one tool.
    const service = { node: 'pve', service: 'nginx' };
    expect((await bench.call('restart_service', service)).outcome.status).toBe('pending');
    expect(await person.at(['auto-approve', 'set', 'tool:restart_service', 'allow', '--expires', '1h'], typed)).toMatchObject({
      status: 0,
    });
    const rules = JSON.parse((await bench.run(['auto-approve', 'list', '--json'])).stdout) as object[];
    expect(rules).toEqual([expect.objectContaining({ pattern: 'tool:restart_service', action: 'allow', by: 'user:alice' })]);
    expect((await bench.call('restart_service', service)).outcome.status).toBe('ok');
    expect(await person.at(['auto-approve', 'remove', 'tool:restart_service'], typed)).toMatchObject({ status: 0 });
    expect(await person.at(['auto-approve', 'remove', 'tool:restart_service'], typed)).toMatchObject({ status: 1 });
    expect(await person.at(['level', 'set', 'balanced'], typed)).toMatchObject({ status: 0 });
    expect((await bench.call('restart_service', service)).outcome.status).toBe('ok');
  });

  it('at level strict a disruptive call is approved with its target’s name and a code typed', async () => {
    await person.at(['level', 'set', 'strict'], typed);
    const id = await pending('stop_vm', { vmid: 100 });
    const code = await person.codeOf(id);
    const wrong = await person.at(['approvals', 'approve', id, '--code', code], [['type `', 'yes\r']]);
    expect(wrong).toMatchObject({ status: 2, screen: expect.stringContaining('stays pending') });
    const right = await person.at(
      ['approvals', 'approve', id, '--code', await person.codeOf(id)],
      [['` to approve it once', (screen) => `${/type `(web \w{4})`/.exec(screen)?.[1]}\r`], ...typed],
    );
    expect(right).toMatchObject({ status: 0, screen: expect.stringContaining('approved once') });
    expect((await bench.call('stop_vm', { vmid: 100 })).outcome).toMatchObject({ status: 'ok', request_id: id });
    await person.at(['level', 'set', 'balanced'], typed);
  });
});

describe('approvers', () => {
  it('need one another once there is one', async () => {
    expect(await person.createApprover('bob', 'alice')).toMatchObject({ status: 0, screen: expect.stringMatching(/vouch/) });
    const approve = ['approvals', 'approve', await pending('start_vm', { vmid: 101 }), '--code', 'ott-00000000'];
    expect(await person.at([...approve, '--as', 'alice'])).toMatchObject({ status: 2 });
    // Two have a key here: whose is to be said, before a code is looked at.
    expect(await person.at(approve)).toMatchObject({ status: 1, screen: expect.stringContaining('--as alice|bob') });
    expect(await person.at(['level', 'set', 'relaxed'])).toMatchObject({ status: 1, screen: expect.stringContaining('--as alice|bob') });
    expect(await person.at(['approvers', 'revoke', 'bob', '--as', 'alice'], typed)).toMatchObject({ status: 0 });
    expect((await bench.run(['approvers', 'list'])).stdout).toMatch(/^alice .*pinned, key on this machine\n$/);
    expect(await person.at(['approvers', 'revoke', 'bob', '--as', 'alice'])).toMatchObject({ status: 1 });
  });

  it('are made, listed, used and revoked in the file that `--config` names, and nowhere else', async () => {
    const folder = join(bench.folder, 'service');
    mkdirSync(folder, { mode: 0o700 });
    const file = join(folder, 'config.json');
    writeFileSync(file, JSON.stringify(bench.config), { mode: 0o600 });
    const before = readFileSync(bench.machineFile, 'utf8');
    const named = ['--config', file];
    const made = await person.at(
      ['approvers', 'create', 'dora', ...named],
      [
        ['new passphrase for dora', `${passphrase}\r`],
        ['the same again', `${passphrase}\r`],
      ],
    );
    expect(made).toMatchObject({ status: 0, screen: expect.stringContaining(`pinned in ${file}`) });
    expect(readFileSync(file, 'utf8')).toContain('"dora"');
    expect(readdirSync(join(folder, 'approver-keys'))).toEqual(['dora.json']);
    expect(readFileSync(bench.machineFile, 'utf8')).toBe(before);
    expect((await bench.run(['approvers', 'list', ...named])).stdout).toMatch(
      /^dora .*named configuration only, key.*\nalice .*pinned, key/,
    );
    expect((await bench.run(['approvers', 'list'])).stdout).not.toContain('dora');

    // What she approves runs where she is pinned.
    const call = ['--config', file];
    const id = (await bench.call('start_vm', { vmid: 101 }, call)).outcome.request_id ?? '';
    const words = ['approvals', 'approve', id, '--code', await person.codeOf(id), '--as', 'dora'];
    expect(await person.at(words)).toMatchObject({ status: 2, screen: expect.stringContaining('no pinned approver named `dora`') });
    const dora = [['passphrase of approver dora', `${passphrase}\r`]] as const;
    expect(await person.at([...words, ...named], dora)).toMatchObject({ status: 0 });
    expect((await bench.call('start_vm', { vmid: 101 }, call)).outcome).toMatchObject({ request_id: id, status: 'ok' });

    expect(await person.at(['approvers', 'revoke', 'alice', ...named, '--as', 'alice'])).toMatchObject({
      status: 1,
      screen: expect.stringContaining(`pinned in ${bench.machineFile}, not in ${file}`),
    });
    expect(await person.at(['approvers', 'revoke', 'dora', ...named, '--as', 'dora'], dora)).toMatchObject({ status: 0 });
    expect(readFileSync(file, 'utf8')).not.toContain('"dora"');
    expect(readdirSync(join(folder, 'approver-keys'))).toEqual([]);
  });

  it('where only an editor is pinned, a new one counts for nothing until a person pins it', async () => {
    const env = { XDG_CONFIG_HOME: join(bench.folder, 'editor-only') };
    const config = join(bench.folder, 'pinned.json');
    writeFileSync(config, JSON.stringify({ ...bench.config, approvers: [{ name: 'user:alice', key: generateApproverKey().publicKey }] }));
    const made = await person.at(
      ['approvers', 'create', 'carol', '--config', config],
      [
        ['new passphrase for carol', `${passphrase}\r`],
        ['the same again', `${passphrase}\r`],
      ],
      env,
    );
    expect(made).toMatchObject({ status: 3, screen: expect.stringMatching(/NOT pinned[\s\S]*by hand to `approvers`/) });
    expect(await person.at(['level', 'set', 'relaxed', '--config', config], [], env)).toMatchObject({
      status: 2,
      screen: expect.stringContaining('no approver who is pinned'),
    });
  });
});

describe('an export of the trail', () => {
  it('goes to a file of this user’s only, signed, and is checked without the store', async () => {
    const file = join(bench.folder, 'trail.jsonl');
    expect(await person.at(['audit', 'export', '--sign', '--output', file], typed)).toMatchObject({ status: 0 });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const verified = await bench.run(['audit', 'verify', file, '--json', '--state', join(bench.folder, 'no-state')]);
    expect(verified.status).toBe(0);
    expect(JSON.parse(verified.stdout)).toMatchObject({ ok: true, signed_by: { approver: 'user:alice', trusted: true } });
    writeFileSync(file, readFileSync(file, 'utf8').replace('stop_container', 'stop_contained'));
    const broken = await bench.run(['audit', 'verify', file]);
    expect(broken).toMatchObject({ status: 1, stdout: expect.stringMatching(/^BROKEN: record \d+ was altered/) });
    expect(await bench.run(['audit', 'export', '--output', file])).toMatchObject({ status: 1, stderr: expect.stringContaining('exist') });
    expect(await bench.run(['audit', 'export', '--sign'])).toMatchObject({ status: 2, stdout: '' });
  });

  it('goes to standard output, and stops quietly when nobody reads it', async () => {
    const { stdout, status } = await bench.run(['audit', 'export']);
    expect(status).toBe(0);
    const lines = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { records?: number });
    expect(lines.at(-1)?.records).toBe(lines.length - 1);
    const piped = await person.shell(`${process.execPath} ${cli} audit export 2>&1 >/dev/full | cat`);
    expect(piped.screen).toContain('standard output');
    expect(piped.screen).not.toMatch(/\n\s+at /);
  });
});
