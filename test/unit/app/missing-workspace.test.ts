/** `workspace.root` that names no directory: a window goes on without files and commands, a command line does not start. */
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { parseConfig } from '#app/config/config';
import { type AppOptions, createApp } from '#app/create-app';
import { cliAgent } from '#app/for-hosts';

let folder: string;
let warnings: string[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'banksman-root-'));
  warnings = [];
});
afterEach(() => rmSync(folder, { recursive: true }));

function open(via: AppOptions['via'], { base = folder, root }: { readonly base?: string; readonly root?: string } = {}) {
  const silent = () => undefined;
  return createApp({
    config: parseConfig(root === undefined ? {} : { workspace: { root } }, 'test'),
    baseDir: folder,
    stateDir: join(folder, 'state'),
    configFile: join(folder, 'config.json'),
    log: { debug: silent, info: silent, warn: (line) => void warnings.push(line), error: silent },
    via,
    version: 'test',
    workspaceBase: base,
  });
}

describe('a workspace that is not there', () => {
  it('in the editor: its tools are refused with the reason, the others work', async () => {
    const app = await open('editor', { root: 'no/such/folder' });
    const call = (tool: string, input: unknown) =>
      app.call({ tool, input, agent: cliAgent('tester', 'advanced'), signal: new AbortController().signal, waitMs: 0 });
    const refused = {
      status: 'denied',
      code: 'no_workspace',
      message: expect.stringMatching(/no\/such\/folder` is no directory.*correct `workspace\.root`/),
    };
    expect(await call('read_file', { path: 'a' })).toMatchObject(refused);
    expect(await call('write_file', { path: 'a', content: '' })).toMatchObject(refused);
    expect(await call('run_command', { command: 'ls' })).toMatchObject(refused);
    expect(await call('get_security_status', {})).toMatchObject({ status: 'ok' });
    expect(app.sandboxState()).toMatchObject({ state: 'unavailable', reason: expect.stringContaining('no/such/folder') });
    expect(warnings.join('\n')).toContain('no/such/folder');
    await app.close();
  });

  it('at the command line: a bad configuration, which names the field, what was found and what is allowed', async () => {
    await expect(open('cli', { root: 'no/such/folder' })).rejects.toMatchObject({
      code: 'bad_config',
      message: `\`workspace.root\`: must be a directory that can be read; found \`${join(folder, 'no/such/folder')}\``,
    });
  });
});

describe('the root of the file system or the home directory', () => {
  let home: string;
  beforeEach(() => {
    home = join(folder, 'home', 'u');
    mkdirSync(home, { recursive: true });
    symlinkSync(home, join(folder, 'link'));
    symlinkSync('/', join(folder, 'to-root'));
    vi.stubEnv('HOME', home);
  });
  afterEach(() => vi.unstubAllEnvs());
  const places = (): readonly (readonly [string, RegExp])[] => [
    ['/', /`\/` is the root of the file system.*open a folder below it/],
    ['//', /root of the file system/],
    ['/home', /home directories of all users/],
    ['/root', /home directory/],
    [join(folder, 'to-root'), /root of the file system/],
    [home, /is the home directory.*open a folder below it/],
    [`${home}/`, /is the home directory/],
    [join(folder, 'link'), /is the home directory/],
    [join(folder, 'link', '..', 'link'), /is the home directory/],
  ];

  it.each(['editor', 'cli'] as const)(
    'where a program is merely started (%s): files and commands are refused, the rest works',
    async (via) => {
      for (const [base, message] of places()) {
        const app = await open(via, { base });
        const call = (tool: string, input: unknown) =>
          app.call({ tool, input, agent: cliAgent('tester', 'advanced'), signal: new AbortController().signal, waitMs: 0 });
        const refused = { status: 'denied', code: 'workspace_too_wide', message: expect.stringMatching(message) };
        expect(await call('read_file', { path: 'etc/hostname' }), base).toMatchObject(refused);
        expect(await call('list_directory', { path: '.' }), base).toMatchObject(refused);
        expect(await call('search_files', { pattern: 'x' }), base).toMatchObject(refused);
        expect(await call('run_command', { command: 'ls' }), base).toMatchObject(refused);
        expect(await call('get_security_status', {}), base).toMatchObject({ status: 'ok' });
        expect(app.sandboxState().reason).toMatch(message);
        const said = (await app.doctor(new AbortController().signal)).find(({ topic }) => topic === 'sandbox');
        expect(said).toMatchObject({ state: 'warning', remedy: expect.stringContaining('run_command is refused until there is one') });
        await app.close();
      }
    },
  );

  it('named as `workspace.root`: the command line does not start, and says why', async () => {
    for (const [root, message] of places())
      await expect(open('cli', { root }), root).rejects.toMatchObject({ code: 'bad_config', message: expect.stringMatching(message) });
  });

  it('a folder below is a workspace like any other', async () => {
    mkdirSync(join(home, 'project'));
    const app = await open('cli', { base: join(home, 'project') });
    const listed = await app.call({
      tool: 'list_directory',
      input: { path: '.' },
      agent: cliAgent('tester', 'advanced'),
      signal: new AbortController().signal,
      waitMs: 0,
    });
    expect(listed).toMatchObject({ status: 'ok' });
    await app.close();
  });
});
