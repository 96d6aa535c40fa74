/** A machine for a fleet: the built service under root's launcher, emulated clusters, agents and people as processes that can be killed. Root on Linux. */
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseConfig } from '#app/config/config';
import { createApp, type LocalApp } from '#app/create-app';
import { generateApproverKey } from '#app/for-hosts';
import { createAuthority } from '../../../src/demo/certificate.ts';
import { freePort, samplePasswords } from '../../integration/stores/valkey-server.ts';
import type { EmulatorSettings } from './children/emulator.ts';

const dist = join(import.meta.dirname, '../../../dist');
const owner = 69_000;
const fakeTime = '/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1';

export const whyNoFleet =
  process.platform !== 'linux' || process.getuid?.() !== 0
    ? 'needs root on Linux: the service has users'
    : !existsSync(join(dist, 'cli.cjs'))
      ? 'needs the built program: `npm run build`'
      : undefined;

export interface FleetProcess {
  readonly name: string;
  pid(): number;
  /** Without any chance to clean up. */
  kill(): Promise<void>;
  start(): Promise<void>;
  /** Of the one that runs now: how it ended. */
  ended(): Promise<number | null>;
}

export interface FleetOptions {
  readonly clusters: number;
  readonly nodes: number;
  /** On each node. */
  readonly guests: number;
  readonly users: number;
  readonly people: number;
  /** URL of a Valkey without parameters, and its own; absent: the embedded store. */
  readonly valkey?: string;
  readonly stateMiB: number;
  readonly taskDurationMs: number;
  /** The last cluster lies behind a link that can be taken down. */
  readonly remote?: boolean;
  /** The service's clock can be moved, where libfaketime is installed. */
  readonly clock?: boolean;
}

export interface Fleet {
  readonly folder: string;
  readonly stateDir: string;
  readonly configFile: string;
  readonly service: FleetProcess;
  readonly emulators: readonly FleetProcess[];
  readonly clusters: readonly string[];
  readonly users: readonly { readonly name: string; readonly socket: string; readonly cluster: string }[];
  readonly people: readonly { readonly name: string; readonly privateKey: string }[];
  readonly effectFiles: readonly string[];
  /** Starts `NAME.ts` of this folder with settings of its own. */
  child(name: string, label: string, settings: object): FleetProcess;
  /** Of the built command line, as the service's user, on its state or a copy of it. */
  command(words: readonly string[], stateDir?: string): { readonly status: number | null; readonly out: string };
  /** Root beside the service, on its state. To be closed. */
  inside(): Promise<LocalApp>;
  /** Moves the service's clock, in seconds from the true one; absent where that is not possible here. */
  readonly setClock?: (seconds: number) => void;
  readonly link?: { up(): void; down(): void };
  close(): Promise<void>;
}

type Undo = (() => void | Promise<void>)[];

export async function startFleet(options: FleetOptions): Promise<Fleet> {
  const undo: Undo = [];
  const close = async () => {
    process.off('SIGINT', end).off('SIGTERM', end);
    // Each, also where another one fails: nothing of it stays on the machine.
    for (const step of undo.splice(0).reverse())
      await Promise.resolve()
        .then(step)
        .catch(() => undefined);
  };
  const end = () => void close().finally(() => process.exit(130));
  process.once('SIGINT', end).once('SIGTERM', end);
  try {
    return { ...(await build(options, undo)), close };
  } catch (thrown) {
    await close();
    throw thrown;
  }
}

