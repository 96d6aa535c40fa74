/** The page on which people approve with a passkey: served by whoever holds the store. */
import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { PageConfig } from '#app/config/config';
import type { App, Approvals } from '#kernel/app';
import type { PasskeyDesk } from '#kernel/approval/passkey';
import { requestIdPattern } from '#kernel/approval/request';
import { faultMessage, toFault } from '#kernel/errors';
import type { Log } from '#kernel/ports/log';
import { inEnglish, inWords, type Language, say } from '#kernel/text/message';
import { actions, foundIn, type PageContext } from './actions.ts';
import { type Clients, createClients } from './clients.ts';
import { demoScript } from './demo-passkey.ts';
import { beginStream, bodyOf, createDoor, type Door, documentPolicy, Refused, send } from './door.ts';
import { listenForPage, type PageAddress } from './listen.ts';
import { drawnView, type Tell } from './markup.ts';
import { pageScript } from './page-script.ts';
import { pageStyle } from './page-style.ts';
import { languageOf } from './reader.ts';
import { createSessions, type Session } from './sessions.ts';
import { icon, shell, strangerView } from './views.ts';

export interface PageOptions {
  readonly app: {
    readonly approvals: Pick<Approvals, 'list' | 'get' | 'card' | 'deny' | 'onChange'>;
    readonly plans: PageContext['plans'];
    readonly security: Pick<App['security'], 'pause' | 'onChange'>;
    passkeyDesk(origin: string): PasskeyDesk;
  };
  readonly page: PageConfig;
  /** Relative paths in `page` count from here. */
  readonly baseDir: string;
  readonly log: Log;
  /** Of the demo, where a passkey may be software: nothing but `banksman page` says so. */
  readonly isDemo?: boolean;
}

export interface Page {
  /** `http://localhost:443`; `origin + /r/ + id` shows a request. */
  readonly origin: string;
  close(): Promise<void>;
}

const sweepMs = 60_000;

interface Parts extends PageContext {
  readonly address: PageAddress;
  readonly door: Door;
  readonly clients: Clients;
  readonly changes: Changes;
  readonly log: Log;
}

/** @throws {Fault} where the page's place cannot be held whole (`listenForPage`) */
export async function startPage({ app, page, baseDir, log, isDemo = false }: PageOptions): Promise<Page> {
  // What comes before the parts are there is no earlier than the port.
  let parts: Parts | undefined;
  const clients = createClients();
  const listeners = await listenForPage(page, baseDir, {
    connection: clients.accept,
    request: (request, response) => {
      if (parts !== undefined) void answer(request, response, parts);
      else response.destroy();
    },
  });
  const { address } = listeners;
  const desk = app.passkeyDesk(address.origin);
  const changes = createChanges(app);
  const door = createDoor(address);
  const { approvals, plans, security } = app;
  parts = { approvals, plans, security, desk, sessions: createSessions(desk), isDemo, address, door, clients, changes, log };
  const sweeper = setInterval(() => {
    door.sweep();
    clients.sweep();
  }, sweepMs).unref();
  log.info(`page: people approve at ${address.origin}`);
  return {
    origin: address.origin,
    close: async () => {
      clearInterval(sweeper);
      changes.close();
      await listeners.close();
    },
  };
}

async function answer(request: IncomingMessage, response: ServerResponse, parts: Parts): Promise<void> {
  const language = await languageFor(request, parts.log);
  const exchange = { request, response, parts, language };
  try {
    parts.door.check(request);
    // As it was sent: `//host/` would be read as another server's.
    const [pathname = ''] = (request.url ?? '').split('?');
    if (request.method === 'POST') await act(pathname, exchange);
    else await look(pathname, exchange);
  } catch (thrown) {
    refuse(thrown, exchange);
  }
}

/** A person who cannot read the page in their language can still read it. */
async function languageFor({ headers }: IncomingMessage, log: Log): Promise<Language> {
  try {
    return await languageOf(headers['accept-language']);
  } catch (thrown) {
    log.error(`page: shown in English, for its German texts cannot be read: ${toFault(thrown).message}`);
    return inEnglish;
  }
}

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly parts: Parts;
  readonly language: Language;
}

const assets: ReadonlyMap<string, { readonly type: string; readonly body: string }> = new Map([
  ['/page.css', { type: 'text/css', body: pageStyle }],
  ['/icon.svg', { type: 'image/svg+xml', body: icon }],
]);

const scripts: ReadonlyMap<string, (tell: Tell) => string> = new Map([
  ['/page.js', pageScript],
  ['/demo-passkey.js', demoScript],
]);

