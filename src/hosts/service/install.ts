/** `banksman service install|status|uninstall`: root's part, on a machine with systemd. */
import { spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, existsSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { loadServiceConfig, secretsFolder, serviceConfigFile, serviceSockets, serviceStateDir } from '#app/for-service';
import { Fault } from '#kernel/errors';
import { isHeard } from './launch.ts';
import { serviceUnit, socketUnit } from './units.ts';

/** Root's own copies: what lies in a user's directory is that user's to change. */
const programs = '/usr/local/lib/banksman';
const wrapper = '/usr/local/bin/banksman';
const units = '/etc/systemd/system';
const account = 'banksman';

type Say = (line: string) => void;

/** Each step may be done already: again is an upgrade, and names more users. */
export function installService(users: readonly string[], say: Say): void {
  requireRoot();
  for (const user of users) run('id', ['-u', user], `there is no user \`${user}\``);
  if (spawnSync('id', ['-u', account]).status !== 0)
    run('useradd', ['--system', '--user-group', '--no-create-home', '--home-dir', '/nonexistent', '--shell', '/usr/sbin/nologin', account]);
  const etc = path.dirname(serviceConfigFile);
  run('install', ['-d', '-m', '0755', '-o', 'root', '-g', 'root', etc]);
  run('install', ['-d', '-m', '0750', '-o', 'root', '-g', account, path.join(etc, secretsFolder)]);
  run('install', ['-d', '-m', '0700', '-o', account, '-g', account, serviceStateDir]);
  // Readable: it holds no secret, and people may see what is protected.
  if (!existsSync(serviceConfigFile)) write(serviceConfigFile, '{\n  "clusters": []\n}\n', 0o644);
  loadServiceConfig(serviceConfigFile);
  copyPrograms();
  if (hasSystemd()) installUnits(users);
  say(`installed for ${users.length === 0 ? 'nobody yet (`--user NAME`)' : users.join(', ')}; configuration: ${serviceConfigFile}`);
  say(
    hasSystemd()
      ? 'after a change of it: `systemctl restart banksman`'
      : `systemd does not run here: keep \`${wrapper} service run${users.map((user) => ` --user ${user}`).join('')}\` running, as root; secrets are files of \`${account}\`, 0600`,
  );
}

function installUnits(users: readonly string[]): void {
  write(path.join(units, 'banksman.service'), serviceUnit({ programs, configFile: serviceConfigFile, stateDir: serviceStateDir }), 0o644);
  write(path.join(units, 'banksman@.socket'), socketUnit(serviceSockets), 0o644);
  run('systemctl', ['daemon-reload']);
  run('systemctl', ['stop', 'banksman.service']);
  for (const user of users) run('systemctl', ['enable', '--now', `banksman@${user}.socket`]);
  run('systemctl', ['enable', '--now', 'banksman.service']);
}

/** Nothing that is there is no fault. @throws {Fault} `still_running` where nobody here can end it */
export async function uninstallService(purge: boolean, say: Say): Promise<void> {
  requireRoot();
  if (hasSystemd())
    for (const name of [...sockets().map((user) => `banksman@${user}.socket`), 'banksman.service'])
      spawnSync('systemctl', ['disable', '--now', name]);
  await requireStopped();
  for (const file of [path.join(units, 'banksman.service'), path.join(units, 'banksman@.socket'), wrapper, programs, serviceSockets])
    rmSync(file, { recursive: true, force: true });
  if (hasSystemd()) run('systemctl', ['daemon-reload']);
  if (purge) {
    for (const folder of [path.dirname(serviceConfigFile), serviceStateDir]) rmSync(folder, { recursive: true, force: true });
    spawnSync('userdel', [account]);
  }
  say(
    `the service is gone${purge ? `, with its configuration, its requests, its trail and the user \`${account}\`` : `; ${keptInWords()}`}`,
  );
}

async function requireStopped(): Promise<void> {
  for (const user of sockets())
    if (await isHeard(path.join(serviceSockets, `${user}.sock`)))
      throw new Fault('still_running', `the service still runs, and listens for ${user}; nothing was removed`, {
        audience: 'user',
        next: 'end what keeps `banksman service run` running',
      });
}

function keptInWords(): string {
  const kept = [path.dirname(serviceConfigFile), serviceStateDir].filter((folder) => existsSync(folder));
  return kept.length === 0
    ? 'nothing of it is kept'
    : `${kept.join(' and ')} and the user \`${account}\` are kept (\`--purge\` removes them)`;
}

/** Users that have a socket. */
export function sockets(folder: string = serviceSockets): readonly string[] {
  return existsSync(folder) ? readdirSync(folder).flatMap((name) => (name.endsWith('.sock') ? [name.slice(0, -'.sock'.length)] : [])) : [];
}

/** The program, and the Node that runs it. */
function copyPrograms(): void {
  const bundle = path.dirname(process.argv[1] ?? '');
  run('install', ['-d', '-m', '0755', '-o', 'root', '-g', 'root', programs]);
  // Of the version before, too.
  for (const name of readdirSync(programs))
    if (path.resolve(bundle) !== programs && name.endsWith('.cjs')) rmSync(path.join(programs, name));
  for (const name of readdirSync(bundle).filter((entry) => entry.endsWith('.cjs'))) replace(path.join(bundle, name), name, 0o644);
  replace(process.execPath, 'node', 0o755);
  write(wrapper, `#!/bin/sh\nexec ${programs}/node ${programs}/cli.cjs "$@"\n`, 0o755);
}

/** A running program's file cannot be written over, but another can take its name. */
function replace(from: string, name: string, mode: number): void {
  const to = path.join(programs, name);
  if (path.resolve(from) === to) return;
  rmSync(to, { force: true });
  copyFileSync(from, to);
  chmodSync(to, mode);
}

function requireRoot(): void {
  if (process.getuid?.() !== 0)
    throw new Fault('needs_root', 'only root installs the service, or takes it away', { audience: 'user', next: 'call it with sudo' });
}

function hasSystemd(): boolean {
  return existsSync('/run/systemd/system');
}

/** Whatever mask root works with, and in the place of a link: npm leaves one where the wrapper goes. */
function write(file: string, text: string, mode: number): void {
  const temporary = `${file}.new`;
  writeFileSync(temporary, text);
  chmodSync(temporary, mode);
  renameSync(temporary, file);
}

function run(program: string, words: readonly string[], why?: string): void {
  const { status, stderr, error } = spawnSync(program, words, { encoding: 'utf8' });
  if (status === 0) return;
  const said = why ?? error?.message ?? stderr.trim();
  throw new Fault('install_failed', `\`${program} ${words.join(' ')}\`: ${said}`, { audience: 'user' });
}
