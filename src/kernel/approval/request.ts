/** A pending question to a person, and the answer that is worth exactly one call (docs/design.md#requests-and-grants). */
import type { AgentHost } from '../agent.ts';
import type { JsonObject } from '../json.ts';
import { type Message, wordsOf } from '../text/message.ts';
import type { ActionTier, Impact, ModelTier } from '../tiers.ts';
import type { Signed } from './proof.ts';
import type { ApprovalSource, Display, ReportedBlock } from './security.ts';

export const requestStatuses = ['pending', 'approved', 'denied', 'expired', 'cancelled', 'revoked', 'consumed'] as const;
export type RequestStatus = (typeof requestStatuses)[number];

/** A request lives one hour, a grant five minutes once all have agreed (docs/design.md#requests-and-grants). In milliseconds. */
export const requestLifeMs = 3_600_000;
export const grantLifeMs = 300_000;

/** A waiting call says this often that it is still there, and counts as gone when it has said nothing for so long. In milliseconds. */
export const waitBeatMs = 10_000;
export const waitStaleMs = 25_000;

export const requestIdPattern = /^req-[a-f0-9]{8}$/;

/** Exactly what will run: the digest is SHA-256 over its canonical JSON. JSON-safe by construction. */
export interface EffectiveAction {
  readonly tool: string;
  readonly arguments: JsonObject;
  readonly targets: readonly JsonObject[];
  readonly agentId: string;
  readonly cluster: string | null;
  /** Of a workspace tool: which directory on which machine. */
  readonly workspace?: string;
  /** The guests as they were approved (`GuestCondition`), of a tool that says what it depends on. */
  readonly before?: readonly JsonObject[];
  readonly policyVersion: string;
}

/**
 * What a person agrees to, whatever key they have. A window's or terminal's key signs the canonical JSON of this; a passkey signs a
 * challenge that is made of it. Times are ms since the epoch.
 */
export interface GrantPayload {
  readonly version: 2;
  readonly purpose: 'answer_request';
  readonly requestId: string;
  readonly decision: 'approve' | 'deny';
  readonly digest: string;
  /** `user:alice-phone`. */
  readonly approver: string;
  /** Who is counted: the pin's person. */
  readonly person: string;
  /** Where the card was read: the pin's. */
  readonly display: Display;
  /** Of the store that the request is in (`RequestStore.identity`). */
  readonly store: string;
  readonly issuedAt: number;
  readonly expiresAt: number;
  /** base64url of 32 random bytes. */
  readonly nonce: string;
}

/** One person's approval as it is stored, and verified again when it is consumed. */
export type Grant = Signed<GrantPayload>;

/** Two keys of each of the five people that a rule may want, at most. */
export const mostGrants = 10;

/** When approvals can be used no more, ms since the epoch: five minutes after the newest, and none beyond its own time. Of none: 0. */
export function grantsEnd(grants: readonly Grant[]): number {
  const newest = Math.max(0, ...grants.map(({ payload }) => payload.issuedAt + grantLifeMs));
  return Math.min(newest, ...grants.map(({ payload }) => payload.expiresAt));
}

/** What a person is asked, before the store gives it an id and times. */
export interface RequestDraft {
  readonly digest: string;
  readonly action: EffectiveAction;
  readonly tier: ActionTier;
  readonly impact: Impact;
  /** The question's title: `Stop VM 100 (web) on pve`. */
  readonly title: string;
  /** Facts about the blast radius, one sentence each, from live data. */
  readonly risk: readonly string[];
  /** Why it asks: the decision's code and reason. */
  readonly code: string;
  readonly reason: string;
  /** `title`, `risk` and `reason` for each reader's language; outside the digest, as they are. */
  readonly words?: RequestWords;
  /** The agent's own words for why, shown as a claim; outside the digest. */
  readonly claim?: string;
  /** `modelTier`: as it counted when it asked. */
  readonly agent: {
    readonly id: string;
    readonly host: AgentHost;
    readonly model?: string;
    readonly label?: string;
    readonly modelTier?: ModelTier;
  };
  /** Set where an agent reported a block instead of asking for a call; `action.tool` is then `report_block`, which no grant ever runs. */
  readonly reported?: ReportedBlock;
  /** The id that a report names; only with `reported`. Otherwise the store makes one. */
  readonly reportId?: string;
}

export interface RequestWords {
  readonly title?: Message;
  readonly risk?: readonly Message[];
  readonly reason?: Message;
}

/** @param known as the catalog has it now; absent: as it was stored */
export function requestTitle({ title, words }: Pick<RequestDraft, 'title' | 'words'>, known?: Message): Message {
  return wordsOf(title, known ?? words?.title);
}

export function requestRisk({ risk, words }: Pick<RequestDraft, 'risk' | 'words'>): readonly Message[] {
  return risk.map((fact, index) => wordsOf(fact, words?.risk?.[index]));
}

export function requestReason({ reason, words }: Pick<RequestDraft, 'reason' | 'words'>): Message {
  return wordsOf(reason, words?.reason);
}

/** Who decided, with which words. `by` is a person: `user:alice`; `via` is the surface. */
export interface RequestDecision {
  readonly by: string;
  readonly via: ApprovalSource;
  readonly at: number;
  /** Where the card of an approval was read. */
  readonly display?: Display;
  /** A denial's message to the model, or a note. */
  readonly message?: string;
}

/** A call that waits for the answer, as its own process last said. Times are ms since the epoch. */
export interface RequestWait {
  /** The process and the wait in it. */
  readonly by: string;
  /** When it gives up; in the past: when it stopped. */
  readonly until: number;
  readonly seenAt: number;
}

/** Whether an answer given now would be heard by a call. `since`: when the last one stopped; absent where none ever waited. */
export type WaitState = { readonly waits: true; readonly until: number } | { readonly waits: false; readonly since?: number };

export function waitState(wait: RequestWait | undefined, now: number): WaitState {
  if (wait === undefined) return { waits: false };
  // A process that was killed says nothing more.
  const isSilent = now - wait.seenAt > waitStaleMs;
  if (now < wait.until && !isSilent) return { waits: true, until: wait.until };
  return { waits: false, since: isSilent ? Math.min(wait.seenAt, wait.until) : wait.until };
}

export interface RequestRecord extends RequestDraft {
  readonly id: string;
  readonly status: RequestStatus;
  readonly createdAt: number;
  /** When it stops being answerable. */
  readonly expiresAt: number;
  readonly decision?: RequestDecision;
  /** The approvals so far, in their order; while it is pending fewer than are needed. Absent: none. */
  readonly grants?: readonly Grant[];
  readonly consumedAt?: number;
  /** Process that consumed the grant, for people. */
  readonly consumedBy?: string;
  /** Only where it was asked for together with the record (`Approvals.get`). */
  readonly wait?: RequestWait;
}

/** When it lapses, or did, as things stand: the approvals' end once it was approved, else the request's. */
export function lapsesAt({ decision, grants = [], expiresAt }: Pick<RequestRecord, 'decision' | 'grants' | 'expiresAt'>): number {
  return decision === undefined || grants.length === 0 ? expiresAt : grantsEnd(grants);
}

/** Nobody approves their own request; except at the palette, where the one who acts is the one who confirms. */
export function isSelfApproval(agent: { readonly id: string; readonly host: AgentHost }, approver: string): boolean {
  return agent.host !== 'palette' && agent.id === approver;
}
