/**
 * The ssh server of one demo node: its own host key, public key login for the demo user's key and nothing else, commands from a table.
 * OpenSSH's limits that bite a client are kept: ten sessions a connection, signals to a root session are ignored.
 */

import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { createServer, type Socket } from 'node:net';
import ssh2, { type AuthContext, type Connection, type ExecInfo, type ServerChannel, type Session } from 'ssh2';
import { startListener } from '../listener.ts';
import type { Cluster } from '../pve/cluster.ts';
import type { NodeState } from '../pve/state.ts';
import { runScript } from './run-script.ts';

export interface SshNodeOptions {
  readonly cluster: Cluster;
  readonly node: NodeState;
  readonly user: string;
  /** The one key that may log in, in OpenSSH's public form. */
  readonly clientKey: string;
  readonly address: string;
}

/** What goes wrong on purpose; each can be switched at any time. */
export interface SshFaults {
  /** No key is good enough. */
  refuseAuth: boolean;
  /** Sessions are refused: "Channel open failure". */
  refuseChannels: boolean;
  /** Commands are accepted and never answer. */
  hang: boolean;
}

export interface SshNode {
  readonly port: number;
  readonly faults: SshFaults;
  /** `ssh-ed25519 AAAA…` */
  hostKey(): string;
  /** From now on connections see another host key, or the first one again. Open ones are dropped. */
  useHostKey(which: 'original' | 'other'): void;
  close(): Promise<void>;
  /** Listens again on the same port. */
  open(): Promise<void>;
}

const maxSessions = 10;

export async function startSshNode(options: SshNodeOptions): Promise<SshNode> {
  const faults: SshFaults = { refuseAuth: false, refuseChannels: false, hang: false };
  const sockets = new Set<Socket>();
  const original = generateOpensshKey(options.node.name);
  let keys = original;
  let protocol = createProtocol(options, keys, faults);
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.setNoDelay(true);
    socket.once('close', () => sockets.delete(socket));
    protocol.injectSocket(socket);
  });
  const dropAll = () => {
    for (const socket of sockets) socket.destroy();
  };
  const listener = await startListener(server, { addresses: [options.address], port: 0, dropConnections: dropAll });
  return {
    port: listener.port,
    faults,
    hostKey: () => hostKeyOf(keys),
    useHostKey(which) {
      const next = which === 'original' ? original : generateOpensshKey(options.node.name);
      if (next === keys) return;
      keys = next;
      protocol = createProtocol(options, keys, faults);
      dropAll();
    },
    close: listener.close,
    open: listener.open,
  };
}

/** Without the comment, as a line of known_hosts has it. */
function hostKeyOf(keys: OpensshKey): string {
  return keys.publicLine.split(' ').slice(0, 2).join(' ');
}

function createProtocol(options: SshNodeOptions, keys: OpensshKey, faults: SshFaults): InstanceType<typeof ssh2.Server> {
  return new ssh2.Server({ hostKeys: [keys.privateFile], ident: 'OpenSSH_10.0p2 Debian-7' }, (client) => serve(options, faults, client));
}

function serve(options: SshNodeOptions, faults: SshFaults, client: Connection): void {
  const allowed = ssh2.utils.parseKey(options.clientKey);
  const sessions = new Set<AbortController>();
  client.on('authentication', (context) => {
    if (!faults.refuseAuth && !(allowed instanceof Error) && isAllowed(context, options.user, allowed)) context.accept();
    else context.reject(['publickey']);
  });
  client.on('session', (accept, reject) => {
    if (faults.refuseChannels || sessions.size >= maxSessions) return reject();
    const closed = new AbortController();
    sessions.add(closed);
    const session = accept();
    session.once('close', () => {
      sessions.delete(closed);
      closed.abort();
    });
    serveSession(options, faults, session, closed.signal);
  });
  client.once('close', () => {
    for (const closed of sessions) closed.abort();
    sessions.clear();
  });
  // A client that goes away in the middle is its own affair.
  client.on('error', () => undefined);
}

