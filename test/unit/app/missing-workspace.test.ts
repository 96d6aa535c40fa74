/** `workspace.root` that names no directory: a window goes on without files and commands, a command line does not start. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { cliAgent } from '#app/agents';
import { parseConfig } from '#app/config';
import { type AppOptions, createApp } from '#app/create-app';

let folder: string;
let warnings: string[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'banksman-root-'));
  warnings = [];
});
afterEach(() => rmSync(folder, { recursive: true }));

function open(via: AppOptions['via']) {
  const silent = () => undefined;
  return createApp({
    config: parseConfig({ workspace: { root: 'no/such/folder' } }, 'test'),
    baseDir: folder,
    stateDir: join(folder, 'state'),
    configFile: join(folder, 'config.json'),
    log: { debug: silent, info: silent, warn: (line) => void warnings.push(line), error: silent },
    via,
    version: 'test',
    workspaceBase: folder,
  });
}

describe('a workspace that is not there', () => {
  it('in the editor: its tools are refused with the reason, the others work', async () => {
    const app = await open('editor');
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
    await expect(open('cli')).rejects.toMatchObject({
      code: 'bad_config',
      message: `\`workspace.root\`: must be a directory that can be read; found \`${join(folder, 'no/such/folder')}\``,
    });
  });
});
