/** Waking a node by the configured ways, in their order, until one takes it on. */
import { Fault, toFault } from '#kernel/errors';
import type { Clock } from '#kernel/ports/clock';
import type { Log } from '#kernel/ports/log';
import type { WakeResult, Waker } from '#kernel/ports/waker';
import { formatDuration } from '#kernel/text';
import { cancelledFault, stopReason, withTimeLimit } from '../time-limit.ts';
import { callWakeApi, wakeApiUrl } from './call-wake-api.ts';
import { type PacketDestination, sendMagicPacket } from './magic-packet.ts';

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
        if (reason === 'caller') throw cancelledFault(signal, `waking \`${node}\`; a packet may have been sent`);
        if (reason === 'limit') throw new Error(`no answer within ${formatDuration(options.timeoutMs)}`, { cause: thrown });
        throw thrown;
      }
    });
  }

  return {
    async wake(node, signal) {
      const failures: { readonly via: Way; readonly thrown: unknown }[] = [];
      for (const via of options.via) {
        if (signal.aborted) throw cancelledFault(signal, `waking \`${node}\``);
        try {
          return await tryWay(via, node, signal);
        } catch (thrown) {
          if (signal.aborted) throw thrown;
          failures.push({ via, thrown });
          options.log.warn(`waking ${node} by ${via}: ${reasonOf(thrown)}`);
        }
      }
      throw allFailed(node, failures);
    },
  };
}

function allFailed(node: string, failures: readonly { readonly via: Way; readonly thrown: unknown }[]): Fault {
  const reasons = failures.map(({ via, thrown }) => `${via}: ${reasonOf(thrown)}`).join('; ');
  const next = 'configure one of: `wakeonlan` with its MAC on the node (`pvenode config set --wakeonlan MAC`), `wake.http`, `wake.mac`';
  if (failures.every(({ thrown }) => thrown instanceof NotConfigured)) {
    return new Fault('wake_not_configured', `there is no configured way to wake \`${node}\`${reasons ? `: ${reasons}` : ''}`, { next });
  }
  return new Fault('wake_failed', `no way of waking \`${node}\` worked: ${reasons}`, { next, retryable: true });
}

function reasonOf(thrown: unknown): string {
  if (thrown instanceof Fault || thrown instanceof NotConfigured) return thrown.message;
  const code = thrown instanceof Error ? (thrown as NodeJS.ErrnoException).code : undefined;
  return code === undefined ? toFault(thrown).message.replace(/^internal error: /, '') : `connection failed (${code})`;
}