function isAllowed(context: AuthContext, user: string, allowed: ssh2.ParsedKey): boolean {
  if (context.username !== user || context.method !== 'publickey') return false;
  if (context.key.algo !== allowed.type || !context.key.data.equals(allowed.getPublicSSH())) return false;
  // Without a signature the client only asks whether the key would do.
  if (context.signature === undefined || context.blob === undefined) return true;
  // SECURITY: declared as a boolean, but it returns an `Error` for what it cannot check.
  const verdict: unknown = allowed.verify(context.blob, context.signature, context.hashAlgo);
  return verdict === true;
}

function serveSession(options: SshNodeOptions, faults: SshFaults, session: Session, closed: AbortSignal): void {
  session.on('env', (accept) => accept?.());
  // OpenSSH: "session signalling requires privilege separation"; a root session never gets the signal.
  session.on('signal', (accept) => accept?.());
  session.on('exec', (accept, _reject, info) => {
    const channel = accept();
    channel.on('error', () => undefined);
    if (!faults.hang) execute(options, channel, info, closed).catch(() => channel.close());
  });
}

const chunkBytes = 65_536;

async function execute({ cluster, node }: SshNodeOptions, channel: ServerChannel, info: ExecInfo, closed: AbortSignal): Promise<void> {
  const output = await runScript({ cluster, node, signal: closed }, info.command);
  if (closed.aborted) return;
  if (output.stderr !== '') channel.stderr.write(output.stderr);
  await writeAll(channel, Buffer.from(output.stdout), closed);
  if (closed.aborted) return;
  channel.exit(output.exitCode);
  channel.end();
}

/** Writes as fast as the client reads. */
async function writeAll(channel: ServerChannel, bytes: Buffer, closed: AbortSignal): Promise<void> {
  for (let at = 0; at < bytes.length && !closed.aborted; at += chunkBytes) {
    if (channel.write(bytes.subarray(at, at + chunkBytes))) continue;
    await new Promise<void>((resolve) => {
      const go = () => {
        channel.off('drain', go);
        closed.removeEventListener('abort', go);
        resolve();
      };
      channel.once('drain', go);
      closed.addEventListener('abort', go);
    });
  }
}

// Ed25519 key pairs in OpenSSH's own file format (openssh/PROTOCOL.key). `ssh2.utils.generateKeyPairSync` would do, but about one key in
// two hundred that it makes (1.17.0) can be read by nobody, itself included ("Malformed OpenSSH private key").

export interface OpensshKey {
  /** The private key file, without a passphrase. */
  readonly privateFile: string;
  /** `ssh-ed25519 AAAA… comment` */
  readonly publicLine: string;
}

const type = 'ssh-ed25519';
const blockBytes = 8;

export function generateOpensshKey(comment: string): OpensshKey {
  const { d = '', x = '' } = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' });
  const seed = Buffer.from(d, 'base64url');
  const point = Buffer.from(x, 'base64url');
  const publicBlob = Buffer.concat([field(type), field(point)]);
  const check = randomBytes(4);
  const secret = padded(Buffer.concat([check, check, field(type), field(point), field(Buffer.concat([seed, point])), field(comment)]));
  const file = Buffer.concat([
    Buffer.from('openssh-key-v1\0'),
    field('none'),
    field('none'),
    field(''),
    number(1),
    field(publicBlob),
    field(secret),
  ]);
  const lines = file.toString('base64').match(/.{1,70}/g) ?? [];
  return {
    privateFile: `-----BEGIN OPENSSH PRIVATE KEY-----\n${lines.join('\n')}\n-----END OPENSSH PRIVATE KEY-----\n`,
    publicLine: `${type} ${publicBlob.toString('base64')} ${comment}`,
  };
}

/** Filled up to the cipher's block with 1, 2, 3, … */
function padded(bytes: Buffer): Buffer {
  const missing = (blockBytes - (bytes.length % blockBytes)) % blockBytes;
  return Buffer.concat([bytes, Buffer.from(Array.from({ length: missing }, (_, index) => index + 1))]);
}

function number(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/** A string with its length before it (RFC 4251 §5). */
function field(content: string | Buffer): Buffer {
  const bytes = typeof content === 'string' ? Buffer.from(content, 'utf8') : content;
  return Buffer.concat([number(bytes.length), bytes]);
}
