import { chownSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { defaultConfigFile, defaultStateDir, expandPath, tooWideForWorkspace } from '#app/config/paths';

describe('where state and configuration live', () => {
  it('follows the XDG variables', () => {
    vi.stubEnv('XDG_STATE_HOME', '/s');
    vi.stubEnv('XDG_CONFIG_HOME', '/c');
    expect([defaultStateDir(), defaultConfigFile()]).toEqual(['/s/banksman', '/c/banksman/config.json']);
  });

  it.each(['', 'relative'])('is never below the current directory, which agents may write to (HOME is %j)', (home) => {
    vi.stubEnv('XDG_STATE_HOME', home);
    vi.stubEnv('XDG_CONFIG_HOME', home);
    vi.stubEnv('HOME', home);
    const own = userInfo().homedir;
    expect(defaultStateDir()).toBe(join(own, '.local/state/banksman'));
    expect(defaultConfigFile()).toBe(join(own, '.config/banksman/config.json'));
    expect(expandPath('~/x', '/base')).toBe(join(own, 'x'));
  });
});

describe('what is no workspace', () => {
  it.each([
    ['/', 'the root of the file system'],
    ['C:\\', 'the root of a drive'],
    ['d:/', 'the root of a drive'],
    ['/home', 'the home directories of all users'],
    ['/Users', 'the home directories of all users'],
    ['C:\\Users', 'the home directories of all users'],
  ])('%s is not', (place, words) => expect(tooWideForWorkspace(place)).toContain(words));

  it('nor is root’s home directory, whoever asks', () => {
    vi.stubEnv('HOME', '/somewhere');
    expect(tooWideForWorkspace('/root')).toMatch(/^`\/root` is root's home directory/);
  });

  it.each(['/Users/ann', 'C:\\Users\\ann', 'd:\\users\\Ann'])('%s, somebody’s home directory, is not', (place) =>
    expect(tooWideForWorkspace(place)).toContain("is somebody's home directory"),
  );

  it('nor is another person’s home directory, wherever it is; a service’s may be', () => {
    const folder = scratch();
    const accounts = join(folder, 'passwd');
    symlinkSync(folder, join(folder, 'link'));
    writeFileSync(
      accounts,
      `www:x:33:33::${folder}/www:/bin/sh\nbob:x:1001:1001:Bob:${folder}/link:/bin/sh\nodd:x\nnobody:x:65534:65534::nowhere:\n`,
    );
    expect(tooWideForWorkspace(folder, accounts)).toContain("is somebody's home directory");
    expect(tooWideForWorkspace(join(folder, 'www'), accounts)).toBeUndefined();
    expect(tooWideForWorkspace(join(folder, 'project'), accounts)).toBeUndefined();
  });

  it.runIf(process.getuid?.() === 0)('nor is a folder of somebody whom this machine does not list', () => {
    const folder = scratch('/home');
    expect(tooWideForWorkspace(folder)).toBeUndefined();
    chownSync(folder, 54_321, 54_321);
    expect(tooWideForWorkspace(folder)).toContain("is somebody's home directory");
  });

  it.each([
    '/Users/Shared',
    'C:\\Users\\Public',
    '/home/ann/project',
    '/Users/ann/project',
    '/root/project',
    'C:\\src',
    'C:\\Users\\ann\\project',
    '/homes',
    '/srv',
  ])('%s may be one', (place) => expect(tooWideForWorkspace(place)).toBeUndefined());
});

function scratch(base = tmpdir()): string {
  const folder = mkdtempSync(join(base, 'banksman-home-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}
