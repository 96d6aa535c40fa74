/** The agents' own sandboxes: whose files are whose, how much, and for how long. */
import { existsSync, mkdirSync, readdirSync, statSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { personaControl } from '#app/workspace/open-workspace';
import { chargeOf, cleanSandboxes, personaLifeMs, startCleaning } from '#connectors/persona-sandbox/persona-sandboxes';
import { startChild } from '../stores/child-process.ts';
import { createFakeClock } from '../stores/store-fixtures.ts';
import { codeOf, never, openTestWorkspace, required, type TestWorkspace } from './support.ts';

const as = (agentId: string, { files }: TestWorkspace) => ({
  read: async (name: string) => (await files.read(name, {}, { agentId }, never)).text,
  write: (name: string, content: string) => files.write(name, content, { createDirs: true }, { agentId }),
  list: async (name: string) => (await files.list(name, { recursive: true }, { agentId }, never)).entries.map((entry) => entry.path),
});

const directories = ({ personas }: TestWorkspace) => readdirSync(personas).filter((name) => !name.startsWith('.'));
const smallest = { bytes: chargeOf(1) * 4, files: 4 };

describe('an agent’s own sandbox', () => {
  it('is made at the first write, and is `/tmp` to its agent', async () => {
    const workspace = await openTestWorkspace();
    const alice = as('mcp:alice', workspace);
    expect(await codeOf(alice.read('/tmp/notes.txt'))).toBe('FILE_NOT_FOUND');
    expect(await codeOf(alice.list('/tmp'))).toBe('FILE_NOT_FOUND');
    expect(directories(workspace)).toEqual([]);
    expect(await alice.write('/tmp/deep/notes.txt', 'hers')).toEqual({ path: '/tmp/deep/notes.txt', bytes: 4, created: true });
    expect(await alice.read('/tmp//deep/./notes.txt')).toBe('hers');
    expect(await alice.list('/tmp')).toEqual(['/tmp/deep', '/tmp/deep/notes.txt']);
    expect(readdirSync(workspace.root)).toEqual([]);
    const [directory = ''] = directories(workspace);
    expect(directory).toMatch(/^[0-9a-f]{32}$/);
    expect(statSync(path.join(workspace.personas, directory)).mode & 0o777).toBe(0o700);
  });

  it('is nobody else’s, and no way leads out of it', async () => {
    const workspace = await openTestWorkspace();
    const [alice, bob] = [as('mcp:alice', workspace), as('mcp:alic', workspace)];
    await alice.write('/tmp/a', 'hers');
    await bob.write('/tmp/b', 'his');
    expect(await codeOf(bob.read('/tmp/a'))).toBe('FILE_NOT_FOUND');
    const [first = '', second = ''] = directories(workspace);
    for (const name of [
      `/tmp/../${first}/a`,
      `/tmp/../${second}/a`,
      '/tmp/../etc/passwd',
      '/tmp/x/../../etc/passwd',
      '../state/personas',
      '/tmpx',
      '/tmp\\x',
    ]) {
      expect(await codeOf(bob.read(name)), name).not.toBe('none');
    }
    expect(await codeOf(bob.read('/tmp/../etc/passwd'))).toBe('PATH_OUTSIDE_WORKSPACE');
    for (const directory of [first, second]) symlinkSync('/etc', path.join(workspace.personas, directory, 'out'));
    expect(await codeOf(bob.read('/tmp/out/passwd'))).toBe('SYMLINK_OUTSIDE_WORKSPACE');
    expect(await codeOf(bob.write('/tmp/out/x', 'x'))).toBe('SYMLINK_OUTSIDE_WORKSPACE');
  });

  it('keeps strange agent ids apart', async () => {
    const workspace = await openTestWorkspace();
    const ids = ['../x', '..', '', 'a/b', 'a%2fb', 'A/B', '\u00fc', 'u\u0308', "'; DROP TABLE personas; --", 'x'.repeat(5_000)];
    for (const [index, id] of ids.entries()) await as(id, workspace).write('/tmp/who', `${index}`);
    for (const [index, id] of ids.entries()) expect(await as(id, workspace).read('/tmp/who')).toBe(`${index}`);
    expect(directories(workspace)).toHaveLength(ids.length);
  });

  it('serves 500 agents', async () => {
    const workspace = await openTestWorkspace();
    const agents = Array.from({ length: 500 }, (_, index) => `chat:${index}`);
    await Promise.all(agents.map((id) => as(id, workspace).write('/tmp/mine', id)));
    expect(await Promise.all(agents.map((id) => as(id, workspace).read('/tmp/mine')))).toEqual(agents);
    expect(await workspace.ledger.list()).toHaveLength(500);
  });
});

describe('its quota', () => {
  it('counts blocks and files, and what is overwritten only once', async () => {
    const workspace = await openTestWorkspace({ limits: smallest });
    const alice = as('mcp:alice', workspace);
    for (const name of ['a', 'b', 'c']) await alice.write(`/tmp/${name}`, '');
    await alice.write('/tmp/a', 'x'.repeat(8_000));
    expect(await codeOf(alice.write('/tmp/d', ''))).toBe('QUOTA_EXCEEDED');
    expect(await codeOf(alice.write('/tmp/b', 'x'.repeat(4_097)))).toBe('QUOTA_EXCEEDED');
    expect(await alice.list('/tmp')).toEqual(['/tmp/a', '/tmp/b', '/tmp/c']);
    await alice.write('/tmp/a', '');
    await alice.write('/tmp/d', '');
    expect(await codeOf(alice.write('/tmp/e', ''))).toBe('QUOTA_EXCEEDED');
    expect(await workspace.ledger.find('mcp:alice')).toMatchObject({ bytes: 4 * 4_096, files: 4 });
    expect(await codeOf(alice.write(`/tmp/${'x/'.repeat(20)}y`, ''))).toBe('PATH_TOO_DEEP');
  });

  it('is 100 MB by default', async () => {
    const workspace = await openTestWorkspace();
    const alice = as('mcp:alice', workspace);
    const half = 'x'.repeat(45 * 1024 * 1024);
    await alice.write('/tmp/a', half);
    await alice.write('/tmp/b', half);
    expect(await codeOf(alice.write('/tmp/c', half))).toBe('QUOTA_EXCEEDED');
    expect(await alice.list('/tmp')).toEqual(['/tmp/a', '/tmp/b']);
  });

  it('holds for many writes at once, and failed ones cost nothing', async () => {
    const workspace = await openTestWorkspace({ limits: smallest });
    const alice = as('mcp:alice', workspace);
    const codes = await Promise.all(Array.from({ length: 20 }, (_, index) => codeOf(alice.write(`/tmp/${index}`, 'x'))));
    expect(codes.filter((code) => code === 'none')).toHaveLength(4);
    expect(codes.filter((code) => code === 'QUOTA_EXCEEDED')).toHaveLength(16);
    expect(await alice.list('/tmp')).toHaveLength(4);
    const [kept = ''] = await alice.list('/tmp');
    // The name of a directory: the write fails after the reservation.
    await codeOf(alice.write(`${kept}/below`, 'x'));
    expect(await workspace.ledger.find('mcp:alice')).toMatchObject({ files: 4 });
  });

  it('holds across processes', async () => {
    const workspace = await openTestWorkspace();
    const children = [1, 2, 3, 4].map((number) => startChild('../../workspace/children/fill-persona', [workspace.base, `${number}`]));
    for (const child of children) expect(await child.line()).toBe('ready');
    for (const child of children) child.send('go');
    const written = await Promise.all(children.map(async (child) => Number(await child.line())));
    expect(written.reduce((sum, number) => sum + number, 0)).toBe(25);
    expect(await as('mcp:shared', workspace).list('/tmp')).toHaveLength(25);
  });

  it('forgets reservations of a process that died once it has looked at the disk', async () => {
    const clock = createFakeClock();
    const workspace = await openTestWorkspace({ limits: smallest, clock });
    const alice = as('mcp:alice', workspace);
    await alice.write('/tmp/a', 'x');
    const account = required(await workspace.ledger.find('mcp:alice'));
    await workspace.ledger.reserve(account, { path: 'lost', bytes: 3 * 4_096 }, smallest);
    expect(await codeOf(alice.write('/tmp/b', 'x'))).toBe('QUOTA_EXCEEDED');
    clock.advance(20 * 60_000);
    expect(await codeOf(alice.write('/tmp/b', 'x'))).toBe('none');
    expect(await workspace.ledger.find('mcp:alice')).toMatchObject({ bytes: 2 * 4_096, files: 2 });
  });

  it('counts what came in another way once it has looked at the disk', async () => {
    const workspace = await openTestWorkspace();
    await as('mcp:alice', workspace).write('/tmp/a', 'x');
    const [directory = ''] = directories(workspace);
    writeFileSync(path.join(workspace.personas, directory, 'other'), 'x'.repeat(10_000));
    writeFileSync(path.join(workspace.personas, directory, 'sparse'), '');
    truncateSync(path.join(workspace.personas, directory, 'sparse'), 2 ** 30);
    const [account] = await personaControl(workspace.personas, workspace.ledger).stats();
    expect(account).toMatchObject({ agentId: 'mcp:alice', files: 3, bytes: 2 ** 30 + 4_096 + 12_288 });
  });
});

describe('cleaning', () => {
  it('removes what nobody used for a day, by the account and not by dates of files', async () => {
    const clock = createFakeClock();
    const workspace = await openTestWorkspace({ clock });
    const [old, busy] = [as('mcp:old', workspace), as('mcp:busy', workspace)];
    await old.write('/tmp/a', 'x');
    await busy.write('/tmp/b', 'x');
    clock.advance(personaLifeMs - 60_000);
    expect(await busy.read('/tmp/b')).toBe('x');
    clock.advance(120_000);
    expect(await cleanSandboxes({ base: workspace.personas, ledger: workspace.ledger, before: clock.now() - personaLifeMs })).toEqual({
      sandboxes: 1,
      bytes: 4_096,
    });
    expect(await codeOf(old.read('/tmp/a'))).toBe('FILE_NOT_FOUND');
    expect(await busy.read('/tmp/b')).toBe('x');
    expect(directories(workspace)).toHaveLength(1);
    expect(readdirSync(path.join(workspace.personas, '.trash'))).toEqual([]);
    await old.write('/tmp/c', 'new');
    expect(await old.list('/tmp')).toEqual(['/tmp/c']);
  });

  it('may be done by several at once while others write, and loses nothing that is new', async () => {
    const clock = createFakeClock();
    const workspace = await openTestWorkspace({ clock });
    const agents = Array.from({ length: 20 }, (_, index) => as(`chat:${index}`, workspace));
    await Promise.all(agents.map((agent) => agent.write('/tmp/old', 'x')));
    clock.advance(personaLifeMs + 60_000);
    const { ledger, personas: base } = workspace;
    const clean = () => cleanSandboxes({ base, ledger, before: clock.now() - personaLifeMs });
    const writes = agents.map(async (agent, index) => {
      // Some before the cleaning, some in the middle of it.
      for (let turns = 0; turns < index; turns += 1) await new Promise(setImmediate);
      await agent.write('/tmp/new', 'x');
    });
    await Promise.all([clean(), clean(), clean(), ...writes]);
    for (const agent of agents) expect(await agent.read('/tmp/new')).toBe('x');
    expect(directories(workspace).toSorted()).toEqual((await ledger.list()).map((account) => account.directory).toSorted());
  });

  it('takes each account once, however many ask', async () => {
    const workspace = await openTestWorkspace();
    await Promise.all(Array.from({ length: 10 }, (_, index) => workspace.ledger.open(`chat:${index}`, `${index}`.padStart(32, '0'))));
    const taken = await Promise.all(Array.from({ length: 5 }, () => workspace.ledger.takeUnused(Date.now() + 1)));
    expect(
      taken
        .flat()
        .map((account) => account.agentId)
        .toSorted(),
    ).toEqual(Array.from({ length: 10 }, (_, index) => `chat:${index}`));
  });

  it('refuses a write whose account was taken away meanwhile, and the next one gets a new directory', async () => {
    const workspace = await openTestWorkspace();
    const account = await workspace.ledger.open('mcp:alice', '0'.repeat(32));
    await workspace.ledger.takeUnused(Date.now() + 1);
    const limits = { bytes: 1e6, files: 10 };
    expect(await workspace.ledger.reserve(account, { path: 'a', bytes: 1 }, limits)).toMatchObject({ ok: false, why: 'gone' });
    expect((await workspace.ledger.open('mcp:alice', '1'.repeat(32))).directory).toBe('1'.repeat(32));
    expect(await workspace.ledger.reserve(account, { path: 'a', bytes: 1 }, limits)).toMatchObject({ ok: false, why: 'gone' });
  });

  it('removes old directories that no account has, follows no link, and leaves what is not its own', async () => {
    const workspace = await openTestWorkspace();
    mkdirSync(path.join(workspace.base, 'precious/x'), { recursive: true });
    mkdirSync(path.join(workspace.personas, 'a'.repeat(32)));
    symlinkSync(path.join(workspace.base, 'precious'), path.join(workspace.personas, 'b'.repeat(32)));
    writeFileSync(path.join(workspace.personas, 'README'), '');
    await cleanSandboxes({ base: workspace.personas, ledger: workspace.ledger, before: Date.now() + 60_000 });
    expect(readdirSync(workspace.personas)).toEqual(['.trash', 'README']);
    expect(existsSync(path.join(workspace.base, 'precious/x'))).toBe(true);
  });

  it('runs by itself, says what it did, and ends', async () => {
    const workspace = await openTestWorkspace();
    await as('mcp:alice', workspace).write('/tmp/a', 'x');
    const lines: string[] = [];
    const { promise, resolve } = Promise.withResolvers<void>();
    const say = (line: string) => {
      lines.push(line);
      resolve();
    };
    const log = { debug: say, info: say, warn: say, error: say };
    const cleaning = startCleaning({ base: workspace.personas, ledger: workspace.ledger, log, now: () => Date.now() + 2 * personaLifeMs });
    await promise;
    await cleaning.stop();
    expect(lines).toEqual(['1 unused agent sandboxes cleaned, 4096 bytes']);
    expect(directories(workspace)).toEqual([]);
  });
});
