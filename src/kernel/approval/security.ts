/** Why something was blocked, how destinations and yellow tools may be settled in advance. */

import type { SecurityLevel } from '../tiers.ts';
import type { Signed } from './proof.ts';

export const blockReasons = [
  'credential_detected',
  'malware_domain',
  'url_blocked',
  'file_infected',
  'network_blocked',
  'confirmation_required',
] as const;
/** Why a call or a request was blocked. The first four come from a filtering proxy, the last two are ours. */
export type BlockReason = (typeof blockReasons)[number];

export const autoApproveActions = ['allow', 'prompt', 'block'] as const;
/** What a rule makes of what it matches: runs without asking, asks, or is refused. */
export type AutoApproveAction = (typeof autoApproveActions)[number];

export const approvalSources = ['editor', 'cli', 'page'] as const;
/** The surface a person answered on. */
export type ApprovalSource = (typeof approvalSources)[number];

export const displays = ['same-account', 'outside'] as const;
/** Where an approver reads the card: in the agents' account, or outside it (a phone, another user's browser). It is what the enroller said. */
export type Display = (typeof displays)[number];

/** A block that an agent reported. Approving it settles the report; it never grants a tool call. */
export interface ReportedBlock {
  readonly reason: BlockReason;
  readonly destination: string;
  /** What the detector matched. For people only: no agent-facing answer, log line or audit record holds it. */
  readonly pattern?: string;
}

/** Domains that approvals may be sent through (docs/design.md#requests-and-grants); dot-prefixed: the domain and what is below it. */
export const defaultApprovalDomains = ['.api.telegram.org', '.api.slack.com', '.discord.com'] as const;

/** Times are ms since the epoch. */
interface SettingFacts {
  readonly version: 1;
  readonly approver: string;
  readonly issuedAt: number;
  /** Of what a passkey signs: base64url of 32 random bytes. */
  readonly nonce?: string;
}

export interface LevelPayload extends SettingFacts {
  readonly setting: 'security_level';
  readonly level: SecurityLevel;
}

/** `pattern` is `destination:HOST`, `destination:.DOMAIN`, or `tool:NAME` with, after another colon, a glob for its target. */
export interface RulePayload extends SettingFacts {
  readonly setting: 'auto_approve';
  readonly pattern: string;
  readonly action: AutoApproveAction;
  /** Every rule ends. */
  readonly expiresAt: number;
}

/** Checked when it comes, and stored nowhere. */
export interface RemovalPayload extends SettingFacts {
  readonly setting: 'auto_approve_removed';
  readonly pattern: string;
}

/** While it stands, agents change nothing. Anybody may pause them; only a person lifts it. */
export interface Pause {
  /** Who paused them: `user:alice`. */
  readonly by: string;
  /** ms since the epoch; 0 where what is stored is damaged, or from a future that no clock has. */
  readonly at: number;
  readonly reason?: string;
  /** It stands against what the store says: taken out of it, or lifted there without a signature that counts. */
  readonly warning?: string;
}

/** A clock may be ahead by less than this, in ms; what is from later than that is nobody's honest time. */
const mostAheadMs = 3_600_000;

/** SECURITY: who writes the store may put any moment there, and what a person signed for a far one would hold until it came. */
export function isFarAhead(moment: number, now: number): boolean {
  return moment >= now + mostAheadMs;
}

/** Of this pause and those before it: what was signed for an earlier one lifts no later one. Stored in the pause's place, so that the lift can be proven. */
export interface ResumePayload extends SettingFacts {
  readonly setting: 'agents_resumed';
  readonly pausedAt: number;
}

/** What a person's key signs when a security setting changes: the canonical JSON of this, or with a passkey a challenge that is made of it. */
export type SettingPayload = LevelPayload | RulePayload | RemovalPayload | ResumePayload;

/** Verified when read: an unsigned or forged setting may only make things stricter. */
export type SignedSetting<Payload extends SettingPayload = SettingPayload> = Signed<Payload>;

/** How long an auto-approve rule lives where nobody says otherwise: 8 h; and at most: 30 days. In ms. */
export const defaultRuleLifeMs = 8 * 3_600_000;
export const maxRuleLifeMs = 30 * 24 * 3_600_000;
