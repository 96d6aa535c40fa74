/** The pinned fingerprints of one cluster, and what a verified node says about the others. */

import { Fault } from '#kernel/errors';
import type { Clock } from '#kernel/ports/clock';
import type { CertificateKnown } from '#kernel/ports/cluster';
import { say } from '#kernel/text/message';
import type { PinCheck, TlsTrust } from './verified-connector.ts';

/** The certificates of a cluster's nodes, as one of them named them. */
export interface LearnedPins {
  /** Node name → SHA-256 fingerprint, upper case. */
  readonly nodes: ReadonlyMap<string, string>;
  /** When the node with the configured fingerprint last said so; ms since the epoch. */
  readonly vouchedAt: number;
}

export interface Pins extends PinCheck {
  /** The one configured fingerprint; undefined where each endpoint has its own: then there is nothing to learn. */
  readonly pinned: string | undefined;
  /** Replaces what was learned before. Only what came over a verified connection to `origin` may be passed. */
  learn(nodes: ReadonlyMap<string, string>, origin: string): void;
  /** What an earlier process learned; counts only where it is newer than what is known here. */
  restore(learned: LearnedPins): void;
  learned(): LearnedPins | undefined;
  /** Addresses of the nodes by name, as the cluster's status has them: they only tell which endpoint is which node. */
  noteAddresses(addresses: ReadonlyMap<string, string>): void;
  /** Until when the other nodes still count, in ms since the epoch, where no node has the pinned certificate any more; undefined: one has. */
  outdatedUntil(): number | undefined;
  nodeAt(origin: string): string | undefined;
  known(origin: string): CertificateKnown;
}

/**
 * SECURITY: what was learned counts this long after the pinned node itself last vouched for it. Other nodes may vouch for each other within
 * that time, but not prolong it: a node that was taken out of the cluster, and whose key got lost, is not believed for ever.
 */
const learnedForMs = 30 * 86_400_000;

/**
 * @param origins the endpoints, as `URL.origin`
 * @throws {Fault} `bad_config` when a map of fingerprints leaves an endpoint out
 */
export function createPins(
  fingerprint: (TlsTrust & { kind: 'pin' })['fingerprint'],
  origins: readonly string[],
  clock: Pick<Clock, 'now'>,
): Pins {
  const byOrigin = configured(fingerprint, origins);
  const pinned = typeof fingerprint === 'string' && origins.length > 1 ? fingerprint.toUpperCase() : undefined;
  /** What each endpoint presented when it was last let in. */
  const presented = new Map<string, string>();
  let addresses: ReadonlyMap<string, string> = new Map();
  let known: LearnedPins | undefined;

  function learned(): LearnedPins | undefined {
    return pinned !== undefined && known !== undefined && clock.now() - known.vouchedAt < learnedForMs ? known : undefined;
  }

  const nodeAt = (origin: string) => nodeBehind(origin, [...(learned()?.nodes ?? [])], { shown: presented.get(origin), addresses });

  return {
    pinned,
    accepts(origin, got) {
      const one = got.toUpperCase();
      const fits = byOrigin.get(origin) === one || [...(learned()?.nodes.values() ?? [])].includes(one);
      if (fits) presented.set(origin, one);
      return fits;
    },
    expected: (origin) => byOrigin.get(origin) ?? 'none',
    learned,
    learn(nodes, origin) {
      const shown = presented.get(origin);
      if (pinned === undefined || shown === undefined) return;
      if (shown === pinned) known = { nodes, vouchedAt: clock.now() };
      else if (known !== undefined) known = { nodes, vouchedAt: known.vouchedAt };
    },
    restore(kept) {
      if (kept.vouchedAt <= clock.now() && kept.vouchedAt > (known?.vouchedAt ?? 0)) known = kept;
    },
    noteAddresses(found) {
      addresses = found;
    },
    outdatedUntil() {
      const now = learned();
      return now === undefined || [...now.nodes.values()].includes(pinned ?? '') ? undefined : now.vouchedAt + learnedForMs;
    },
    nodeAt,
    known(origin) {
      const nodes = learned()?.nodes;
      const shown = presented.get(origin) ?? nodes?.get(nodeAt(origin) ?? '');
      if (pinned === undefined || shown === pinned) return 'pinned';
      if (shown !== undefined) return 'learned';
      return nodes === undefined ? 'unknown' : 'unseen';
    },
  };
}

/** @throws {Fault} `bad_config` when an endpoint is left out */
function configured(fingerprint: (TlsTrust & { kind: 'pin' })['fingerprint'], origins: readonly string[]): ReadonlyMap<string, string> {
  const byOrigin =
    typeof fingerprint === 'string' ? new Map(origins.map((origin) => [origin, fingerprint.toUpperCase()])) : readMap(fingerprint);
  for (const origin of origins) {
    if (!byOrigin.has(origin)) {
      const next = 'add its fingerprint to `tls.fingerprint`, or give one fingerprint for the whole cluster';
      throw new Fault('bad_config', say`\`tls.fingerprint\` has no entry for the endpoint \`${origin}\``, { next });
    }
  }
  return byOrigin;
}

interface Hints {
  readonly shown: string | undefined;
  readonly addresses: ReadonlyMap<string, string>;
}

function nodeBehind(origin: string, nodes: readonly (readonly [string, string])[], { shown, addresses }: Hints): string | undefined {
  const { hostname } = new URL(origin);
  return (
    nodes.find(([, one]) => one === shown)?.[0] ??
    [...addresses].find(([, address]) => address === hostname)?.[0] ??
    // A URL's host is in lower case, and may be the node's name with a domain.
    nodes.find(([name]) => hostname.split('.')[0] === name.toLowerCase())?.[0]
  );
}

function readMap(fingerprints: Readonly<Record<string, string>>): Map<string, string> {
  return new Map(Object.entries(fingerprints).map(([endpoint, one]) => [new URL(endpoint).origin, one.toUpperCase()]));
}
