/** The service as a user of its own, the editor as another, and a phone: nothing of the three is in one account. */
import { spawnSync } from 'node:child_process';
import { chownSync, copyFileSync, rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import path from 'node:path';
import { type BrowserContext, chromium, type Page } from 'playwright-core';
import { addApprover } from '#app/config/config-file';
import { openEnrolment } from '#app/people/enrolments';
import { installBench } from '../../../scripts/bench/install.mjs';
import { makeCertificate } from '../../integration/page/certificate.ts';
import { addKey } from '../../integration/page/page-world.ts';
import { type Machine, startMachine, whyNoUsers } from '../../integration/service/os-users.ts';

const port = 18_444;
const name = 'banksman.test';

export interface ServiceMachine {
  readonly machine: Machine;
  readonly origin: string;
  /** The phone of the only approver: a browser of its own, with a passkey that the service pinned. */
  readonly phone: Page;
  /** Somebody else at the place of the user's socket. */
  pose(server: (say: (message: object) => void) => void): Promise<() => Promise<void>>;
  close(): Promise<void>;
}

/** Why it cannot be had here: the agents' user has to reach the editor, wherever the work tree is. */
export async function whyNoService(): Promise<string | undefined> {
  if (whyNoUsers !== undefined) return whyNoUsers;
  const { editor } = await installBench({ browser: true });
  if (editor === undefined) return 'needs the editor';
  const found = spawnSync('setpriv', ['--reuid=nobody', '--regid=nogroup', '--clear-groups', 'test', '-r', editor.entry]);
  return found.status === 0 ? undefined : `other users do not reach ${editor.entry}`;
}

export async function startServiceMachine(): Promise<ServiceMachine> {
  const machine = await startMachine();
  const closers: (() => unknown)[] = [() => machine.close()];
  const close = async () => {
    for (const closer of closers.splice(0).toReversed()) await closer();
  };
  try {
    machine.writeConfig({
      page: { origin: `https://${name}:${port}`, host: '127.0.0.1', ...certificateOf(machine) },
      approvalWait: { editor: 900_000 },
    });
    await machine.start();
    const browser = await chromium.launch({
      executablePath: process.env['BANKSMAN_BROWSER'] ?? '/usr/bin/chromium',
      args: ['--no-sandbox', '--disable-gpu', `--host-resolver-rules=MAP ${name} 127.0.0.1`],
    });
    closers.push(() => browser.close());
    const context = await browser.newContext({ viewport: { width: 390, height: 844 }, ignoreHTTPSErrors: true });
    const origin = `https://${name}:${port}`;
    const phone = await enrol(machine, context, origin);
    return { machine, origin, phone, close, pose: (server) => pose(machine, server) };
  } catch (thrown) {
    await close();
    throw thrown;
  }
}

function certificateOf({ stateDir, users, uidOf }: Machine): { readonly certFile: string; readonly keyFile: string } {
  const made = makeCertificate(name);
  const files = { certFile: path.join(stateDir, 'page.pem'), keyFile: path.join(stateDir, 'page.key') };
  copyFileSync(made.certFile, files.certFile);
  copyFileSync(made.keyFile, files.keyFile);
  for (const file of Object.values(files)) chownSync(file, uidOf(users.service), 0);
  rmSync(made.folder, { recursive: true });
  return files;
}

/** As root's `banksman approvers enroll` does it, with a yes. */
async function enrol({ stateDir, configFile }: Machine, context: BrowserContext, origin: string): Promise<Page> {
  const tab = await context.newPage();
  await addKey(await context.newCDPSession(tab));
  const invitation = await openEnrolment(stateDir, { name: 'carol-phone', person: 'carol', display: 'outside', origin, known: [] });
  await tab.goto(`${origin}/enrol#${invitation.link}`);
  await tab.getByRole('button', { name: 'Make the passkey' }).click();
  const pin = await invitation.answer(AbortSignal.timeout(60_000));
  if (pin === undefined) throw new Error('nobody made a passkey');
  await addApprover(configFile, pin);
  await invitation.close();
  await tab.getByRole('heading', { name: 'This browser' }).waitFor();
  return tab;
}

async function pose({ sockets, users, uidOf }: Machine, serve: (say: (message: object) => void) => void): Promise<() => Promise<void>> {
  const file = path.join(sockets, `${users.alice}.sock`);
  rmSync(file, { force: true });
  const open = new Set<Socket>();
  const server: Server = createServer((socket) => {
    open.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => open.delete(socket));
    serve((message) => void socket.write(`${JSON.stringify(message)}\n`));
  });
  await new Promise<void>((resolve) => void server.listen(file, resolve));
  chownSync(file, uidOf(users.alice), uidOf(users.alice));
  return async () => {
    const closed = new Promise<void>((resolve) => void server.close(() => resolve()));
    // Nobody reads from them, so that they never see the client's end.
    for (const socket of open) socket.destroy();
    await closed;
    rmSync(file, { force: true });
  };
}
