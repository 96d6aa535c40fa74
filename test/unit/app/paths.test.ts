import { userInfo } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { defaultConfigFile, defaultStateDir, expandPath } from '#app/paths';

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
