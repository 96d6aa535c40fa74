/**
 * What goes through the service's sockets: one JSON object a line, UTF-8, `\n` at its end. The client speaks first (`hello`); who calls is known
 * from whose socket it is, and no message says it.
 */
import * as z from 'zod';
import { agentHosts } from './agent.ts';
import type { HostConfig } from './app.ts';
import { type RequestRecord, requestIdPattern, requestStatuses } from './approval/request.ts';
import type { AutoApproveAction, Pause } from './approval/security.ts';
import type { AuditDraft } from './audit-event.ts';
import { auditEventNames } from './audit-event.ts';
import type { FaultData } from './errors.ts';
import { isJsonObject, type JsonObject } from './json.ts';
import { mostSteps } from './plans/plan.ts';
import { planControls } from './plans/plan-progress.ts';
import { type actionTiers, modelTiers, type SecurityLevel, securityLevels } from './tiers.ts';

/** Counts up when a message changes its meaning: both sides must have the same. */
export const wireProtocol = 2;

/** What a client with another one is told. @param version the service's own */
export function otherProtocolWords(version: string, client: { readonly protocol: number; readonly version: string }): string {
  return `the service speaks protocol ${wireProtocol} (version ${version}), the client ${client.protocol} (version ${client.version})`;
}

export const wireLimits = {
  /** Bytes of one line. Held changes with their differences are the longest that a client sends. */
  messageBytes: 2 * 2 ** 20,
  /** Of an answer: a list of records, a result. */
  answerBytes: 32 * 2 ** 20,
  /** In ms: from the connection to `hello`, and from the first to the last byte of a line. */
  helloMs: 5_000,
  lineMs: 30_000,
} as const;

export type ClientMessage =
  | { readonly kind: 'hello'; readonly protocol: number; readonly version: string }
  | { readonly kind: 'call'; readonly id: number; readonly method: string; readonly values: readonly unknown[] }
  | { readonly kind: 'cancel'; readonly id: number };

export interface Welcome {
  readonly kind: 'welcome';
  readonly protocol: number;
  readonly version: string;
  /** The OS user that the socket belongs to. */
  readonly user: string;
  readonly config: Omit<HostConfig, 'workspaceRoot'>;
  readonly clusters: readonly string[];
  readonly level: SecurityLevel;
  /** Of workspace tools: a client can be stricter. */
  readonly requireSandbox: boolean;
  readonly storeLocation: string;
}

export type ServiceMessage =
  | Welcome
  | { readonly kind: 'answer'; readonly id: number; readonly value?: unknown }
  /** `id` 0: of the connection, which ends. */
  | { readonly kind: 'refusal'; readonly id: number; readonly fault: FaultData }
  | { readonly kind: 'progress'; readonly id: number; readonly message: string }
  /** The call waits for a person, until `asked`. */
  | { readonly kind: 'ask'; readonly id: number; readonly request: RequestRecord }
  | { readonly kind: 'asked'; readonly id: number }
  | { readonly kind: 'changed'; readonly what: 'requests' | 'security'; readonly level: SecurityLevel };

const text = (most: number) => z.string().max(most);
const id = z.string().regex(requestIdPattern);
const agent = z.strictObject({
  id: text(200),
  host: z.enum(agentHosts),
  modelTier: z.enum(modelTiers),
  classifiedTier: z.enum(modelTiers).exactOptional(),
  model: text(200).exactOptional(),
  label: text(200).exactOptional(),
});
const call = { tool: text(200), input: z.unknown(), agent, restrict: z.literal('green_only').exactOptional() };
const point = z.strictObject({ sequence: z.number().int().min(0), hash: text(64) });
const checkpoint = z.strictObject({ origin: text(200), size: z.number().int().min(0), root: text(44) });
const seenPoint = z.strictObject({ ...point.shape, checkpoint: checkpoint.exactOptional() });
const anchor = z.strictObject({ ...point.shape, chain: text(200), time: text(40) });
const jsonObject = z.custom<JsonObject>(isJsonObject);
const auditDraft: z.ZodType<AuditDraft> = z.strictObject({ name: z.enum(auditEventNames), attributes: jsonObject });
const query = z.strictObject({
  statuses: z.array(z.enum(requestStatuses)).exactOptional(),
  limit: z.number().int().min(1).max(500),
  cursor: text(500).exactOptional(),
  search: text(500).exactOptional(),
});

