/** The environment of a command: named variables only, so that no token, socket or hook of the caller's comes along. */
import os from 'node:os';
import path from 'node:path';
import { isInside, programPlaces } from './entries.ts';
import type { SandboxHome } from './home.ts';

const systemPath = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'];
/** Of commands. In the sandbox the command's own process gets it and no other, for bash takes 0.3 ms to load it. */
export const commandLanguage = 'C.UTF-8';
const common = {
  ...{ TERM: 'dumb', PAGER: 'cat', GIT_PAGER: 'cat', GIT_TERMINAL_PROMPT: '0', NO_COLOR: '1' },
  // Nobody asked for these ways out, and a failed one would count as a try.
  ...{ DO_NOT_TRACK: '1', NO_UPDATE_NOTIFIER: '1', npm_config_update_notifier: 'false', PIP_DISABLE_PIP_VERSION_CHECK: '1' },
};

/** Package managers try once, which is counted, and say at once that there is no network. Told to be offline they would not even try. */
const withoutNetwork = {
  npm_config_fetch_retries: '0',
  YARN_HTTP_RETRY: '0',
  PIP_RETRIES: '0',
  UV_HTTP_RETRIES: '0',
  CARGO_NET_RETRY: '0',
};

type Environment = Readonly<Record<string, string>>;

/** What a command in the sandbox sees, beside its language. */
export function sandboxEnvironment(home: SandboxHome, caller: NodeJS.ProcessEnv, network: boolean): Environment {
  const visible = (entry: string) => [...home.visible, ...programPlaces].some((place) => isInside(path.normalize(entry), place));
  const tools = (caller['PATH'] ?? '').split(path.delimiter).filter((entry) => path.isAbsolute(entry) && visible(entry));
  return {
    ...common,
    ...(network ? proxies(caller) : withoutNetwork),
    ...home.env,
    PATH: [...new Set([...tools, ...systemPath])].join(':'),
    HOME: home.directory,
    USER: userName(),
    LOGNAME: userName(),
    SHELL: '/bin/bash',
    TMPDIR: '/tmp',
    ...pick(caller, ['TZ']),
  };
}

/** SECURITY: one that holds a name and a password stays out; the command would read it. */
function proxies(caller: NodeJS.ProcessEnv): Environment {
  const names = ['http_proxy', 'https_proxy', 'all_proxy', 'no_proxy'].flatMap((name) => [name, name.toUpperCase()]);
  return Object.fromEntries(Object.entries(pick(caller, names)).filter(([, value]) => !value.includes('@')));
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

/** Who a command is inside. */
export interface SandboxUser {
  readonly uid: number;
  readonly gid: number;
}

/** A mount of its own by which every process inside can be told, whatever its environment says. */
export const sandboxMark = '/run/banksman';

/** As root the command is somebody else inside: programs that think they are root try to change owners. */
export function sandboxUser(): SandboxUser {
  const [uid, gid] = [process.getuid?.() ?? 0, process.getgid?.() ?? 0];
  return uid === 0 ? { uid: 1_000, gid: 1_000 } : { uid, gid };
}

/** The person's own name; as root that of nobody, and so where no list of users names the number. */
export function userName(): string {
  try {
    return process.getuid?.() === 0 ? nameless : os.userInfo().username;
  } catch {
    return nameless;
  }
}

const nameless = 'banksman';
