/** `banksman hook install` and `uninstall` at a terminal, for each agent and place that an account may write, and what `doctor` sees. */

import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { hookAgents } from '../../../src/hosts/hook/agents.ts';
import { fileAt, installations } from '../../../src/hosts/hook/installations.ts';
import { personAt } from './person.ts';
import { cli } from './support.ts';

vi.setConfig({ testTimeout: 180_000 });

const folder = mkdtempSync(join(tmpdir(), 'banksman-install-'));
const project = join(folder, 'ws');
mkdirSync(project);
const env = { ...process.env, HOME: join(folder, 'home'), XDG_STATE_HOME: join(folder, 'state'), XDG_CONFIG_HOME: join(folder, 'config') };
mkdirSync(env.HOME);
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const person = personAt({ env }, project);

const change = (verb: 'install' | 'uninstall', agent: string, kind: string) =>
  person.at(['hook', verb, agent, `--${kind}`], [['to go on: ', `${verb}\r`]]);
const fileOf = (agent: string) => fileAt(installations[agent]?.files.project ?? '', project);
const doctor = () => spawnSync(process.execPath, [cli, 'doctor', '--json'], { cwd: project, env, encoding: 'utf8' }).stdout;

describe.skipIf(process.platform === 'win32')('banksman hook install', () => {
  const inJson = hookAgents.map(({ name }) => name).filter((name) => fileOf(name).endsWith('.json'));

  it.each(inJson)('goes into what %s has, and out of it byte for byte', async (agent) => {
    const file = fileOf(agent);
    const before = '{\n\t"z": 1,\n\t"hooks": {\n\t\t"Other": [{"a": "ü"}]\n\t}\n}';
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, before, { mode: 0o640 });
    expect(await change('install', agent, 'project')).toMatchObject({ status: 0, screen: expect.stringContaining(`hook ${agent}`) });
    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ z: 1, hooks: { Other: [{ a: 'ü' }] } });
    expect(statSync(file).mode & 0o777).toBe(0o640);
    const again = await person.at(['hook', 'install', agent, '--project']);
    expect(again).toMatchObject({ status: 0, screen: expect.stringContaining('so already') });
    expect(await change('uninstall', agent, 'project')).toMatchObject({ status: 0 });
    expect(readFileSync(file, 'utf8')).toBe(before);
  });

  it('is a plugin of its own in opencode', async () => {
    const file = fileOf('opencode');
    expect(await change('install', 'opencode', 'project')).toMatchObject({ status: 0 });
    expect(spawnSync(process.execPath, ['--check', file]).status).toBe(0);
    expect(await change('uninstall', 'opencode', 'project')).toMatchObject({ status: 0 });
    expect(existsSync(file)).toBe(false);
  });

  it('has a form for each place, whoever may write there', () => {
    const made = Object.values(installations).flatMap(({ files, add, besideManaged }) =>
      (Object.keys(files) as (keyof typeof files)[]).map(
        (kind) => add(undefined, 'banksman hook x', kind) + (kind === 'managed' ? (besideManaged?.text('banksman hook x') ?? '') : ''),
      ),
    );
    expect(made.filter((text) => !text.includes('banksman hook x'))).toEqual([]);
  });

  it.each([
    ['gemini', '{"hooksConfig": {"enabled": false, "notifications": false}}', '"notifications": false'],
    ['qwen', '{"disableAllHooks": true, "model": {}}', '"model": {}'],
    [
      'codex',
      'allowed_sandbox_modes = ["read-only"]\n\n[features] # ours\npersonality = true\n',
      '[features] # ours\nhooks = true\npersonality = true',
    ],
    ['codex', '', '[features]\nhooks = true'],
    ['opencode', '{"plugin": ["other"]}', '"other"'],
  ])('as a managed hook of %s says what a repository cannot take back: %s', (agent, before, kept) => {
    const { add, holds } = installations[agent] ?? {};
    const made = add?.(before, `banksman hook ${agent}`, 'managed') ?? '';
    expect(made).toContain(kept);
    expect(made).toMatch(holds ?? /banksman-hook\.js/);
    expect(made.match(/\[features\]/g)?.length ?? 1).toBe(1);
  });

  it('needs a person at a terminal, and leaves alone what it cannot keep', async () => {
    const words = ['hook', 'install', 'claude-code', '--user'];
    const ended = spawnSync(process.execPath, [cli, ...words], { cwd: project, env, encoding: 'utf8' });
    expect(ended).toMatchObject({ status: 2, stderr: expect.stringContaining('terminal') });
    expect(existsSync(join(env.HOME, '.claude'))).toBe(false);
    const none = spawnSync(process.execPath, [cli, 'hook', 'install', 'claude-code'], { cwd: project, env, encoding: 'utf8' });
    expect(none).toMatchObject({ status: 1, stdout: expect.stringMatching(/^--managed.*--user.*--project/s) });
    const file = join(project, '.gemini', 'settings.json');
    writeFileSync(file, '{ "a": 1 // kept\n}');
    const left = await person.at(['hook', 'install', 'gemini', '--project']);
    expect(left).toMatchObject({ status: 1, screen: expect.stringContaining('left as it is') });
    expect(readFileSync(file, 'utf8')).toBe('{ "a": 1 // kept\n}');
  });

  it('refuses where its program is gone, too: most agents run a call whose hook ends with anything but 2', async () => {
    expect(await change('install', 'codex', 'user')).toMatchObject({ status: 0 });
    const { hooks } = JSON.parse(readFileSync(join(env.HOME, '.codex', 'hooks.json'), 'utf8')) as {
      readonly hooks: { readonly PreToolUse: readonly { readonly hooks: readonly { readonly command: string }[] }[] };
    };
    const line = hooks.PreToolUse[0]?.hooks[0]?.command ?? '';
    expect(spawnSync('/bin/sh', ['-c', line.replace('cli.cjs', 'gone.cjs')]).status).toBe(2);
    expect(spawnSync('/bin/sh', ['-c', line], { cwd: project, env, input: 'no JSON' }).status).toBe(2);
    expect(await change('uninstall', 'codex', 'user')).toMatchObject({ status: 0 });
  });

  it('is missed by `doctor` where it was taken out or switched off', async () => {
    expect(await change('install', 'claude-code', 'user')).toMatchObject({ status: 0 });
    expect(doctor()).toContain('Claude Code: a hook that the user’s own settings hold');
    writeFileSync(join(project, '.claude', 'settings.local.json'), '{"disableAllHooks": true}');
    expect(doctor()).toContain(`is switched off by ${join(project, '.claude', 'settings.local.json')}`);
    rmSync(join(env.HOME, '.claude', 'settings.json'));
    expect(doctor()).toContain('the hook of claude-code');
  });

  it.each([
    ['{"chat.useHooks": false}', true],
    ['{\n  // hooks\n  "editor.tabSize": 2,\n  "chat.hookFilesLocations": { "~/.copilot/hooks": false },\n}', true],
    ['{\n  // "chat.useHooks": false\n  "chat.hookFilesLocations": { "mine": false } }', false],
  ])('is missed where settings of the editor switch it off: %s', async (settings, isOff) => {
    expect(await change('install', 'vscode', 'user')).toMatchObject({ status: 0 });
    const file = join(project, '.vscode', 'settings.json');
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, settings);
    expect(doctor().includes(`is switched off by ${file}`)).toBe(isOff);
    expect(await change('uninstall', 'vscode', 'user')).toMatchObject({ status: 0 });
    rmSync(file);
  });
});
