/**
 * A service that runs, from root's `approvers enroll` to the call that was approved by it and the one that no longer is: root at a terminal, a person
 * in Chromium on the service's own page over https, the agents' user at the command line.
 */
import { chownSync, copyFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type Browser, chromium, type Page as Tab } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { onTerminal, quoted } from '../cli/terminal.ts';
import { makeCertificate, spkiHash } from '../page/certificate.ts';
import { addKey, chromiumPath, settle } from '../page/page-world.ts';
import { type Machine, startMachine, whyNoUsers } from './os-users.ts';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

/** Below the ports that systems give out by themselves. */
const origin = 'https://banksman.test:18447';

describe.skipIf(whyNoUsers !== undefined)(`a passkey at the service${whyNoUsers === undefined ? '' : ` (${whyNoUsers})`}`, () => {
  let machine: Machine;
  let browser: Browser;
  let tab: Tab;

  beforeAll(async () => {
    machine = await startMachine();
    const { folder, certFile, keyFile } = makeCertificate('banksman.test');
    const files = { certFile: join(machine.stateDir, 'page.pem'), keyFile: join(machine.stateDir, 'page.key') };
    copyFileSync(certFile, files.certFile);
    copyFileSync(keyFile, files.keyFile);
    for (const file of Object.values(files)) chownSync(file, machine.uidOf(machine.users.service), 0);
    machine.writeConfig({ approvers: [], page: { origin, host: '127.0.0.1', ...files } });
    await machine.start();
    browser = await chromium.launch({
      executablePath: chromiumPath,
      // Of this key alone errors of the certificate are none; any other is refused.
      args: [
        '--no-sandbox',
        '--disable-gpu',
        '--host-resolver-rules=MAP *.test 127.0.0.1',
        `--ignore-certificate-errors-spki-list=${spkiHash(certFile)}`,
      ],
    });
    const context = await browser.newContext({ viewport: { width: 360, height: 800 }, reducedMotion: 'reduce' });
    tab = await context.newPage();
    await addKey(await context.newCDPSession(tab));
    rmSync(folder, { recursive: true });
  });
  afterAll(async () => {
    await browser?.close();
    await machine?.close();
  });

  const root = (words: readonly string[], dialogue: Parameters<typeof onTerminal>[1] = []) => {
    const { command, args, env, cwd } = machine.command('root', [...words, '--config', machine.configFile, '--state', machine.stateDir]);
    return onTerminal([command, ...args].map(quoted).join(' '), dialogue, { env, cwd });
  };
  const call = async (tool: string, vmid: number): Promise<Record<string, unknown>> => {
    const { out, err } = await machine.as(machine.users.alice, ['call', tool, '--input', JSON.stringify({ vmid }), '--json']);
    return out === '' ? { failed: err } : (JSON.parse(out) as Record<string, unknown>);
  };
  const approve = async (id: string) => {
    await tab.goto(`${origin}/r/${id}`);
    await tab.locator('main h1').waitFor();
    await settle(tab);
    await tab.getByRole('button', { name: 'Approve once' }).click();
    await tab.locator('#result').waitFor();
    return tab.locator('#result').textContent();
  };

  it('is enrolled by root: a link that is good once, one fingerprint on both sides, no restart', async () => {
    let shown: Promise<string> = Promise.resolve('');
    const open = async (link: string) => {
      await tab.goto(link);
      await tab.getByRole('button', { name: 'Make the passkey' }).click();
      await tab.locator('.fingerprint').waitFor();
      return tab.locator('.fingerprint').innerText();
    };
    const { status, screen } = await root(
      ['approvers', 'enroll', 'alice', '--display', 'outside'],
      [
        [
          'waiting',
          (seen) => {
            shown = open(/https:\S+/.exec(seen)?.[0] ?? '');
            return false;
          },
        ],
        ['Type `yes` to pin it', 'yes\r'],
      ],
    );
    expect(status, screen).toBe(0);
    const fingerprint = /fingerprint: (\S.*)/.exec(screen)?.[1];
    expect(await shown).toBe(fingerprint);
    await tab.getByRole('heading', { name: 'This browser' }).waitFor();
  });

  it('approves a call of the agents’ user, which then runs, once', async () => {
    const asked = await call('stop_vm', 100);
    expect(asked).toMatchObject({ status: 'pending' });
    expect(await approve(String(asked['request_id']))).toContain('Approved once');
    expect(await call('stop_vm', 100)).toMatchObject({ status: 'ok' });
    expect(await call('stop_vm', 100)).not.toMatchObject({ status: 'ok' });
  });

  it('revoked by root, approves nothing more, and what it approved and nobody used is worth nothing', async () => {
    const id = String((await call('start_vm', 100))['request_id']);
    expect(await approve(id)).toContain('Approved once');
    const other = String((await call('stop_container', 200))['request_id']);
    await tab.goto(`${origin}/r/${other}`);
    await tab.getByRole('button', { name: 'Approve once' }).waitFor();
    expect((await root(['approvers', 'revoke', 'alice'])).status).toBe(0);
    expect(await call('start_vm', 100)).not.toMatchObject({ status: 'ok' });
    // The page that was open says so by itself.
    await tab.getByRole('heading', { name: 'This browser is not enrolled' }).waitFor();
    expect(await tab.getByRole('button', { name: 'Approve once' }).count()).toBe(0);
    expect(await call('stop_container', 200)).not.toMatchObject({ status: 'ok' });
    expect((await machine.as('root', ['audit', 'verify', '--config', machine.configFile, '--state', machine.stateDir])).status).toBe(0);
  });
});
