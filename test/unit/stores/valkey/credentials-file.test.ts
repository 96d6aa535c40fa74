import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { credentialsFile } from '#stores/valkey/store-url';

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'banksman-credentials-'));
  file = join(folder, 'credentials.json');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const write = (text: string, mode = 0o600): void => {
  writeFileSync(file, text);
  chmodSync(file, mode);
};

describe('the credentials file', () => {
  it('gives each role its own, with the documented user where none is named', async () => {
    write('{ "agent": { "password": "a" }, "exec": { "user": "my-exec", "password": "b" } }');
    const credentials = credentialsFile(file);
    expect(await credentials('agent')).toEqual({ user: 'mcp-agent', password: 'a' });
    expect(await credentials('exec')).toEqual({ user: 'my-exec', password: 'b' });
    expect(await credentials('admin')).toBeUndefined();
  });

  it('is read again each time', async () => {
    write('{ "agent": { "password": "old" } }');
    const credentials = credentialsFile(file);
    expect(await credentials('agent')).toMatchObject({ password: 'old' });
    write('{ "agent": { "password": "new" } }');
    expect(await credentials('agent')).toMatchObject({ password: 'new' });
  });

  it.runIf(process.platform !== 'win32').each([0o640, 0o604, 0o660, 0o622, 0o601])(
    'is refused with mode %o, before it is read',
    async (mode) => {
      write('not even JSON', mode);
      await expect(credentialsFile(file)('agent')).rejects.toMatchObject({
        code: 'bad_credentials',
        message: expect.stringContaining('open to other users'),
      });
    },
  );

  it.each([
    ['no JSON', '{ "agent": "top-secret', /not valid JSON/],
    ['no object', '[]', /allowed: agent, exec/],
    ['an unknown role', '{ "root": { "password": "top-secret" } }', /root/],
    ['an unknown key', '{ "agent": { "password": "x", "pass": "top-secret" } }', /`agent`/],
    ['an empty password', '{ "agent": { "password": "" } }', /`agent\.password`/],
    ['a bare password', '{ "agent": "top-secret" }', /`agent`/],
  ])('is refused with %s, and nothing of it is repeated', async (_, text, message) => {
    write(text);
    const reading = credentialsFile(file)('agent');
    await expect(reading).rejects.toThrow(message);
    await expect(reading).rejects.toMatchObject({ code: 'bad_credentials', next: expect.stringContaining('0600') });
    await expect(reading).rejects.not.toThrow(/top-secret/);
  });

  it('that is missing is said', async () => {
    await expect(credentialsFile(join(folder, 'none'))('agent')).rejects.toThrow(/ENOENT/);
  });
});
