/** The page on a real App with the demo cluster, in this process; people in real browsers, with Chromium's virtual authenticator. */
import { join } from 'node:path';
import { type BrowserContext, type CDPSession, chromium, type Page as Tab } from 'playwright-core';
import type { PageConfig } from '#app/config/config';
import type { Origin } from '#app/config/config-agreement';
import { addApprover, removeApprover } from '#app/config/config-file';
import type { LocalApp } from '#app/create-app';
import { cliAgent } from '#app/for-hosts';
import { openEnrolment } from '#app/people/enrolments';
import { type Page, startPage } from '#hosts/page/start-page';
import type { Display } from '#kernel/approval/security';
import type { Outcome } from '#kernel/outcome';
import { call, startWorld, type World } from '../app/support.ts';

export interface PageWorld {
  readonly world: World;
  readonly app: LocalApp;
  readonly page: Page;
  /** One call with nobody waiting. */
  call(tool: string, input: object, agent?: string): Promise<Outcome>;
  /** A call that waits for a person. @returns the request's id */
  ask(tool: string, input: object, agent?: string): Promise<string>;
  /** As the service started anew: another process's memory, the same place. */
  restart(): Promise<void>;
  /** A one-time link, and what its maker sees. */
  invite(name: string, display?: Display): Promise<Invitation>;
  revoke(name: string): Promise<void>;
  device(options?: DeviceOptions): Promise<Device>;
  /** A device whose passkey counts already. */
  enrolled(name: string, options?: DeviceOptions, display?: Display): Promise<Device>;
  close(): Promise<void>;
}

interface Invitation {
  readonly url: string;
  /** Resolves when a passkey was made: says yes to it. */
  confirm(): Promise<void>;
}

export interface DeviceOptions {
  readonly width?: number;
  readonly height?: number;
  readonly scheme?: 'light' | 'dark';
  /** What the browser prefers (`Accept-Language`). */
  readonly locale?: string;
}

/** A browser of its own, with an authenticator of its own. */
export interface Device {
  readonly context: BrowserContext;
  readonly tab: Tab;
  readonly key: VirtualKey;
  open(path: string): Promise<void>;
}

interface VirtualKey {
  /** Whether a finger is on the key by itself. */
  touched(touched: boolean): Promise<void>;
  /** Whether the finger is the right one. */
  verifies(verifies: boolean): Promise<void>;
  /** As a synced passkey goes from device to device. */
  all(): Promise<readonly Credential[]>;
  add(credentials: readonly Credential[]): Promise<void>;
}

type Credential = Awaited<ReturnType<typeof credentialsOf>>[number];

const credentialsOf = async (session: CDPSession, authenticatorId: string) =>
  (await session.send('WebAuthn.getCredentials', { authenticatorId })).credentials;

export const chromiumPath = process.env['BANKSMAN_BROWSER'] ?? '/usr/bin/chromium';

/** @param place default: any port of localhost. @param isDemo as `npm start`: a passkey may be software */
export async function openPageWorld(
  changes: { readonly [key: string]: unknown } = {},
  place: PageConfig = { origin: 'http://localhost:0', demo: true },
  whose?: Origin,
  isDemo = false,
): Promise<PageWorld> {
  const world = await startWorld();
  const app = await world.open(changes, undefined, undefined, whose === undefined ? {} : { origin: whose });
  const log = {
    debug: () => undefined,
    info: () => undefined,
    warn: () => undefined,
    error: (line: string) => void world.lines.push(line),
  };
  const start = (at: PageConfig) => startPage({ app, page: at, baseDir: '/', log, isDemo });
  let page = await start(place);
  const browser = await chromium.launch({
    executablePath: chromiumPath,
    args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--host-resolver-rules=MAP *.test 127.0.0.1'],
  });
  const configFile = join(world.stateDir, '..', 'config.json');
  const pins = new Map<string, string>();
  const ended = new AbortController();
  const run = (tool: string, input: object, agent = 'tester') => call(app, tool, input, { agent: cliAgent(agent, 'advanced') });
  const device = async ({ width = 1280, height = 800, scheme = 'light', locale = 'en-US' }: DeviceOptions = {}): Promise<Device> => {
    const context = await browser.newContext({
      viewport: { width, height },
      colorScheme: scheme,
      locale,
      reducedMotion: 'reduce',
      ignoreHTTPSErrors: true,
    });
    const tab = await context.newPage();
    return { context, tab, key: await addKey(await context.newCDPSession(tab)), open: (path) => openAt(tab, page.origin + path) };
  };
  const invite = async (name: string, display: Display = 'outside'): Promise<Invitation> => {
    const open = await openEnrolment(world.stateDir, { name, person: name.replace(/-.*$/, ''), display, origin: page.origin, known: [] });
    return {
      url: `${page.origin}/enrol#${open.link}`,
      confirm: async () => {
        const pin = await open.answer(ended.signal);
        if (pin === undefined) throw new Error('nobody made a passkey');
        pins.set(name, pin.key);
        await addApprover(configFile, pin);
        await open.close();
      },
    };
  };
  return {
    world,
    app,
    get page() {
      return page;
    },
    call: run,
    ask: async (tool, input, agent) => {
      const outcome = await run(tool, input, agent);
      if (outcome.request_id === undefined) throw new Error(`${tool} did not ask: ${outcome.message}`);
      return outcome.request_id;
    },
    restart: async () => {
      const { origin } = page;
      await page.close();
      page = await start({ ...place, origin });
    },
    invite,
    revoke: async (name) => void (await removeApprover(configFile, pins.get(name) ?? '')),
    device,
    enrolled: async (name, options, display) => {
      const made = await device(options);
      const invitation = await invite(name, display);
      await made.tab.goto(invitation.url);
      await made.tab.locator('#enrol').click();
      await invitation.confirm();
      await made.tab.locator('[data-sound]').waitFor();
      return made;
    },
    close: async () => {
      ended.abort();
      await browser.close();
      await page.close();
      await world.close();
    },
  };
}

/** Chrome DevTools Protocol, domain WebAuthn. */
export async function addKey(session: CDPSession): Promise<VirtualKey> {
  await session.send('WebAuthn.enable');
  const { authenticatorId } = await session.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      ...{ protocol: 'ctap2', ctap2Version: 'ctap2_1', transport: 'internal', hasResidentKey: true, hasUserVerification: true },
      ...{ isUserVerified: true, automaticPresenceSimulation: true },
    },
  });
  return {
    touched: async (enabled) => void (await session.send('WebAuthn.setAutomaticPresenceSimulation', { authenticatorId, enabled })),
    all: () => credentialsOf(session, authenticatorId),
    add: async (credentials) => {
      for (const credential of credentials) await session.send('WebAuthn.addCredential', { authenticatorId, credential });
    },
    verifies: async (isUserVerified) => void (await session.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified })),
  };
}

/** Until the page shows what the server made of it. */
async function openAt(tab: Tab, url: string): Promise<void> {
  await tab.goto(url);
  await tab.locator('main h1').waitFor();
}

/** What was on screen for a moment only is no card that was read: buttons count after that. */
export async function settle(tab: Tab): Promise<void> {
  await tab.waitForFunction(() => performance.now() > 0);
  await tab.waitForTimeout(800);
}
