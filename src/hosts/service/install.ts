/** `banksman service install|status|uninstall`: root's part, on a machine with systemd. */
import { spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { loadServiceConfig, secretsFolder, serviceConfigFile, serviceSockets, serviceStateDir } from '#app/for-service';
import { Fault } from '#kernel/errors';
import { serviceUnit, socketUnit } from './units.ts';

/** Root's own copies: what lies in a user's directory is that user's to change. */
const programs = '/usr/local/lib/banksman';
const wrapper = '/usr/local/bin/banksman';
const units = '/etc/systemd/system';
const account = 'banksman';

type Say = (line: string) => void;

/** Each step may be done already: again is an upgrade, and names more users. */
export function installService(users: readonly string[], say: Say): void {
  requireSystemd();
  for (const user of users) run('id', ['-u', user], `there is no user \`${user}\``);
  if (spawnSync('id', ['-u', account]).status !== 0)
    run('useradd', ['--system', '--user-group', '--no-create-home', '--home-dir', '/nonexistent', '--shell', '/usr/sbin/nologin', account]);
  const etc = path.dirname(serviceConfigFile);
  run('install', ['-d', '-m', '0755', '-o', 'root', '-g', 'root', etc]);
  run('install', ['-d', '-m', '0700', '-o', 'root', '-g', 'root', path.join(etc, secretsFolder)]);
  run('install', ['-d', '-m', '0700', '-o', account, '-g', account, serviceStateDir]);
  // Readable: it holds no secret, and people may see what is protected.
  if (!existsSync(serviceConfigFile)) writeFileSync(serviceConfigFile, '{\n  "clusters": []\n}\n', { mode: 0o644 });
  loadServiceConfig(serviceConfigFile);
  copyPrograms();
  writeFileSync(path.join(units, 'banksman.service'), serviceUnit({ programs, configFile: serviceConfigFile, stateDir: serviceStateDir }));
  writeFileSync(path.join(units, 'banksman@.socket'), socketUnit(serviceSockets));
  run('systemctl', ['daemon-reload']);
  run('systemctl', ['stop', 'banksman.service']);
  for (const user of users) run('systemctl', ['enable', '--now', `banksman@${user}.socket`]);
  run('systemctl', ['enable', '--now', 'banksman.service']);
  say(
    `installed for ${users.length === 0 ? 'nobody yet (`--user NAME`)' : users.join(', ')}; configuration: ${serviceConfigFile}, then \`systemctl restart banksman\``,
  );
}

export function uninstallService(purge: boolean, say: Say): void {
  requireSystemd();
  for (const name of [...sockets().map((user) => `banksman@${user}.socket`), 'banksman.service'])
    spawnSync('systemctl', ['disable', '--now', name]);
  for (const file of [path.join(units, 'banksman.service'), path.join(units, 'banksman@.socket'), wrapper, programs, serviceSockets])
    rmSync(file, { recursive: true, force: true });
  run('systemctl', ['daemon-reload']);
  if (purge) {
    for (const folder of [path.dirname(serviceConfigFile), serviceStateDir]) rmSync(folder, { recursive: true, force: true });
    spawnSync('userdel', [account]);
  }
  say(
    purge
      ? 'the service is gone, with its configuration, its requests and its trail'
      : `the service is gone; ${path.dirname(serviceConfigFile)} and ${serviceStateDir} are kept (\`--purge\` removes them)`,
  );
}

/** Users that have a socket. */
export function sockets(folder: string = serviceSockets): readonly string[] {
  return existsSync(folder) ? readdirSync(folder).flatMap((name) => (name.endsWith('.sock') ? [name.slice(0, -'.sock'.length)] : [])) : [];
}

/** The program, and the Node that runs it. */
function copyPrograms(): void {
  const bundle = path.dirname(process.argv[1] ?? '');
  mkdirSync(programs, { recursive: true, mode: 0o755 });
  for (const name of readdirSync(bundle).filter((entry) => entry.endsWith('.cjs'))) replace(path.join(bundle, name), name, 0o644);
  replace(process.execPath, 'node', 0o755);
  writeFileSync(wrapper, `#!/bin/sh\nexec ${programs}/node ${programs}/cli.cjs "$@"\n`);
  chmodSync(wrapper, 0o755);
}

/** A running program's file cannot be written over, but another can take its name. */
function replace(from: string, name: string, mode: number): void {
  const to = path.join(programs, name);
  if (path.resolve(from) === to) return;
  rmSync(to, { force: true });
  copyFileSync(from, to);
  chmodSync(to, mode);
}

function requireSystemd(): void {
  if (process.getuid?.() !== 0)
    throw new Fault('needs_root', 'only root installs the service', { audience: 'user', next: 'call it with sudo' });
  if (existsSync('/run/systemd/system')) return;
  throw new Fault('no_systemd', 'systemd does not run here', { audience: 'user', next: 'docs/service.md says how to do the same by hand' });
}

function run(program: string, words: readonly string[], why?: string): void {
  const { status, stderr, error } = spawnSync(program, words, { encoding: 'utf8' });
  if (status === 0) return;
  const said = why ?? error?.message ?? stderr.trim();
  throw new Fault('install_failed', `\`${program} ${words.join(' ')}\`: ${said}`, { audience: 'user' });
}