/** What each method takes, in its order. */
export const wireMethods = {
  call: z.tuple([z.strictObject({ ...call, waitMs: z.number().int().min(0).max(3_600_000) })]),
  runApproved: z.tuple([id, z.strictObject({ restrict: z.literal('green_only').exactOptional() })]),
  explain: z.tuple([z.strictObject({ ...call, level: z.enum(securityLevels).exactOptional() })]),
  'policy.matrix': z.tuple([agent]),
  whyNotHere: z.tuple([id]),
  doctor: z.tuple([]),
  'approvals.list': z.tuple([query]),
  'approvals.get': z.tuple([id]),
  'approvals.countPending': z.tuple([]),
  'approvals.card': z.tuple([id]),
  'approvals.deny': z.tuple([id, text(2_000).nullable()]),
  'approvals.revoke': z.tuple([id, text(2_000).nullable()]),
  'approvals.cancel': z.tuple([id]),
  'security.level': z.tuple([]),
  'security.rules': z.tuple([]),
  'security.pause': z.tuple([text(500).nullable()]),
  'audit.tail': z.tuple([z.number().int().min(0).max(1_000)]),
  'audit.verify': z.tuple([seenPoint.nullable()]),
  'audit.compare': z.tuple([
    z.strictObject({ points: z.array(point).max(100), chains: z.array(anchor).max(100), checkpoint: checkpoint.exactOptional() }),
  ]),
  'audit.head': z.tuple([]),
  'audit.continues': z.tuple([seenPoint]),
  'audit.checkpoint': z.tuple([]),
  'audit.prove': z.tuple([z.union([z.number().int().min(1), z.string().regex(/^[a-f0-9]{64}$/)])]),
  'audit.proveSince': z.tuple([checkpoint]),
  'live.nodes': z.tuple([text(64)]),
  'live.guests': z.tuple([text(64)]),
  'live.protectedNames': z.tuple([text(64)]),
  'live.overview': z.tuple([text(64)]),
  'live.guest': z.tuple([text(64), z.strictObject({ vmid: z.number().int().min(1), node: text(64), guestType: z.enum(['qemu', 'lxc']) })]),
  'live.task': z.tuple([text(64), text(300)]),
  'live.facts': z.tuple([z.array(jsonObject).max(100)]),
  'plans.list': z.tuple([]),
  'plans.underWay': z.tuple([]),
  'plans.get': z.tuple([id]),
  'plans.snapshots': z.tuple([]),
  'plans.control': z.tuple([id, z.enum(planControls)]),
  'plans.without': z.tuple([id, z.array(z.number().int().min(1).max(mostSteps)).min(1).max(mostSteps)]),
  'attempts.list': z.tuple([]),
  'attempts.seen': z.tuple([text(100)]),
  // Of the tools that run in the user's own process: their requests and records are kept here.
  'records.settings': z.tuple([]),
  'records.open': z.tuple([jsonObject]),
  'records.consume': z.tuple([id, text(64), text(500)]),
  'records.noteWait': z.tuple([id, text(100), z.number()]),
  'records.waitOf': z.tuple([id]),
  'records.append': z.tuple([z.array(auditDraft).max(200)]),
  'records.endAttempt': z.tuple([auditDraft]),
  'records.ofRequest': z.tuple([id, z.number()]),
} as const;
export type WireMethod = keyof typeof wireMethods;
export type WireValues<M extends WireMethod> = z.output<(typeof wireMethods)[M]>;

/** What no user's socket does; each is answered with where it is done. */
export const answeredElsewhere: ReadonlySet<string> = new Set([
  'approvals.approve',
  'approvals.trust',
  'security.setLevel',
  'security.setRule',
  'security.removeRule',
  'security.resume',
  'plans.resume',
  'policy.settings',
  'policy.replay',
]);

/** `records.settings`: what decides about a workspace tool, of the service's part. */
export interface SharedSettings {
  readonly level: SecurityLevel;
  readonly unavailable?: string;
  readonly tiers: Readonly<Record<string, (typeof actionTiers)[number]>>;
  readonly rules: readonly { readonly pattern: string; readonly action: AutoApproveAction }[];
  readonly paused?: Pause;
}

const clientMessage = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('hello'), protocol: z.number().int(), version: text(100) }),
  z.strictObject({ kind: z.literal('call'), id: z.number().int().min(1), method: text(100), values: z.array(z.unknown()).max(10) }),
  z.strictObject({ kind: z.literal('cancel'), id: z.number().int().min(1) }),
]);

/** undefined: the line is no message. */
export function readClientMessage(line: string): ClientMessage | undefined {
  try {
    return clientMessage.safeParse(JSON.parse(line)).data;
  } catch {
    return undefined;
  }
}

export interface LineReader {
  /** @returns false where a line is longer than it may be; nothing more is read then */
  take(chunk: Uint8Array): boolean;
  /** A line was begun and has not ended. */
  isOpen(): boolean;
}

/**
 * Lines out of the chunks that a socket gives; only whole ones are handed on. SECURITY: half a line is kept in one piece of memory. A list of its
 * chunks would cost a sender of single bytes a hundred times less than the reader.
 */
export function createLineReader(most: number, onLine: (line: string) => void): LineReader {
  let kept = Buffer.alloc(0);
  let length = 0;
  const keep = (bytes: Buffer): void => {
    if (length + bytes.length > kept.length) {
      const larger = Buffer.allocUnsafe(Math.min(most, 2 * (length + bytes.length)));
      kept.copy(larger, 0, 0, length);
      kept = larger;
    }
    bytes.copy(kept, length);
    length += bytes.length;
  };
  const endLine = (last: Buffer): string => {
    if (length === 0) return last.toString('utf8');
    keep(last);
    const whole = kept.toString('utf8', 0, length);
    kept = Buffer.alloc(0);
    length = 0;
    return whole;
  };
  return {
    take: (chunk) => {
      let rest = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
      for (let end = rest.indexOf(10); end >= 0; end = rest.indexOf(10)) {
        if (length + end > most) return false;
        onLine(endLine(rest.subarray(0, end)));
        rest = rest.subarray(end + 1);
      }
      if (length + rest.length > most) return false;
      if (rest.length > 0) keep(rest);
      return true;
    },
    isOpen: () => length > 0,
  };
}
