/** The layer's own files where they lie in the workspace, under names that no list knows: no tool touches them (docs/design.md#the-promises). */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parseConfig } from '#app/config/config';
import { createApp } from '#app/create-app';
import { createMcpToken } from '#app/people/mcp-tokens';
import type { App } from '#kernel/app';
import { cacheFolder } from '../../../scripts/lib/cache-folder.mjs';
import { canSandbox } from '../execution/support/bubblewrap.ts';
import { call } from './support.ts';

let root: string;
const apps: App[] = [];
beforeEach(() => {
  // Not below /tmp: what stands beside a workspace there is judged apart.
  mkdirSync(cacheFolder(), { recursive: true });
  root = mkdtempSync(join(cacheFolder(), 'own-places-'));
});
afterEach(async () => {
  await Promise.all(apps.splice(0).map((app) => app.close()));
  rmSync(root, { recursive: true, force: true });
});

interface Places {
  readonly stateDir: string;
  readonly configFile: string;
  readonly namedConfigFile?: string;
  readonly settings?: object;
}

async function open({ settings = {}, ...places }: Places): Promise<App> {
  const quiet = () => undefined;
  const app = await createApp({
    config: parseConfig(settings, 'test'),
    baseDir: root,
    ...places,
    log: { debug: quiet, info: quiet, warn: quiet, error: quiet },
    via: 'cli',
    version: 'test',
    workspaceBase: root,
  });
  apps.push(app);
  return app;
}

/** Every way to one path, and what is there afterwards. */
async function tryAll(app: App, path: string) {
  const answers = [
    await call(app, 'read_file', { path }),
    await call(app, 'write_file', { path, content: 'mine' }),
    await call(app, 'search_files', { pattern: 'a', path }),
  ];
  return answers.map(({ status, code }) => `${status} ${code}`);
}
const refused = ['denied OWN_FILE', 'denied OWN_FILE', 'denied OWN_FILE'];

it('state and configuration in folders of any name', async () => {
  const stateDir = join(root, 'st');
  const configFile = join(root, 'cfg', 'settings.json');
  const app = await open({ stateDir, configFile });
  await createMcpToken(stateDir, { name: 'one', modelTier: 'basic', lifeMs: null });
  mkdirSync(join(root, 'cfg'), { recursive: true });
  writeFileSync(configFile, '{"approvers":[]}');
  symlinkSync('st', join(root, 'link'));
  for (const path of [
    'st/banksman.db',
    'st/mcp-tokens/one.json',
    'st/../st/mcp-tokens/one.json',
    'link/mcp-tokens/one.json',
    join(stateDir, 'mcp-tokens/two.json'),
  ])
    expect({ path, answers: await tryAll(app, path) }).toEqual({ path, answers: refused });
  for (const path of ['cfg/settings.json', 'cfg/approver-keys/me.json', 'cfg/other.json'])
    expect({ path, answers: await tryAll(app, path) }).toEqual({ path, answers: refused });
  expect(await call(app, 'list_directory', { path: 'st' })).toMatchObject({ status: 'denied', code: 'OWN_FILE' });
  expect(readFileSync(configFile, 'utf8')).toBe('{"approvers":[]}');
  // What is beside them is the workspace's.
  expect(await call(app, 'write_file', { path: 'start.txt', content: 'hash' })).toMatchObject({ status: 'ok' });
  expect(await call(app, 'search_files', { pattern: 'hash' })).toMatchObject({
    status: 'ok',
    result: { matches: [{ path: 'start.txt' }] },
  });
});

it('the workspace as state directory: what is known to lie there', async () => {
  const app = await open({ stateDir: root, configFile: join(root, 'settings.json') });
  for (const path of ['banksman.db', 'banksman.db-wal', 'mcp-tokens/x.json', 'personas/x/y', 'settings.json'])
    expect({ path, answers: await tryAll(app, path) }).toEqual({ path, answers: refused });
  expect(await call(app, 'write_file', { path: 'mine.txt', content: 'x' })).toMatchObject({ status: 'ok' });
});

