/** The pinned fingerprints of one cluster, and what a verified node says about the others. */
import { Fault } from '#kernel/errors';
import type { PinCheck, TlsTrust } from './verified-connector.ts';

export interface Pins extends PinCheck {
  /** One fingerprint for several endpoints: the others may be learned from `ssl_fingerprint` of `GET /nodes` on a verified one. */
  readonly canLearn: boolean;
  /** Replaces what was learned before. Only what came over a verified connection may be passed. */
  learn(fingerprints: readonly string[]): void;
}

/**
 * @param origins the endpoints, as `URL.origin`
 * @throws {Fault} `bad_config` when a map of fingerprints leaves an endpoint out
 */
export function createPins(fingerprint: (TlsTrust & { kind: 'pin' })['fingerprint'], origins: readonly string[]): Pins {
  const byOrigin =
    typeof fingerprint === 'string' ? new Map(origins.map((origin) => [origin, fingerprint.toUpperCase()])) : readMap(fingerprint);
  for (const origin of origins) {
    if (!byOrigin.has(origin)) {
      const next = 'add its fingerprint to `tls.fingerprint`, or give one fingerprint for the whole cluster';
      throw new Fault('bad_config', `\`tls.fingerprint\` has no entry for the endpoint \`${origin}\``, { next });
    }
  }
  const canLearn = typeof fingerprint === 'string' && origins.length > 1;
  let learned: ReadonlySet<string> = new Set();
  return {
    canLearn,
    accepts: (origin, got) => byOrigin.get(origin) === got.toUpperCase() || (canLearn && learned.has(got.toUpperCase())),
    expected: (origin) => byOrigin.get(origin) ?? 'none',
    learn(fingerprints) {
      if (canLearn) learned = new Set(fingerprints.map((one) => one.toUpperCase()));
    },
  };
}

function readMap(fingerprints: Readonly<Record<string, string>>): Map<string, string> {
  return new Map(Object.entries(fingerprints).map(([endpoint, one]) => [new URL(endpoint).origin, one.toUpperCase()]));
}
