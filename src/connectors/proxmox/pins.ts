/** The pinned fingerprints of one cluster, and what a verified node says about the others. */

import { createHmac, timingSafeEqual } from 'node:crypto';
import * as z from 'zod';
import { Fault, reasonOf } from '#kernel/errors';
import type { Clock } from '#kernel/ports/clock';
import type { CertificateKnown } from '#kernel/ports/cluster';
import type { Log } from '#kernel/ports/log';
import { say } from '#kernel/text/message';
import { withTimeLimit } from '../time-limit.ts';
import type { Endpoint } from './endpoint.ts';
import { readData, readObjects } from './rows.ts';
import { outdatedPin } from './transport-failure.ts';
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

// How a cluster with one configured fingerprint comes to know the certificates of its other nodes, and keeps what it knows.

/** Where what was learned stays for later processes: a place that only this user can write. */
export interface KeptPins {
  /** undefined where there is nothing yet. */
  read(): Promise<string | undefined>;
  write(text: string): Promise<void>;
}

export interface PinLearnerOptions {
  readonly cluster: string;
  readonly pins: Pins;
  readonly kept: KeptPins | undefined;
  readonly clock: Clock;
  readonly log: Log;
}

export interface PinLearner {
  /** After a good answer of a verified endpoint: asks it for the others' certificates in the background, if that is due. */
  noteContact(endpoint: Endpoint, authorization: string): void;
  /** Looks for somebody verified who knows a certificate that was just refused: an earlier process first, then `others`. */
  askAround(others: readonly Endpoint[], authorization: string, signal: AbortSignal): AsyncGenerator<void>;
  /** Until what began has ended, so that a short process keeps what it learned. */
  settle(): Promise<void>;
}

const learnLimitMs = 5_000;
/** Certificates are renewed while a window stays open for weeks. */
const againAfterMs = 3_600_000;
const againAfterFailureMs = 60_000;
/** What is kept is confirmed once a day, not by every process. */
const confirmAfterMs = 86_400_000;

export function createPinLearner(options: PinLearnerOptions): PinLearner {
  const { cluster, pins, clock, log } = options;
  const { keep, restore } = createKeeper(options);
  let running: Promise<void> | undefined;
  let dueAt = 0;

  /** SECURITY: `send` verifies its own peer, so what is learned always comes from a node that is known already. */
  async function learnFrom(endpoint: Endpoint, authorization: string, signal: AbortSignal): Promise<boolean> {
    const nodes = await readFingerprints(endpoint, authorization, signal);
    if (nodes.size === 0) return false;
    pins.learn(nodes, endpoint.origin);
    warnOfOutdatedPin();
    await keep(authorization);
    return true;
  }

  let warned = false;
  function warnOfOutdatedPin(): void {
    const until = pins.outdatedUntil();
    if (until === undefined || warned) return;
    warned = true;
    const { message, remedy } = outdatedPin(until);
    log.warn(`${cluster}: ${message}; ${remedy}`);
  }

  async function learnInBackground(endpoint: Endpoint, authorization: string): Promise<void> {
    const wasLearned = await withTimeLimit(clock, learnLimitMs, new AbortController().signal, (limited) =>
      learnFrom(endpoint, authorization, limited),
    ).catch(() => false);
    dueAt = clock.now() + (wasLearned ? againAfterMs : againAfterFailureMs);
  }

  return {
    noteContact(endpoint, authorization) {
      if (pins.pinned === undefined || running !== undefined || clock.now() < dueAt) return;
      running = learnInBackground(endpoint, authorization).finally(() => {
        running = undefined;
      });
    },
    async *askAround(others, authorization, signal) {
      if (pins.pinned === undefined) return;
      await running;
      yield;
      await restore(authorization);
      yield;
      for (const other of others) if (await learnFrom(other, authorization, signal)) yield;
    },
    settle: async () => {
      await running;
    },
  };
}