async function build(options: FleetOptions, undo: Undo): Promise<Omit<Fleet, 'close'>> {
  // Root's own place: the parents of `/tmp` and of the sources can be anybody's.
  const folder = mkdtempSync('/var/lib/banksman-fleet-');
  undo.push(() => rmSync(folder, { recursive: true, force: true }));
  chmodSync(folder, 0o755);
  const place = (name: string) => join(folder, name);
  const stateDir = place('state');
  for (const name of ['etc', 'etc/secrets', 'state', 'lib', 'bin', 'journals', 'homes', 'kept']) mkdirSync(place(name), { mode: 0o755 });
  // A disk of its own, so that it can be full.
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${options.stateMiB}m`, 'none', stateDir]);
  undo.push(() => void spawnSync('umount', ['--lazy', stateDir]));
  for (const name of ['state', 'kept']) own(place(name), 0o700);
  for (const name of ['cli.cjs', 'store-worker.cjs', 'sinks.cjs', 'german.cjs']) copyFileSync(join(dist, name), join(place('lib'), name));
  copyFileSync(process.execPath, join(place('lib'), 'node'));
  chmodSync(join(place('lib'), 'node'), 0o755);
  const link = options.remote === true ? makeLink(undo) : undefined;
  const emulators = await startEmulators(options, { place, link, undo });
  const people = Array.from({ length: options.people }, (_, index) => ({ name: `user:person${index + 1}`, ...generateApproverKey() }));
  const clusters = emulators.map(({ cluster }) => cluster);
  const users = Array.from({ length: options.users }, (_, index) => {
    const uid = String(70_001 + index);
    return { name: `uid-${uid}`, uid, socket: join(folder, 'run', `${uid}.sock`), cluster: clusters[index % clusters.length] ?? '' };
  });
  const configFile = join(place('etc'), 'config.json');
  const scopes = users.map(({ name, cluster }) => ({
    name,
    agents: [`user:${name}`],
    only: { clusters: [cluster] },
    reason: 'their own cluster',
  }));
  const config = {
    ...{ clusters: emulators.map(({ config: one }) => one), scopes, approvers: people.map(({ name, publicKey: key }) => ({ name, key })) },
    ...(options.valkey === undefined ? {} : { store: storeOf(options.valkey, place('etc')) }),
  };
  writeFileSync(configFile, JSON.stringify(config), { mode: 0o644 });
  const program = [join(place('lib'), 'node'), join(place('lib'), 'cli.cjs')];
  const setClock = options.clock === true && existsSync(fakeTime) ? fakeClock(place) : undefined;
  const service = serviceOf({ place, program, stateDir, configFile, users: users.map(({ uid }) => uid) });
  undo.push(() => service.kill());
  await service.start();
  return {
    ...{ folder, stateDir, configFile, service, clusters, users, people, emulators: emulators.map(({ process: one }) => one) },
    effectFiles: emulators.map(({ effects }) => effects),
    ...(link === undefined ? {} : { link }),
    ...(setClock === undefined ? {} : { setClock }),
    child: (name, label, settings) => {
      const file = place(`${label}.json`);
      writeFileSync(file, JSON.stringify(settings));
      const child = scriptOf(name, label, file);
      undo.push(() => child.kill());
      return child;
    },
    command: (words, at = stateDir) => {
      const env = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', HOME: place('kept') };
      const all = [...program.slice(1), ...words, '--config', configFile, '--state', at];
      const drop = [`--reuid=${owner}`, `--regid=${owner}`, '--clear-groups', program[0] ?? ''];
      const { status, stdout, stderr } = spawnSync('setpriv', [...drop, ...all], { encoding: 'utf8', timeout: 120_000, cwd: folder, env });
      return { status, out: stdout + stderr };
    },
    inside: () => openInside(configFile, stateDir),
  };
}

function own(file: string, mode: number): void {
  chmodSync(file, mode);
  chownSync(file, owner, owner);
}

function storeOf(url: string, folder: string): string {
  const file = join(folder, 'secrets', 'valkey.json');
  writeFileSync(file, JSON.stringify(samplePasswords));
  own(file, 0o600);
  return `${url}${url.includes('?') ? '&' : '?'}credentials=${file}`;
}

export async function openInside(configFile: string, stateDir: string): Promise<LocalApp> {
  const silent = () => undefined;
  return createApp({
    ...{ config: parseConfig(JSON.parse(readFileSync(configFile, 'utf8')), 'fleet'), baseDir: stateDir, stateDir, via: 'cli' },
    ...{ configFile, namedConfigFile: configFile, version: 'fleet', log: { debug: silent, info: silent, warn: silent, error: silent } },
  });
}

/** A network of its own behind a pair of links, for one cluster. */
interface Link {
  readonly address: string;
  readonly wrap: readonly string[];
  up(): void;
  down(): void;
}

function makeLink(undo: Undo): Link {
  const mark = String(process.pid);
  const [space, here, there] = [`bks${mark}`, `bka${mark}`, `bkb${mark}`];
  const ip = (...words: readonly string[]) => execFileSync('ip', words, { stdio: 'ignore' });
  const net = `10.213.${process.pid % 250}`;
  ip('netns', 'add', space);
  undo.push(() => void spawnSync('ip', ['netns', 'delete', space]));
  ip('link', 'add', here, 'type', 'veth', 'peer', 'name', there, 'netns', space);
  undo.push(() => void spawnSync('ip', ['link', 'delete', here]));
  ip('addr', 'add', `${net}.1/24`, 'dev', here);
  ip('link', 'set', here, 'up');
  ip('-n', space, 'addr', 'add', `${net}.2/24`, 'dev', there);
  ip('-n', space, 'link', 'set', there, 'up');
  ip('-n', space, 'link', 'set', 'lo', 'up');
  return {
    address: `${net}.2`,
    wrap: ['ip', 'netns', 'exec', space],
    up: () => void ip('link', 'set', here, 'up'),
    down: () => void ip('link', 'set', here, 'down'),
  };
}

interface EmulatorPlaces {
  readonly place: (name: string) => string;
  readonly link: Link | undefined;
  readonly undo: Undo;
}

async function startEmulators(options: FleetOptions, places: EmulatorPlaces) {
  const names = Array.from({ length: options.clusters }, (_, index) => `c${index + 1}`);
  return Promise.all(names.map((cluster) => startEmulator(cluster, { ...options, isLast: cluster === names.at(-1) }, places)));
}

async function startEmulator(
  cluster: string,
  options: FleetOptions & { readonly isLast: boolean },
  { place, link: all, undo }: EmulatorPlaces,
) {
  const link = options.isLast ? all : undefined;
  const address = link?.address ?? '127.0.0.1';
  const certificate = createAuthority(`Fleet ${cluster}`, Date.now()).issue(`${cluster}n1`, [`${cluster}n1`], [address]);
  const token = { id: 'fleet@pve!banksman', secret: crypto.randomUUID() };
  const effects = join(place('journals'), `${cluster}.jsonl`);
  const settings: EmulatorSettings = {
    ...{ cluster, nodes: options.nodes, guests: options.guests, taskDurationMs: options.taskDurationMs },
    ...{ address, port: await freePort(), certificate, token, effects },
  };
  const file = place(`${cluster}.json`);
  writeFileSync(file, JSON.stringify(settings), { mode: 0o600 });
  const tokenFile = join(place('etc'), 'secrets', `${cluster}.token`);
  writeFileSync(tokenFile, token.secret);
  own(tokenFile, 0o600);
  const child = scriptOf('emulator', cluster, file, link?.wrap);
  undo.push(() => child.kill());
  await child.start();
  const endpoints = [`https://${address}:${settings.port}`];
  return {
    cluster,
    effects,
    process: child,
    config: { name: cluster, endpoints, tokenId: token.id, tokenFile, tls: { fingerprint: certificate.fingerprint } },
  };
}