/** Nothing of anybody: the same for all who can connect. */
async function look(pathname: string, { request, response, parts, language }: Exchange): Promise<void> {
  parts.door.count(await parts.clients.of(request.socket));
  const asset = assets.get(pathname);
  if (asset !== undefined) return send(response, asset);
  const script = pathname === '/demo-passkey.js' && !parts.isDemo ? undefined : scripts.get(pathname);
  const tell: Tell = (message) => JSON.stringify(inWords(message, language));
  if (script !== undefined) return send(response, { type: 'text/javascript', body: script(tell), language });
  const id = /^\/r\/(.*)$/.exec(pathname)?.[1];
  if (!['/', '/settings', '/me', '/enrol'].includes(pathname) && !requestIdPattern.test(id ?? ''))
    throw new Refused(404, 'no_page', say`nothing is here`);
  const nonce = randomBytes(16).toString('base64url');
  send(response, { type: 'text/html', body: shell(nonce, parts.isDemo, language), policy: documentPolicy(nonce), language });
}

const sessionPattern = /^[\w-]{43}$/;

async function act(pathname: string, exchange: Exchange): Promise<void> {
  const { request, response, parts, language } = exchange;
  const name = pathname.replace(/^\/api\//, '');
  const token = tokenOf(request);
  const session = await sessionOf(token, exchange);
  if (name === 'changes' && token !== undefined && session !== undefined) {
    tellChanges(exchange, token, session.client);
    return;
  }
  const action = actions.get(name);
  if (action === undefined) throw new Refused(404, 'no_page', say`nothing is here`);
  const body = await bodyOf(request);
  const found = 'stranger' in action ? await action.stranger(body, parts) : await action.known(body, parts, needed(session));
  send(response, { type: 'application/json', body: JSON.stringify(foundIn(found, language)), language });
}

/** Whoever is known is counted by that, everybody else by who connects: a flood of one costs the others little. @throws {Refused} 401, 429 */
async function sessionOf(token: string | undefined, { request, parts }: Exchange): Promise<Session | undefined> {
  const { door, clients, sessions } = parts;
  try {
    const session = token === undefined ? undefined : await sessions.of(token);
    door.count(session?.client ?? (await clients.of(request.socket)));
    return session;
  } catch (thrown) {
    // A made-up session is a stranger's.
    if (thrown instanceof Refused && thrown.status === 401) door.count(await clients.of(request.socket));
    throw thrown;
  }
}

function tokenOf({ headers }: IncomingMessage): string | undefined {
  const token = headers['x-banksman-session'];
  return typeof token === 'string' && sessionPattern.test(token) ? token : undefined;
}

function needed(session: Session | undefined): Session {
  if (session === undefined) throw new Refused(401, 'no_session', say`load the page again`);
  return session;
}

function refuse(thrown: unknown, { response, parts: { address, log }, language }: Exchange): void {
  // The client left, or dawdled until it was cut off.
  if (response.destroyed) return;
  const isOurs = thrown instanceof Refused;
  if (!isOurs) log.error(`page: ${toFault(thrown).message}`);
  const { status, code, words } = isOurs ? thrown : new Refused(500, 'failed', faultMessage(thrown));
  const message = inWords(words, language);
  const view = code === 'not_enrolled' ? { view: drawnView(strangerView(address.origin), language) } : {};
  const asText = status === 421 || status === 404;
  send(response, {
    status,
    language,
    ...(asText
      ? { type: 'text/plain', body: `${message}\n` }
      : { type: 'application/json', body: JSON.stringify({ code, message, ...view }) }),
  });
}

/** How often it is said that nothing changed: the times on a card go on. In ms. */
const beatMs = 15_000;
const gatherMs = 100;

interface Changes {
  onTell(tell: () => void): () => void;
  close(): void;
}

/** Changes that come together are told once. */
function createChanges({ approvals, security }: Pick<PageOptions['app'], 'approvals' | 'security'>): Changes {
  const told = new Set<() => void>();
  let timer: NodeJS.Timeout | undefined;
  const tellAll = () => {
    timer = undefined;
    for (const tell of told) tell();
  };
  const changed = () => {
    timer ??= setTimeout(tellAll, gatherMs);
  };
  const unsubscribes = [approvals.onChange(changed), security.onChange(changed)];
  return {
    onTell: (tell) => {
      told.add(tell);
      return () => told.delete(tell);
    },
    close: () => {
      clearTimeout(timer);
      for (const unsubscribe of unsubscribes) unsubscribe();
    },
  };
}

/** One line whenever something changed, and one now and then, until either side ends it. */
function tellChanges({ response, parts }: Exchange, token: string, client: string): void {
  const release = parts.door.listen(client);
  const tell = () => {
    // A reader that is stuck is not written to without end.
    if (response.writableLength < 1_024) response.write('\n');
  };
  const beat = setInterval(() => {
    parts.sessions.of(token).then(tell, () => response.end());
  }, beatMs);
  const forget = parts.changes.onTell(tell);
  response.once('close', () => {
    clearInterval(beat);
    forget();
    release();
  });
  beginStream(response);
}
