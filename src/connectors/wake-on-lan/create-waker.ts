/** Waking a node by the configured ways, in their order, until one takes it on. */

import { createSocket } from 'node:dgram';
import type { Client } from 'undici';
import { Fault, toFault } from '#kernel/errors';
import { type KnownEffect, notSent } from '#kernel/known-effect';
import type { Clock } from '#kernel/ports/clock';
import type { Log } from '#kernel/ports/log';
import { say } from '#kernel/text/message';
import { formatDuration } from '#kernel/text/text';
import type { WakeResult, Waker } from '#kernel/tool';
import { cancelledFault, stopReason, withTimeLimit } from '../time-limit.ts';

type Way = WakeResult['via'];

export interface WakerOptions {
  /** The ways, in the order they are tried. */
  readonly via: readonly Way[];
  /** Proxmox VE's own `wakeonlan` through an online node; answers with the MAC address. */
  readonly pve?: (node: string, signal: AbortSignal) => Promise<string>;
  /** URL of a wake-up service with `{node}` in it. */
  readonly http?: string;
  /** MAC address by node; a packet of our own goes to configured addresses only. */
  readonly mac: Readonly<Record<string, string>>;
  /** Default: 255.255.255.255, port 9. */
  readonly destination?: Partial<PacketDestination>;
  /** Limit of each way in ms. */
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly log: Log;
}

/** A way that is in `via` but lacks what it needs. */
class NotConfigured extends Error {}

/** No answer came: a packet may have been sent for all that. */
class Unanswered extends Error {}

interface Failure {
  readonly via: Way;
  readonly thrown: unknown;
}

export function createWaker(options: WakerOptions): Waker {
  const destination: PacketDestination = { address: '255.255.255.255', port: 9, ...options.destination };

  const ways: Readonly<Record<Way, (node: string, signal: AbortSignal) => Promise<string>>> = {
    async pve(node, signal) {
      if (!options.pve) throw new NotConfigured('no cluster to ask');
      return `an online node sent a wake-up packet to ${await options.pve(node, signal)}`;
    },
    async http(node, signal) {
      if (options.http === undefined) throw new NotConfigured('no `wake.http`');
      const { method, status } = await callWakeApi(wakeApiUrl(options.http, node), signal);
      if (status < 200 || status > 299) throw new Error(`the wake-up service answered ${method} with status ${status}`);
      return `the wake-up service took it on (${method}, status ${status})`;
    },
    async packet(node) {
      const mac = Object.hasOwn(options.mac, node) ? options.mac[node] : undefined;
      if (mac === undefined) throw new NotConfigured(`no \`wake.mac\` for it`);
      await sendMagicPacket(mac, destination);
      return `a wake-up packet was sent to ${mac} at ${destination.address}:${destination.port}`;
    },
  };

  async function tryWay(via: Way, node: string, signal: AbortSignal): Promise<WakeResult> {
    return withTimeLimit(options.clock, options.timeoutMs, signal, async (limited) => {
      try {
        return { via, detail: await ways[via](node, limited) };
      } catch (thrown) {
        const reason = stopReason(limited);
        if (reason === 'caller') throw cancelledFault(signal, `waking \`${node}\``).with({ effect: { state: 'sent' } });
        if (reason === 'limit') throw new Unanswered(`no answer within ${formatDuration(options.timeoutMs)}`, { cause: thrown });
        throw thrown;
      }
    });
  }

  return {
    async wake(node, signal) {
      const failures: Failure[] = [];
      for (const via of options.via) {
        if (signal.aborted) throw cancelledFault(signal, `waking \`${node}\``).with({ effect: notSent });
        try {
          return await tryWay(via, node, signal);
        } catch (thrown) {
          if (signal.aborted) throw thrown;
          failures.push({ via, thrown });
          options.log.warn(`waking ${node} by ${via}: ${reasonOf(thrown)}`);
        }
      }
      throw allFailed(node, failures, options);
    },
  };
}

function allFailed(node: string, failures: readonly Failure[], options: WakerOptions): Fault {
  const reasons = failures.map(({ via, thrown }) => `${via}: ${reasonOf(thrown)}`).join('; ');
  const next = [...new Set(failures.flatMap((failure) => remedyOf(node, failure, options) ?? []))].join('; or: ');
  if (failures.every(({ thrown }) => thrown instanceof NotConfigured)) {
    return new Fault('wake_not_configured', say`there is no configured way to wake \`${node}\`${reasons ? `: ${reasons}` : ''}`, {
      next: next || 'name a way in `wake.via`',
      effect: notSent,
    });
  }
  const open = failures.some(mayHaveSent);
  const effect: KnownEffect = open ? { state: 'sent', what: 'a wake-up packet may have been sent all the same' } : notSent;
  return new Fault('wake_failed', say`no way of waking \`${node}\` worked: ${reasons}`, { next, retryable: true, effect });
}

/** No connection: then nothing went over it. Any other failure of a socket may have come after the request. */
const unconnected: ReadonlySet<unknown> = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'UND_ERR_CONNECT_TIMEOUT',
]);

function mayHaveSent({ via, thrown }: Failure): boolean {
  if (thrown instanceof Unanswered) return true;
  if (thrown instanceof Fault) return thrown.effect?.state === 'sent';
  return via === 'http' && thrown instanceof Error && 'code' in thrown && !unconnected.has(thrown.code);
}

