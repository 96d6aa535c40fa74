/** Real users, directories of root's and the built program: all of it is taken away again, whatever happens. */
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { chmodSync, chownSync, copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseConfig } from '#app/config/config';
import { createApp, type LocalApp } from '#app/create-app';
import { generateApproverKey, signerFrom } from '#app/for-hosts';
import { type DemoCluster, startDemoCluster } from '#demo/index';
import type { Signer } from '#kernel/approval/answer';

export const whyNoUsers =
  process.platform !== 'linux' || process.getuid?.() !== 0
    ? 'needs root on Linux: users are made'
    : !existsSync(join(import.meta.dirname, '../../../dist/cli.cjs'))
      ? 'needs the built program: `npm run build`'
      : undefined;

const silent = () => undefined;
const quiet = { debug: silent, info: silent, warn: silent, error: silent };

export interface Said {
  readonly status: number | null;
  readonly out: string;
  readonly err: string;
}

export interface Machine {
  readonly folder: string;
  readonly configFile: string;
  readonly stateDir: string;
  readonly sockets: string;
  readonly demo: DemoCluster;
  readonly person: Signer;
  /** The service's own account, and two people's. */
  readonly users: { readonly service: string; readonly alice: string; readonly bob: string; readonly stranger: string };
  uidOf(user: string): number;
  start(): Promise<void>;
  /** Starts it where it is expected to end by itself. */
  fails(users?: readonly string[]): Promise<Said>;
  stop(): Promise<void>;
  /** The command line as that user. */
  as(user: string, words: readonly string[], group?: string): Promise<Said>;
  /** The same, for whoever starts it themselves. */
  command(user: string, words: readonly string[]): { command: string; args: string[]; cwd: string; env: Record<string, string> };
  /** Any program as that user, in a directory that is theirs. */
  run(user: string, command: readonly string[]): Promise<Said>;
  writeConfig(more?: object): void;
  /** Root beside the service, on its state: what the page and root's commands do. To be closed. */
  inside(): Promise<LocalApp>;
  /** Pid of the service itself, which the launcher started. */
  servicePid(): number;
  close(): Promise<void>;
}