function createKeeper({ cluster, pins, kept, log }: PinLearnerOptions) {
  async function keep(authorization: string): Promise<void> {
    const learned = pins.learned();
    if (kept === undefined || learned === undefined || pins.pinned === undefined) return;
    try {
      const before = readKept(await kept.read(), { cluster, pinned: pins.pinned, authorization });
      if (before !== undefined && isSame(before, learned) && learned.vouchedAt - before.vouchedAt < confirmAfterMs) return;
      await kept.write(writeKept(learned, { cluster, pinned: pins.pinned, authorization }));
    } catch (thrown) {
      log.warn(`${cluster}: the certificates of the other nodes are known to this process only: ${reasonOf(thrown)}`);
    }
  }

  async function restore(authorization: string): Promise<void> {
    if (kept === undefined || pins.pinned === undefined) return;
    const text = await kept.read().catch((thrown: unknown) => {
      log.warn(`${cluster}: what an earlier process learned of the nodes' certificates does not count: ${reasonOf(thrown)}`);
      return undefined;
    });
    const learned = readKept(text, { cluster, pinned: pins.pinned, authorization });
    if (learned !== undefined) pins.restore(learned);
  }

  return { keep, restore };
}

async function readFingerprints(endpoint: Endpoint, authorization: string, signal: AbortSignal): Promise<ReadonlyMap<string, string>> {
  try {
    // Any token may ask for it, and it names nodes that are down as well.
    const answer = await endpoint.send({ method: 'GET', path: '/nodes', authorization }, signal);
    if (answer.status !== 200) return new Map();
    const rows = readObjects(readData(answer.body)).map((row) => nodeSchema.safeParse(row).data);
    return new Map(rows.flatMap((row) => (row === undefined ? [] : [[row.node, row.ssl_fingerprint] as const])));
  } catch {
    // Another endpoint may know; if none does, the mismatch that led here is what gets reported.
    return new Map();
  }
}

const fingerprintSchema = z
  .string()
  .regex(/^(?:[0-9a-fA-F]{2}:){31}[0-9a-fA-F]{2}$/)
  .transform((text) => text.toUpperCase());
const nodeSchema = z.looseObject({ node: z.string().min(1), ssl_fingerprint: fingerprintSchema });

/** What a kept text is bound to. */
interface Binding {
  readonly cluster: string;
  readonly pinned: string;
  /** Holds the token's secret; used as a key, never written. */
  readonly authorization: string;
}

const keptSchema = z.strictObject({
  cluster: z.string(),
  pinned: z.string(),
  vouchedAt: z.number(),
  nodes: z.record(z.string(), fingerprintSchema),
  mac: z.string(),
});

/**
 * SECURITY: signed with a key that only who knows the API token has (HMAC, RFC 2104). Who can write the file but not read the token cannot
 * add a certificate of their own; who has the token needs none.
 */
function macOf(body: Omit<z.output<typeof keptSchema>, 'mac'>, authorization: string): string {
  const { cluster, pinned, vouchedAt, nodes } = body;
  const text = JSON.stringify(['banksman learned certificates', cluster, pinned, vouchedAt, nodes]);
  return createHmac('sha256', authorization).update(text).digest('hex');
}

function writeKept({ nodes, vouchedAt }: LearnedPins, { cluster, pinned, authorization }: Binding): string {
  const body = { cluster, pinned, vouchedAt, nodes: Object.fromEntries(nodes) };
  return `${JSON.stringify({ ...body, mac: macOf(body, authorization) })}\n`;
}

/** undefined for what is not ours, of another cluster or pin, or changed. */
function readKept(text: string | undefined, { cluster, pinned, authorization }: Binding): LearnedPins | undefined {
  const body = keptSchema.safeParse(parseJson(text)).data;
  if (body === undefined || body.cluster !== cluster || body.pinned !== pinned) return undefined;
  const expected = Buffer.from(macOf(body, authorization));
  const got = Buffer.from(body.mac);
  if (got.length !== expected.length || !timingSafeEqual(got, expected)) return undefined;
  return { nodes: new Map(Object.entries(body.nodes)), vouchedAt: body.vouchedAt };
}

function parseJson(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? '');
  } catch {
    return undefined;
  }
}

function isSame(one: LearnedPins, other: LearnedPins): boolean {
  return one.nodes.size === other.nodes.size && [...one.nodes].every(([node, fingerprint]) => other.nodes.get(node) === fingerprint);
}