/** A process that can be started again. `lead`: the one that is wanted, where what was started is only its launcher. */
function restartable(
  name: string,
  begin: () => ChildProcess,
  { ready, lead = (pid) => pid }: { ready: RegExp; lead?: (pid: number) => number },
): FleetProcess {
  let child: ChildProcess | undefined;
  const isOver = () => child === undefined || child.exitCode !== null || child.signalCode !== null;
  // INVARIANT: never 0, which would name the whole group.
  const pid = () => {
    const started = child?.pid ?? 0;
    const found = lead(started) || started;
    if (found > 1) return found;
    throw new Error(`${name} does not run`);
  };
  const ended = async () => {
    if (child !== undefined && !isOver()) await once(child, 'exit');
    return child?.exitCode ?? null;
  };
  return {
    ...{ name, pid, ended },
    kill: async () => {
      if (isOver()) return;
      const gone = ended();
      process.kill(pid(), 'SIGKILL');
      await gone;
    },
    start: async () => {
      const one = begin();
      child = one;
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const said: string[] = [];
      for (const stream of [one.stdout, one.stderr])
        if (stream)
          createInterface({ input: stream }).on('line', (line) => {
            if (said.length < 50) said.push(line);
            if (ready.test(line)) resolve();
          });
      one.once('exit', () => reject(new Error(`${name} ended: ${said.join(' | ')}`)));
      await promise;
    },
  };
}

