/** The units, looked at by systemd's own programs; nothing is installed. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { serviceUnit, socketUnit } from '#hosts/service/units';

const canAnalyze = spawnSync('systemd-analyze', ['--version']).status === 0;

it.skipIf(!canAnalyze)('are whole, and expose little (needs systemd-analyze)', () => {
  const folder = mkdtempSync(join(tmpdir(), 'banksman-units-'));
  try {
    symlinkSync(process.execPath, join(folder, 'node'));
    const [service, socket] = [join(folder, 'banksman.service'), join(folder, 'banksman@.socket')];
    writeFileSync(service, serviceUnit({ programs: folder, configFile: '/etc/banksman/config.json', stateDir: '/var/lib/banksman' }));
    writeFileSync(socket, socketUnit('/run/banksman'));
    const verified = spawnSync('systemd-analyze', ['verify', '--man=no', service, join(folder, 'banksman@root.socket')], {
      encoding: 'utf8',
    });
    expect(`${verified.stdout}${verified.stderr}`.trim()).toBe('');
    const { stdout } = spawnSync('systemd-analyze', ['security', '--offline=true', '--no-pager', service], { encoding: 'utf8' });
    const exposure = Number(/Overall exposure level for banksman\.service: ([\d.]+)/.exec(stdout)?.[1]);
    expect(exposure).toBeGreaterThan(0);
    expect(exposure).toBeLessThanOrEqual(2);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