it('files that the configuration names', async () => {
  const settings = {
    store: `sqlite:${join(root, 'data', 'shared.db')}`,
    clusters: [
      {
        name: 'lab',
        endpoints: ['https://127.0.0.1:8006'],
        tokenId: 'ops@pve!banksman',
        tokenFile: 'lab.token',
        ssh: { knownHosts: 'hosts', identityFiles: ['id'], agent: false },
      },
    ],
  };
  const namedConfigFile = join(root, 'mine.json');
  const app = await open({ stateDir: join(root, 'st'), configFile: join(root, 'cfg', 'c.json'), namedConfigFile, settings });
  for (const path of ['data/shared.db', 'data/shared.db-wal', 'lab.token', 'hosts', 'id', 'mine.json'])
    expect({ path, answers: await tryAll(app, path) }).toEqual({ path, answers: refused });
  expect(await call(app, 'write_file', { path: 'data/other.txt', content: 'x' })).toMatchObject({ status: 'ok' });
});

describe.skipIf(!canSandbox)('commands', () => {
  it('see nothing of them in the sandbox', async () => {
    const stateDir = join(root, 'st');
    writeFileSync(join(root, 'lab.txt'), 'the-api-token');
    writeFileSync(join(root, 'mine.json'), '{}');
    const clusters = [{ name: 'lab', endpoints: ['https://127.0.0.1:8006'], tokenId: 'ops@pve!banksman', tokenFile: 'lab.txt' }];
    const app = await open({
      stateDir,
      configFile: join(root, 'cfg', 'c.json'),
      namedConfigFile: join(root, 'mine.json'),
      settings: { clusters },
    });
    await createMcpToken(stateDir, { name: 'one', modelTier: 'basic', lifeMs: null });
    const ran = await call(app, 'run_command', { command: 'cat lab.txt mine.json st/mcp-tokens/one.json; echo x > mine.json; ls' });
    expect(ran).toMatchObject({ result: { sandbox: 'enforced' } });
    expect(JSON.stringify(ran.result)).not.toMatch(/the-api-token|modelTier/);
    expect(JSON.stringify(ran.result)).toContain('mine.json');
    expect(readFileSync(join(root, 'mine.json'), 'utf8')).toBe('{}');
  });

  it('cannot move them to where nobody looks for them', async () => {
    mkdirSync(join(root, 'deep', 'er'), { recursive: true });
    writeFileSync(join(root, 'deep', 'er', 'lab.txt'), 'the-api-token');
    const clusters = [{ name: 'lab', endpoints: ['https://127.0.0.1:8006'], tokenId: 'ops@pve!banksman', tokenFile: 'deep/er/lab.txt' }];
    const app = await open({ stateDir: join(root, 'st'), configFile: join(root, 'cfg', 'c.json'), settings: { clusters } });
    const script =
      "import os\nfor a, b in (('deep', 'd2'), ('deep/er', 'e2')):\n  try: os.rename(a, b)\n  except OSError as e: print(e.errno)\n";
    await call(app, 'write_file', { path: 'move.py', content: script });
    const ran = await call(app, 'run_command', { command: 'python3 move.py; mv deep d3; rm -rf deep' });
    expect(ran).toMatchObject({ result: { sandbox: 'enforced' } });
    expect(readdirSync(root)).not.toEqual(expect.arrayContaining([expect.stringMatching(/^[de]\d$/)]));
    expect(readFileSync(join(root, 'deep', 'er', 'lab.txt'), 'utf8')).toBe('the-api-token');
    const found = await call(app, 'search_files', { pattern: 'the-api-token' });
    expect(found).toMatchObject({ status: 'ok', result: { matches: [] } });
  });

  it('cannot be the first to write the configuration', async () => {
    const configFile = join(root, '.config', 'banksman', 'config.json');
    const app = await open({ stateDir: join(root, 'st'), configFile });
    await call(app, 'write_file', { path: 'plant.py', content: `open('.config/banksman/config.json', 'w').write('{}')` });
    const ran = await call(app, 'run_command', { command: 'python3 plant.py' });
    expect(ran).toMatchObject({ code: 'command_failed', result: { sandbox: 'enforced' } });
    expect(readdirSync(join(root, '.config', 'banksman'))).toEqual([]);
  });
});
