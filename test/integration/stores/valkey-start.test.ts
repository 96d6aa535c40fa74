/** The bundled command line at the start, with a shared store that it cannot use: one clear line, and an exit code that is not 0. */
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { cli } from '../cli/support.ts';
import { temporaryFolder } from './store-fixtures.ts';
import { samplePasswords, startValkey, type ValkeyServer } from './valkey-server.ts';

const { agent, exec, 'log-writer': log } = samplePasswords;
const roles = { agent, exec, 'log-writer': log };
let server: ValkeyServer;
beforeAll(async () => {
  server = await startValkey();
}, 300_000);
afterAll(() => server.close());

function start(words: readonly string[], url: string, credentials: object | string, mode = 0o600) {
  const folder = temporaryFolder();
  const state = join(folder, 'state');
  const file = join(state, 'credentials.json');
  mkdirSync(state, { mode: 0o700 });
  if (credentials !== '') writeFileSync(file, typeof credentials === 'string' ? credentials : JSON.stringify(credentials));
  if (credentials !== '') chmodSync(file, mode);
  const env = { ...process.env, XDG_CONFIG_HOME: join(folder, 'config') };
  return spawnSync(process.execPath, [cli, ...words, '--state', state, '--store', url], { env, encoding: 'utf8', timeout: 60_000 });
}

/** Plain commands, and the server that agents talk to. */
const commands = [['audit', 'tail'], ['approvals', 'list'], ['mcp']];

interface Case {
  readonly what: string;
  readonly url?: () => string;
  readonly credentials?: object | string;
  readonly mode?: number;
  readonly says: RegExp;
}

const cases: readonly Case[] = [
  { what: 'nobody listens', url: () => 'valkey://127.0.0.1:1/0', says: /cannot be reached .*ECONNREFUSED.*check the address/ },
  {
    what: 'the password is wrong',
    credentials: { ...roles, agent: { password: 'wrong' } },
    says: /refused the user `mcp-agent`: wrong password/,
  },
  {
    what: 'one role’s password is wrong',
    credentials: { ...roles, 'log-writer': { password: 'wrong' } },
    says: /refused the user `log-writer`/,
  },
  { what: 'the user is unknown', credentials: { ...roles, exec: { user: 'nobody', password: 'x' } }, says: /refused the user `nobody`/ },
  { what: 'a command is denied', url: () => `${server.url}?prefix=other`, says: /does not allow the user `mcp-agent` .*`prefix`/ },
  { what: 'there are no credentials', credentials: '', says: /credentials/ },
  { what: 'the credentials are no JSON', credentials: '{', says: /credentials/ },
  { what: 'others may read the credentials', mode: 0o644, says: /open to other users.*chmod 600/ },
  { what: 'the URL holds a password', url: () => server.url.replace('//', '//mcp-agent:agent-pass@'), says: /password/ },
];

describe('where', () => {
  it.each(cases)('$what: said in one line, exit code 1', ({ url = () => server.url, credentials = roles, mode, says }) => {
    for (const words of commands) {
      const { status, stdout, stderr } = start(words, url(), credentials, mode);
      expect([words.join(' '), status, stdout]).toEqual([words.join(' '), 1, '']);
      expect(stderr).toMatch(says);
      expect(stderr.trim().split('\n')).toHaveLength(1);
      expect(stderr).not.toMatch(/agent-pass|exec-pass|log-pass|wrong'|\bat .*:\d+:\d+/);
    }
  });

  it('the server may not say who is there yet (loading, busy, paused): given up on in time', () => {
    server.pause();
    onTestFinished(() => server.resume());
    const { status, stderr } = start(['audit', 'tail'], server.url, roles);
    expect(status).toBe(1);
    expect(stderr).toMatch(/cannot be reached/);
  });

  it('TLS is spoken to a server without: likewise', () => {
    const { status, stderr } = start(['audit', 'tail'], server.url.replace('valkey:', 'valkeys:'), roles);
    expect(status).toBe(1);
    expect(stderr).toMatch(/cannot be reached/);
  });

  it('all is well, it works', () => {
    expect(start(['audit', 'tail'], server.url, roles)).toMatchObject({ status: 0 });
  });
});