function scriptOf(name: string, label: string, file: string, wrap: readonly string[] = []): FleetProcess {
  const [command = '', ...words]: readonly string[] = [
    ...wrap,
    process.execPath,
    join(import.meta.dirname, 'children', `${name}.ts`),
    file,
  ];
  return restartable(label, () => spawn(command, words, { stdio: ['ignore', 'pipe', 'pipe'] }), { ready: /^(?:ready|done)$/ });
}

interface ServicePlaces {
  readonly place: (name: string) => string;
  readonly program: readonly string[];
  readonly stateDir: string;
  readonly configFile: string;
  readonly users: readonly string[];
}

function serviceOf({ place, program: [node = '', ...script], stateDir, configFile, users }: ServicePlaces): FleetProcess {
  const words = ['service', 'run', '--config', configFile, '--state', stateDir, '--sockets', place('run')];
  const env = { PATH: `${place('bin')}:/usr/sbin:/usr/bin:/sbin:/bin` };
  const begin = () =>
    spawn(node, [...script, ...words, ...users.flatMap((user) => ['--user', user])], { stdio: ['ignore', 'ignore', 'pipe'], env });
  const only = (launcher: number) => Number(readFileSync(`/proc/${launcher}/task/${launcher}/children`, 'utf8').trim().split(' ')[0] ?? 0);
  const service = restartable('service', begin, { ready: /the service serves/, lead: only });
  return {
    ...service,
    start: async () => {
      // The one before has gone, and its launcher; what they held may take a moment.
      for (let tries = 0; ; tries += 1) {
        try {
          return await service.start();
        } catch (thrown) {
          if (tries === 50) throw thrown;
          await sleep(200);
        }
      }
    },
  };
}

/** The launcher starts the service with `setpriv`: one of that name in front of it moves the clock of what it starts, once that is another user's. */
function fakeClock(place: (name: string) => string): (seconds: number) => void {
  const file = place('clock');
  const set = (seconds: number) => writeFileSync(file, `${seconds < 0 ? '' : '+'}${seconds}s`);
  set(0);
  const env = [`LD_PRELOAD=${fakeTime}`, `FAKETIME_TIMESTAMP_FILE=${file}`, 'FAKETIME_CACHE_DURATION=1', 'FAKETIME_DONT_FAKE_MONOTONIC=1'];
  const script = `#!/bin/sh
put=
for word do
  shift
  case "$put$word" in
    --*) ;;
    *) [ -n "$put" ] || set -- "$@" /usr/bin/env ${env.join(' ')}; put=1 ;;
  esac
  set -- "$@" "$word"
done
exec /usr/bin/setpriv "$@"
`;
  writeFileSync(join(place('bin'), 'setpriv'), script, { mode: 0o755 });
  return set;
}
