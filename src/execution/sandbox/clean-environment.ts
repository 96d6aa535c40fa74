/** The environment of a command: named variables only, so that no token, socket or hook of the caller's comes along. */
import path from 'node:path';
import type { SandboxHome } from './home.ts';
import { isInside } from './is-inside.ts';

const systemPath = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'];
/** Of commands. In the sandbox the command's own process gets it and no other, for bash takes 0.3 ms to load it. */
export const commandLanguage = 'C.UTF-8';
const common = { TERM: 'dumb', PAGER: 'cat', GIT_PAGER: 'cat', GIT_TERMINAL_PROMPT: '0', NO_COLOR: '1' };

/** Package managers say at once that there is no network, instead of trying again until the time is up. */
const withoutNetwork = {
  npm_config_offline: 'true',
  YARN_ENABLE_NETWORK: '0',
  PIP_RETRIES: '0',
  UV_OFFLINE: '1',
  CARGO_NET_OFFLINE: 'true',
  GOPROXY: 'off',
};

type Environment = Readonly<Record<string, string>>;

/** What a command in the sandbox sees, beside its language. */
export function sandboxEnvironment(home: SandboxHome, caller: NodeJS.ProcessEnv, network: boolean): Environment {
  const visible = (entry: string) => home.visible.some((directory) => isInside(path.normalize(entry), directory));
  const tools = (caller['PATH'] ?? '').split(path.delimiter).filter((entry) => path.isAbsolute(entry) && visible(entry));
  return {
    ...common,
    ...(network ? {} : withoutNetwork),
    ...home.env,
    PATH: [...new Set([...tools, ...systemPath])].join(':'),
    HOME: home.directory,
    USER: 'banksman',
    LOGNAME: 'banksman',
    SHELL: '/bin/bash',
    TMPDIR: '/tmp',
    ...pick(caller, ['TZ']),
  };
}

/** What bubblewrap itself gets. SECURITY: its environment stays readable inside as that of process 1, whatever it clears for others. */
export const launcherEnvironment: Environment = { PATH: '/usr/bin:/bin', LANG: 'C' };

const harmlessNames = [
  ...['PATH', 'HOME', 'USER', 'LOGNAME', 'SHELL', 'TMPDIR', 'TZ'],
  // Windows: without these no program starts.
  ...['SystemRoot', 'SystemDrive', 'ComSpec', 'PATHEXT', 'TEMP', 'TMP', 'USERPROFILE', 'ProgramFiles', 'ProgramData', 'WINDIR', 'Path'],
];

/** What a command gets where a person let it run without a sandbox. */
export function plainEnvironment(caller: NodeJS.ProcessEnv): Environment {
  return { ...common, LANG: commandLanguage, ...pick(caller, harmlessNames) };
}

function pick(source: NodeJS.ProcessEnv, names: readonly string[]): Environment {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = source[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
}
