/**
 * What a window of the editor tells the MCP servers that the editor starts for it: its settings, and the API tokens of its SecretStorage, for as long as
 * both run. SECURITY: none of it stands on a disk, among a process's arguments or in its environment. That holds the address alone, and a secret that is
 * good for one connection.
 */

import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Fault, reasonMessage } from '#kernel/errors';
import { isJsonObject } from '#kernel/json';
import { say } from '#kernel/text/message';

export interface EditorSettings {
  /** As one raw configuration, with an absolute `workspace.root`. */
  readonly settings: Readonly<Record<string, unknown>>;
  /** Of clusters, by their names, as they are stored: whoever uses one looks whether its place is the one that counts by then. */
  readonly tokens: Readonly<Record<string, string>>;
}

/** Of the server's environment: `SECRET@ADDRESS`. */
export const ticketVariable = 'BANKSMAN_EDITOR';

export interface EditorSettingsOffer {
  /** For one server. */
  ticket(): Promise<string>;
  /** Every server that runs hears what holds now. */
  changed(): void;
  dispose(): void;
}

/** How long who has connected may take to show a ticket, in ms. */
const ticketMs = 5_000;
/** How long a ticket is good that nobody shows: the editor starts the server it is for at once. In ms. */
const ticketLifeMs = 60_000;
/** A ticket is 64 hex digits; the rest of what is said before it is nobody's we wait for. */
const ticketPattern = /^([0-9a-f]{64})\n$/;

/** The window's side. @param read what holds now; where that throws, servers keep what they have */
export function offerEditorSettings(read: () => Promise<EditorSettings>, onError: (error: unknown) => void): EditorSettingsOffer {
  /** With the moment at which each ends, on the monotonic clock. */
  const tickets = new Map<string, number>();
  const met = new Set<Socket>();
  const heard = new Set<Socket>();
  let place: Promise<Place> | undefined;
  const tell = createTeller(read, onError);
  const meet = (peer: Socket) => {
    met.add(peer);
    peer.on('close', () => void (met.delete(peer) && heard.delete(peer)));
    const welcome = () => {
      heard.add(peer);
      tell(
        () => [peer],
        () => peer.destroy(),
      );
    };
    untilTicket(peer, (ticket) => takeTicket(tickets, ticket), welcome);
  };
  return {
    async ticket() {
      place ??= listen(meet);
      const { address } = await place;
      const ticket = randomBytes(32).toString('hex');
      forgetLate(tickets);
      tickets.set(ticket, performance.now() + ticketLifeMs);
      return `${ticket}@${address}`;
    },
    changed: () => tell(() => [...heard]),
    dispose() {
      tickets.clear();
      for (const peer of met) peer.destroy();
      void place?.then((open) => open.close(), onError);
    },
  };
}

/** Once, and in its time. */
function takeTicket(tickets: Map<string, number>, ticket: string): boolean {
  forgetLate(tickets);
  return tickets.delete(ticket);
}

function forgetLate(tickets: Map<string, number>): void {
  for (const [ticket, end] of tickets) if (performance.now() >= end) tickets.delete(ticket);
}

/** One after the other: a look that took long would put what held before over what holds now, which may be stricter. */
function createTeller(read: () => Promise<EditorSettings>, onError: (error: unknown) => void) {
  let last = Promise.resolve();
  return (peers: () => readonly Socket[], failed?: () => void): void => {
    last = last.then(async () => {
      try {
        const now = peers();
        const line = now.length === 0 ? '' : `${JSON.stringify(await read())}\n`;
        for (const peer of now) peer.write(line);
      } catch (thrown) {
        onError(thrown);
        failed?.();
      }
    });
  };
}

/** Who shows none in time, or another, is cut off. */
function untilTicket(peer: Socket, isGood: (ticket: string) => boolean, welcome: () => void): void {
  peer.on('error', () => peer.destroy()).setTimeout(ticketMs, () => peer.destroy());
  let said = '';
  peer.setEncoding('utf8').on('data', (part: string) => {
    said += part;
    if (!said.includes('\n') && said.length <= 64) return;
    const [, ticket = ''] = ticketPattern.exec(said) ?? [];
    if (!isGood(ticket)) return void peer.destroy();
    peer.setTimeout(0).removeAllListeners('data').resume();
    welcome();
  });
}

interface Place {
  readonly address: string;
  close(): void;
}

/** In a folder that is this user's alone; a pipe's name on Windows cannot be guessed, and its server takes a ticket all the same. */
async function listen(meet: (peer: Socket) => void): Promise<Place> {
  const server = createServer(meet);
  const isWindows = process.platform === 'win32';
  const folder = isWindows ? undefined : mkdtempSync(path.join(tmpdir(), 'banksman-'));
  const address = folder === undefined ? `\\\\.\\pipe\\banksman-${randomBytes(16).toString('hex')}` : path.join(folder, 'window');
  await new Promise<void>((resolve, reject) => void server.once('error', reject).listen(address, resolve));
  return {
    address,
    close: () => {
      server.close();
      if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
    },
  };
}

export interface EditorLink {
  /** What holds now. */
  now(): EditorSettings;
  onChange(listener: () => void): void;
  close(): void;
}

/** The server's side. @throws {Fault} `no_editor` */
export async function hearEditorSettings(ticket: string): Promise<EditorLink> {
  const { promise: first, resolve, reject } = Promise.withResolvers<EditorSettings>();
  let now: EditorSettings | undefined;
  let listener: () => void = () => undefined;
  const at = ticket.indexOf('@');
  const peer = connect(ticket.slice(at + 1), () => peer.write(`${ticket.slice(0, at)}\n`));
  onLines(peer, (line) => {
    const told = settingsIn(line);
    if (told === undefined) return void peer.destroy();
    const isFirst = now === undefined;
    now = told;
    if (isFirst) resolve(told);
    else listener();
  });
  peer.on('error', reject).on('close', () => reject(new Error('it takes no such ticket')));
  try {
    const settings = await first;
    return {
      now: () => now ?? settings,
      onChange: (next) => {
        listener = next;
      },
      close: () => void peer.destroy(),
    };
  } catch (cause) {
    peer.destroy();
    throw new Fault('no_editor', say`the window of the editor that starts this server does not answer: ${reasonMessage(cause)}`, {
      audience: 'user',
      next: 'start the server again from the editor; outside of it leave `BANKSMAN_EDITOR` unset',
      cause,
    });
  }
}

function onLines(peer: Socket, take: (line: string) => void): void {
  let rest = '';
  peer.setEncoding('utf8').on('data', (part: string) => {
    const lines = `${rest}${part}`.split('\n');
    rest = lines.pop() ?? '';
    lines.forEach(take);
  });
}

function settingsIn(line: string): EditorSettings | undefined {
  const told: unknown = JSON.parse(line);
  if (!isJsonObject(told) || !isJsonObject(told['settings']) || !isJsonObject(told['tokens'])) return undefined;
  const tokens = Object.entries(told['tokens']).flatMap(([name, token]) => (typeof token === 'string' ? [[name, token] as const] : []));
  return { settings: told['settings'], tokens: Object.fromEntries(tokens) };
}