/** What a person can do about one way's failure, by its cause; undefined where nothing is to be said. */
function remedyOf(node: string, { via, thrown }: Failure, { mac, http }: WakerOptions): string | undefined {
  if (via === 'http') return httpRemedy(thrown, http);
  if (via === 'pve') return pveRemedy(node, thrown, Object.hasOwn(mac, node) ? mac[node] : undefined);
  if (!(thrown instanceof NotConfigured)) return 'check the network of this machine and `wake.broadcast`';
  return `set \`wake.mac\` of \`${node}\` to the MAC address of its network card`;
}

function pveRemedy(node: string, thrown: unknown, mac: string | undefined): string | undefined {
  if (thrown instanceof NotConfigured) return undefined;
  const text = reasonOf(thrown);
  if (text.includes('No wake on LAN MAC address defined')) {
    const hint = mac === undefined ? ' (MAC: the address of its network card)' : '';
    return `when \`${node}\` is up, run there once: \`pvenode config set --wakeonlan ${mac ?? 'MAC'}\`${hint}`;
  }
  if (text.includes('is local node')) return `\`${node}\` itself answered the API, so it is not powered off: see get_cluster_status`;
  if (thrown instanceof Fault && ['pve_unreachable', 'pve_timeout'].includes(thrown.code)) {
    return 'no other node of the cluster is up to send the packet: configure a way without the cluster, `wake.http` or `wake.mac` with `packet` in `wake.via`';
  }
  return (thrown instanceof Fault ? thrown.next : undefined) ?? 'see get_cluster_status for which nodes are online';
}

function httpRemedy(thrown: unknown, url: string | undefined): string {
  if (thrown instanceof NotConfigured) return 'set `wake.http` to the URL of a wake-up service, with `{node}` in it';
  if (thrown instanceof Error && 'code' in thrown && unconnected.has(thrown.code))
    return `start the wake-up service at ${new URL(url ?? '').origin}, or correct \`wake.http\``;
  return `see the wake-up service's own log, and check the path in \`wake.http\``;
}

function reasonOf(thrown: unknown): string {
  if (thrown instanceof Fault || thrown instanceof NotConfigured) return thrown.message;
  const code = thrown instanceof Error ? (thrown as NodeJS.ErrnoException).code : undefined;
  return code === undefined ? toFault(thrown).message.replace(/^internal error: /, '') : `connection failed (${code})`;
}

// Wake-on-LAN by a packet of our own (AMD, "Magic Packet Technology", publication 20213).

/** `aa:bb:cc:dd:ee:ff` or with hyphens → 6 × FF, then 16 × the address: 102 bytes. @throws {TypeError} for anything else */
export function magicPacket(mac: string): Buffer {
  const digits = mac.replace(/[:-]/g, '');
  if (!/^[0-9a-fA-F]{12}$/.test(digits)) throw new TypeError(`not a MAC address: \`${mac}\``);
  return Buffer.concat([Buffer.alloc(6, 0xff), ...Array.from({ length: 16 }, () => Buffer.from(digits, 'hex'))]);
}

interface PacketDestination {
  /** A broadcast (or, in tests, any IPv4) address. */
  readonly address: string;
  readonly port: number;
}

/** Sends one packet; resolves when the operating system took it, which is all that can be known. */
async function sendMagicPacket(mac: string, { address, port }: PacketDestination): Promise<void> {
  const packet = magicPacket(mac);
  const socket = createSocket('udp4');
  try {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    socket.on('error', reject);
    socket.bind(0, () => {
      socket.setBroadcast(true);
      socket.send(packet, port, address, (error) => (error ? reject(error) : resolve()));
    });
    await promise;
  } finally {
    socket.close();
  }
}

// Wake-on-LAN by somebody else's HTTP service, such as `http://192.168.1.65:3005/wake/{node}`.

interface WakeApiAnswer {
  readonly method: 'POST' | 'GET';
  readonly status: number;
}

/**
 * The address of the call: `{node}` of the template replaced, percent-encoded so that a name stays one segment.
 * A template may come with its braces encoded already, as `URL` writes them.
 */
export function wakeApiUrl(template: string, node: string): URL {
  return new URL(template.replaceAll(/\{node\}|%7Bnode%7D/gi, encodeURIComponent(node)));
}

/**
 * POST, and GET where the service says that it takes no POST (405). Redirects are not followed: only the configured host is called.
 * @throws {Error} of undici when there is no answer
 */
async function callWakeApi(url: URL, signal: AbortSignal): Promise<WakeApiAnswer> {
  const undici = await import('undici');
  const client = new undici.Client(url.origin, { pipelining: 0, allowH2: false, connectTimeout: 5_000 });
  try {
    const first = await call(client, url, 'POST', signal);
    return first.status === 405 ? await call(client, url, 'GET', signal) : first;
  } finally {
    await client.destroy();
  }
}

async function call(client: Client, url: URL, method: 'POST' | 'GET', signal: AbortSignal): Promise<WakeApiAnswer> {
  const response = await client.request({ path: url.pathname + url.search, method, signal });
  // What the service says is of no use to us; it is read so that the connection ends in order, and only a little of it.
  await response.body.dump({ limit: 64 * 1024, signal });
  return { method, status: response.statusCode };
}
