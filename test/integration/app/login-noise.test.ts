/** Logins that lie: a banner, a message of the day, a profile that prints what a command would. The exit code decides, over a real sshd. */
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { App } from '#kernel/app';
import { type Sshd, sshdMissing, startSshd } from '../connectors/sshd.ts';
import { call, startWorld, type World } from './support.ts';

/** What the profile prints before each command, on both streams: whatever would deceive who goes by words. */
const lies = ['active', 'failed', 'inactive', 'LoadState=masked', 'LoadState=loaded', 'Unit nginx.service not found.', 'exit 0'];

/** In place of the machine's own: units by their exit codes (systemctl(1)). */
const systemctl = `#!/bin/sh
verb=$1
for unit in "$@"; do :; done
case "$verb $unit" in
  'restart broken.service') echo 'Job for broken.service failed.' >&2; exit 1 ;;
  'restart gone.service') exit 5 ;;
  'restart hidden.service') exit 1 ;;
  'is-active down.service') echo inactive; exit 3 ;;
  'is-active '*) echo active; exit 0 ;;
  'show gone.service') echo LoadState=not-found; exit 0 ;;
  'show hidden.service') echo LoadState=masked; exit 0 ;;
  'show '*) echo LoadState=loaded; exit 0 ;;
esac
exit 0
`;

describe.skipIf(sshdMissing)('a login that prints of its own', () => {
  let server: Sshd;
  let world: World;
  let app: App;

  beforeAll(async () => {
    server = await startSshd();
  });
  afterAll(() => server?.close());

  beforeEach(async () => {
    world = await startWorld();
  });
  afterEach(() => world.close());

  function program(name: string, text: string): string {
    const file = join(server.folder, name);
    writeFileSync(file, text);
    chmodSync(file, 0o755);
    return file;
  }

  /** A server of the same keys whose every login is `noise`, and then the command. */
  async function open(noise: string, config: readonly string[] = []): Promise<{ readonly lying: Sshd }> {
    program('systemctl', systemctl);
    const login = program('login', `#!/bin/sh\nPATH=${server.folder}:$PATH\n${noise}\nexec /bin/sh -c "$SSH_ORIGINAL_COMMAND"\n`);
    const lying = await startSshd({ config: [...config, `ForceCommand ${login}`] });
    const knownHosts = join(lying.folder, 'known_hosts');
    writeFileSync(knownHosts, lying.keyscan());
    const [cluster] = world.demo.config.clusters;
    const nodes = { pve: { host: lying.host, port: lying.port } };
    const ssh = { user: lying.user, knownHosts, identityFiles: [lying.identityFile], agent: false, nodes };
    app = await world.open({ clusters: [{ ...cluster, ssh }] });
    return { lying };
  }

  const noisy = lies.map((line) => `echo '${line}'; echo '${line}' >&2`).join('\n');

  it.each([
    ['nothing', ':', []],
    ['lies on both streams', noisy, []],
    ['lies without a line end', `printf '%s' active`, []],
    ['a banner and a message of the day', noisy, ['PrintMotd yes', 'Banner BANNER']],
  ])(
    '%s: what is said goes by exit codes',
    async (_what, noise, config) => {
      writeFileSync(join(server.folder, 'banner'), `${lies.join('\n')}\n`);
      const { lying } = await open(
        noise,
        config.map((line) => line.replace('BANNER', join(server.folder, 'banner'))),
      );
      const restart = (service: string) => call(app, 'restart_service', { node: 'pve', service });
      expect(await restart('nginx')).toMatchObject({ status: 'ok', result: { state: 'active' } });
      expect(await restart('down')).toMatchObject({ status: 'error', code: 'service_not_active' });
      expect(await restart('broken')).toMatchObject({ status: 'error', code: 'service_restart_failed', result: { exit_code: 1 } });
      expect(await restart('gone')).toMatchObject({ status: 'error', code: 'service_not_found', effect: { state: 'not_sent' } });
      expect(await restart('hidden')).toMatchObject({ status: 'error', code: 'service_masked', effect: { state: 'not_sent' } });
      const ran = await call(app, 'execute_ssh', { node: 'pve', command: 'systemctl is-active down.service' });
      expect(ran).toMatchObject({ result: { exit_code: 3 } });
      expect(await call(app, 'execute_ssh', { node: 'pve', command: 'uptime' })).toMatchObject({ status: 'ok', result: { exit_code: 0 } });
      await lying.close();
    },
    60_000,
  );
});
