import { describe, expect, it } from 'vitest';
import { launcherEnvironment, plainEnvironment, sandboxEnvironment } from '#execution/sandbox/clean-environment';
import { isInside } from '#execution/sandbox/is-inside';

const caller = {
  PATH: '/home/me/.nvm/versions/node/v24/bin:relative/bin::/home/me/bin:/ws/node_modules/.bin:/opt/go/bin:/usr/bin:/home/me/.nvm/versions/../../.ssh',
  HOME: '/home/me',
  TZ: 'Europe/Berlin',
  SSH_AUTH_SOCK: '/run/agent',
  NODE_OPTIONS: '--require /evil',
  GIT_DIR: '/evil',
  http_proxy: 'http://user:pw@proxy',
};
const home = {
  directory: '/home/me',
  visible: ['/home/me/.nvm/versions', '/opt/go'],
  files: new Map<string, string>(),
  env: { PYENV_ROOT: '/home/me/.pyenv' },
};

describe('the environment of a command', () => {
  it('holds nothing of the caller’s but the time zone', () => {
    const env = sandboxEnvironment(home, caller, true);
    expect(Object.keys(env).sort()).toEqual(
      [
        'GIT_PAGER',
        'GIT_TERMINAL_PROMPT',
        'HOME',
        'LOGNAME',
        'NO_COLOR',
        'PAGER',
        'PATH',
        'PYENV_ROOT',
        'SHELL',
        'TERM',
        'TMPDIR',
        'TZ',
        'USER',
      ].sort(),
    );
    expect(env).toMatchObject({ HOME: '/home/me', TZ: 'Europe/Berlin', TMPDIR: '/tmp' });
    expect(JSON.stringify(env)).not.toMatch(/evil|agent|pw@/);
  });

  it('finds programs where they are visible, in the caller’s order, then the system’s', () => {
    expect(sandboxEnvironment(home, caller, true).PATH).toBe(
      '/home/me/.nvm/versions/node/v24/bin:/opt/go/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    );
  });

  it('finds the system’s where the caller has no PATH', () => {
    expect(sandboxEnvironment({ ...home, visible: [], env: {} }, {}, true).PATH).toBe(
      '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    );
  });

  it('tells package managers that there is no network, where there is none', () => {
    expect(sandboxEnvironment(home, caller, false)).toMatchObject({ npm_config_offline: 'true', CARGO_NET_OFFLINE: 'true' });
    expect(sandboxEnvironment(home, caller, true)).not.toHaveProperty('npm_config_offline');
  });

  it('without a sandbox keeps what programs need to be found and started', () => {
    const env = plainEnvironment({ ...caller, SystemRoot: 'C:\\Windows' });
    expect(env).toMatchObject({ PATH: caller.PATH, HOME: '/home/me', SystemRoot: 'C:\\Windows', TERM: 'dumb', LANG: 'C.UTF-8' });
    expect(JSON.stringify(env)).not.toMatch(/SSH_AUTH|NODE_OPTIONS|GIT_DIR|proxy/);
  });

  it('of bubblewrap itself is the same for everybody', () => {
    expect(launcherEnvironment).toEqual({ PATH: '/usr/bin:/bin', LANG: 'C' });
  });
});

describe('being inside', () => {
  it.each([
    ['/a', '/a', true],
    ['/a/b', '/a', true],
    ['/ab', '/a', false],
    ['/', '/a', false],
    ['/a', '/', true],
    ['a/b', 'a', true],
    ['a', 'a/b', false],
  ])('%s in %s: %s', (inner, outer, expected) => {
    expect(isInside(inner, outer)).toBe(expected);
  });
});
