/** Why something was blocked, how destinations and yellow tools may be settled in advance. */
import type { SecurityLevel } from './tiers.ts';

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

/**
 * What a person's key signs when a security setting changes; canonical JSON of this is the signed message. Times are ms since the epoch.
 * `pattern` is `destination:HOST`, `destination:.DOMAIN`, or `tool:NAME` with, after another colon, a glob for its target.
 */
export type SettingPayload =
  | {
      readonly version: 1;
      readonly setting: 'security_level';
      readonly level: SecurityLevel;
      readonly approver: string;
      readonly issuedAt: number;
    }
  | {
      readonly version: 1;
      readonly setting: 'auto_approve';
      readonly pattern: string;
      readonly action: AutoApproveAction;
      readonly approver: string;
      readonly issuedAt: number;
      /** Every rule ends. */
      readonly expiresAt: number;
    };
export type LevelPayload = Extract<SettingPayload, { setting: 'security_level' }>;
export type RulePayload = Extract<SettingPayload, { setting: 'auto_approve' }>;

/** A payload with a person's signature. `keyId` and `signature` are base64url; the key itself is looked up among the pinned ones. */
export interface Signed<Payload> {
  readonly payload: Payload;
  readonly keyId: string;
  readonly signature: string;
}

/** Verified when read: an unsigned or forged setting may only make things stricter. */
export type SignedSetting<Payload extends SettingPayload = SettingPayload> = Signed<Payload>;

/** How long an auto-approve rule lives where nobody says otherwise: 8 h; and at most: 30 days. In ms. */
export const defaultRuleLifeMs = 8 * 3_600_000;
export const maxRuleLifeMs = 30 * 24 * 3_600_000;