export async function startMachine(): Promise<Machine> {
  // Root's own place: the parents of `/tmp` and of the sources can be anybody's.
  const folder = mkdtempSync('/var/lib/banksman-test-');
  chmodSync(folder, 0o755);
  const mark = folder
    .slice(-6)
    .toLowerCase()
    .replaceAll(/[^a-z0-9]/g, 'x');
  const users = { service: `bksvc${mark}`, alice: `bkali${mark}`, bob: `bkbob${mark}`, stranger: `bkstr${mark}` };
  const made: string[] = [];
  const demo = await startDemoCluster({ taskDurationMs: 50 });
  const [configDir, stateDir, sockets, lib] = ['etc', 'state', 'run', 'lib'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
    string,
  ];
  const configFile = join(configDir, 'config.json');
  const pair = generateApproverKey();
  let launcher: ChildProcess | undefined;
  const uidOf = (user: string) => Number(execFileSync('id', ['-u', user], { encoding: 'utf8' }));
  const program = [join(lib, 'node'), join(lib, 'cli.cjs')];
  const launch = (names: readonly string[] = [users.alice, users.bob]) =>
    spawn(
      program[0] ?? '',
      [
        ...program.slice(1),
        ...['service', 'run', '--config', configFile, '--state', stateDir, '--sockets', sockets],
        ...names.flatMap((name) => ['--user', name]),
      ],
      { stdio: ['ignore', 'ignore', 'pipe'] },
    );
  /** Were expected to end by themselves. */
  const expected = new Set<ChildProcess>();
  const close = async () => {
    await stop();
    for (const child of expected) child.kill('SIGTERM');
    await demo.close();
    spawnSync('umount', ['--lazy', stateDir]);
    for (const user of made) spawnSync('userdel', ['--force', user]);
    rmSync(folder, { recursive: true, force: true });
  };
  const stop = async () => {
    if (launcher === undefined || launcher.exitCode !== null) return;
    const ended = new Promise((resolve) => launcher?.once('exit', resolve));
    launcher.kill('SIGTERM');
    await ended;
    launcher = undefined;
  };
  try {
    for (const user of Object.values(users)) {
      execFileSync('useradd', ['--system', '--user-group', '--no-create-home', '--shell', '/usr/sbin/nologin', user]);
      made.push(user);
    }
    for (const directory of [configDir, stateDir, lib, join(configDir, 'secrets')]) mkdirSync(directory, { mode: 0o755 });
    // A disk of its own, so that it can be full.
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=24m', 'none', stateDir]);
    chmodSync(stateDir, 0o700);
    chownSync(stateDir, uidOf(users.service), uidOf(users.service));
    for (const name of ['cli.cjs', 'store-worker.cjs', 'sinks.cjs', 'german.cjs'])
      copyFileSync(join(import.meta.dirname, '../../../dist', name), join(lib, name));
    copyFileSync(process.execPath, join(lib, 'node'));
    chmodSync(join(lib, 'node'), 0o755);
    for (const user of [users.alice, users.bob, users.stranger]) {
      for (const directory of [join(folder, user), join(folder, user, 'work')]) {
        mkdirSync(directory, { mode: 0o700 });
        chownSync(directory, uidOf(user), uidOf(user));
      }
    }
  } catch (thrown) {
    await close();
    throw thrown;
  }
  const commandOf = (user: string, command: readonly string[], group = user) => ({
    command: 'setpriv',
    args: [`--reuid=${user}`, `--regid=${group}`, '--clear-groups', ...command],
    cwd: user === 'root' ? folder : join(folder, user, 'work'),
    env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', HOME: join(folder, user), BANKSMAN_SERVICE: sockets },
  });
  // Never in this thread's way: the cluster lives in it.
  const run = async (user: string, command: readonly string[], group = user): Promise<Said> => {
    const { command: start, args, ...place } = commandOf(user, command, group);
    const child = spawn(start, args, { ...place, stdio: ['ignore', 'pipe', 'pipe'], timeout: 60_000 });
    let [out, err] = ['', ''];
    child.stdout.on('data', (chunk: Buffer) => {
      out += chunk.toString();
    });
    child.stderr.on('data', (chunk: Buffer) => {
      err += chunk.toString();
    });
    const status = await new Promise<number | null>((resolve) => void child.once('close', resolve));
    return { status, out, err };
  };
  const machine: Machine = {
    ...{ folder, configFile, stateDir, sockets, demo, users, uidOf, close, stop, run },
    person: signerFrom(pair.privateKey, 'user:carol'),
    writeConfig: (more = {}) => {
      const { clusters = [], ...rest } = demo.config as unknown as { clusters?: { tokenFile?: string }[] };
      const secrets = clusters.map(({ tokenFile = '', ...cluster }, index) => {
        const file = join(configDir, 'secrets', `token${index}`);
        copyFileSync(tokenFile, file);
        chmodSync(file, 0o600);
        chownSync(file, uidOf(users.service), uidOf(users.service));
        return { ...cluster, tokenFile: file };
      });
      const approvers = [{ name: 'user:carol', key: pair.publicKey }];
      writeFileSync(configFile, JSON.stringify({ ...rest, clusters: secrets, approvers, ...more }, null, 2), { mode: 0o644 });
    },
    inside: () =>
      createApp({
        config: parseConfig({}, 'test'),
        ...{ baseDir: stateDir, stateDir, configFile, namedConfigFile: configFile, via: 'cli', version: 'test', log: quiet },
      }),
    command: (user, words) => commandOf(user, [...program, ...words]),
    as: (user, words, group) => run(user, [...program, ...words], group),
    start: async () => {
      launcher = launch();
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const child = launcher;
      let said = '';
      child.stderr?.on('data', (chunk: Buffer) => {
        said += chunk.toString();
        if (said.includes('the service serves')) resolve();
      });
      child.once('exit', () => reject(new Error(said)));
      return promise;
    },
    fails: async (names) => {
      const child = launch(names);
      expected.add(child);
      let err = '';
      child.stderr?.on('data', (chunk: Buffer) => {
        err += chunk.toString();
      });
      const status = await new Promise<number | null>((resolve) => void child.once('exit', resolve));
      return { status, out: '', err };
    },
    servicePid: () => Number(execFileSync('pgrep', ['-u', users.service, '-f', `${folder}.*service run`], { encoding: 'utf8' }).trim()),
  };
  machine.writeConfig();
  return machine;
}
