import { describe, expect, it } from 'vitest';
import { launcherEnvironment, plainEnvironment, sandboxEnvironment } from '#execution/sandbox/clean-environment';
import { isInside } from '#execution/sandbox/entries';

const caller = {
  PATH: '/home/me/.nvm/versions/node/v24/bin:relative/bin::/home/me/bin:/ws/node_modules/.bin:/opt/go/bin:/usr/local/go/bin:/usr/bin:/home/me/.nvm/versions/../../.ssh',
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
    const common = ['GIT_PAGER', 'GIT_TERMINAL_PROMPT', 'NO_COLOR', 'PAGER', 'TERM'];
    const quiet = ['DO_NOT_TRACK', 'NO_UPDATE_NOTIFIER', 'PIP_DISABLE_PIP_VERSION_CHECK', 'npm_config_update_notifier'];
    const own = ['HOME', 'LOGNAME', 'PATH', 'PYENV_ROOT', 'SHELL', 'TMPDIR', 'TZ', 'USER'];
    expect(Object.keys(env).sort()).toEqual([...common, ...quiet, ...own].sort());
    expect(env).toMatchObject({ HOME: '/home/me', TZ: 'Europe/Berlin', TMPDIR: '/tmp' });
    expect(JSON.stringify(env)).not.toMatch(/evil|agent|pw@/);
  });

  it('finds programs where they are visible, in the caller’s order, then the system’s', () => {
    expect(sandboxEnvironment(home, caller, true).PATH).toBe(
      '/home/me/.nvm/versions/node/v24/bin:/opt/go/bin:/usr/local/go/bin:/usr/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/sbin:/bin',
    );
  });

  it('finds the system’s where the caller has no PATH', () => {
    expect(sandboxEnvironment({ ...home, visible: [], env: {} }, {}, true).PATH).toBe(
      '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    );
  });

  it('lets package managers try the network once where there is none, and never says that they are offline', () => {
    const without = sandboxEnvironment(home, caller, false);
    expect(without).toMatchObject({ npm_config_fetch_retries: '0', PIP_RETRIES: '0', CARGO_NET_RETRY: '0' });
    expect(Object.keys(without).join()).not.toMatch(/offline|GOPROXY/i);
    expect(sandboxEnvironment(home, caller, true)).not.toHaveProperty('npm_config_fetch_retries');
  });

  it('names the proxy of a run with the network, unless it holds a password', () => {
    const proxied = { ...caller, https_proxy: 'http://proxy:3128', NO_PROXY: 'localhost' };
    expect(sandboxEnvironment(home, proxied, true)).toMatchObject({ https_proxy: 'http://proxy:3128', NO_PROXY: 'localhost' });
    expect(sandboxEnvironment(home, proxied, true)).not.toHaveProperty('http_proxy');
    expect(sandboxEnvironment(home, proxied, false)).not.toHaveProperty('https_proxy');
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
