import { mkdtempSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createKnownHostsFile } from '#connectors/ssh/host-key-check';

const line = (host: string) => `${host} ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl\n`;

describe('createKnownHostsFile', () => {
  let folder: string;
  let path: string;
  const hosts = async (file = createKnownHostsFile(path)) => (await file.read()).map((entry) => entry.patterns.join());
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'banksman-known-'));
    path = join(folder, 'known_hosts');
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it('knows nobody while there is no file, and everybody once there is one', async () => {
    const file = createKnownHostsFile(path);
    expect(await hosts(file)).toEqual([]);
    writeFileSync(path, line('a'));
    expect(await hosts(file)).toEqual(['a']);
    rmSync(path);
    expect(await hosts(file)).toEqual([]);
  });

  it('sees lines that are added, and a file that takes its place with the same size and time', async () => {
    writeFileSync(path, line('a'));
    const file = createKnownHostsFile(path);
    await file.read();
    writeFileSync(path, line('a') + line('b'));
    expect(await hosts(file)).toEqual(['a', 'b']);
    const other = join(folder, 'other');
    writeFileSync(other, line('c') + line('d'));
    utimesSync(other, 1, 1);
    utimesSync(path, 1, 1);
    await file.read();
    renameSync(other, path);
    expect(await hosts(file)).toEqual(['c', 'd']);
  });

  it('does not parse again what has not changed', async () => {
    writeFileSync(path, line('a'));
    const file = createKnownHostsFile(path);
    expect(await file.read()).toBe(await file.read());
  });

  it('takes a directory for an error, not for an empty list, and says what to name instead', async () => {
    await expect(createKnownHostsFile(folder).read()).rejects.toMatchObject({
      code: 'ssh_known_hosts_unreadable',
      message: `\`ssh.knownHosts\` is \`${folder}\`, which is a directory, not a file`,
      next: expect.stringContaining(path) as string,
    });
  });

  it('takes what cannot be read for an error, too', async () => {
    writeFileSync(path, line('a'));
    await expect(createKnownHostsFile(join(path, 'below')).read()).rejects.toMatchObject({
      code: 'ssh_known_hosts_unreadable',
      message: expect.stringContaining('ENOTDIR') as string,
    });
  });
});
