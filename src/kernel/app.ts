/** The one thing hosts talk to, in this process or through the service's socket: hosts never see a handler, a store or a connector. */

import type { Agent } from './agent.ts';
import type { AnswerResult, OneTimeCodes, ReviewCard, Signer } from './approval/answer.ts';
import type { RequestRecord } from './approval/request.ts';
import type { AutoApproveAction, Pause } from './approval/security.ts';
import type { AttemptView } from './attempt.ts';
import type { AuditRecord, ChainPoint, ChainVerdict } from './audit-event.ts';
import type { Decision } from './decision.ts';
import type { RunHistory } from './effects.ts';
import type { FaultWords } from './errors.ts';
import type { JsonObject } from './json.ts';
import type { LiveLists } from './live.ts';
import type { Outcome, OutcomeStatus } from './outcome.ts';
import type { PlanControl, PlanProgress } from './plans/plan-progress.ts';
import type { PolicyView } from './policy-view.ts';
import type { ChainAnchor, Checkpoint } from './ports/audit-log.ts';
import type { SandboxStatus } from './ports/command-runner.ts';
import type { RequestPage, RequestQuery } from './ports/request-store.ts';
import type { Message } from './text/message.ts';
import type { ModelTier, SecurityLevel } from './tiers.ts';
import type { ToolDescription } from './tool.ts';

/** Told when a call starts to wait for a person. A host shows its dialog; what it answers goes through `Approvals`, never through here. */
export interface HumanGate {
  /** Must return at once. `done` aborts when the call stops waiting (decided elsewhere, timed out, cancelled). */
  ask(request: RequestRecord, done: AbortSignal): void;
}

export interface CallRequest {
  readonly tool: string;
  /** The caller's raw arguments; validated strictly inside. */
  readonly input: unknown;
  readonly agent: Agent;
  /** The caller's cancel. */
  readonly signal: AbortSignal;
  /** How long to wait for a person, in ms; 0 answers `pending` at once. */
  readonly waitMs: number;
  readonly gate?: HumanGate;
  /** Refuses whatever is not green (`untrusted_workspace`), and writes that down. */
  readonly restrict?: 'green_only';
  readonly onProgress?: (message: string) => void;
}

/** Who runs an approved call by hand, and how. */
export interface ByHandRun {
  /** `user:alice`. */
  readonly by: string;
  readonly signal: AbortSignal;
  readonly restrict?: 'green_only';
  readonly onProgress?: (message: string) => void;
}

export interface Approvals {
  list(query: RequestQuery): Promise<RequestPage>;
  get(id: string): Promise<RequestRecord | undefined>;
  countPending(): Promise<number>;
  onChange(listener: () => void): () => void;
  /**
   * What a person reads before they answer; undefined: there is no such request. The action on the last card is the one that `approve` signs.
   * @param hide `pattern`: what a detector matched, for a reader that may be a program
   */
  card(id: string, hide?: 'pattern'): Promise<ReviewCard | undefined>;
  /** Only a host's human gate may call this, after a person's own answer. */
  approve(id: string, signer: Signer): Promise<AnswerResult>;
  deny(id: string, by: string, message?: string): Promise<AnswerResult>;
  /** Takes an approval back before it is consumed. */
  revoke(id: string, by: string, message?: string): Promise<AnswerResult>;
  /** The host that opened it gives up on it (window closed, call cancelled). */
  cancel(id: string, by: string): Promise<void>;
  /** Whether this key is among the pinned ones, as they are now. */
  isTrusted(publicKey: string): Promise<boolean>;
  /**
   * Pins a key in the machine-scoped configuration; only after a person's modal answer. Audited.
   * @throws {Fault} `needs_approver` where others count already: one of them has to agree
   */
  trust(signer: Signer): Promise<void>;
}

/** What somebody made looser in a configuration that programs of the user's account can write, too. */
export interface ConfigAgreement {
  /** What does not count before a person agreed to it, in words; empty: nothing waits. */
  pending(): Promise<readonly string[]>;
  /** Only a host's human surface may call this. @param shown what the person saw: anything else is refused */
  agree(shown: readonly string[], signer: Signer): Promise<SettingResult>;
  /** Somebody agreed to something, in any process; what counts now is another App's. Returns the unsubscribe. */
  onChange(listener: () => void): () => void;
}

/** The security level that counts, and where it comes from. */
export interface EffectiveLevel {
  readonly level: SecurityLevel;
  readonly from: 'configuration' | 'store';
  /** The person who set it. */
  readonly by?: string;
  /** A stored level that does not count, and why: unsigned, or signed by a key that is not pinned. */
  readonly warning?: string;
  /** Agents change nothing while this stands, whatever the level. */
  readonly paused?: Pause;
}

/** An auto-approve rule as people see it. One that does not count says why and changes nothing. */
export interface AutoApproveRule {
  readonly pattern: string;
  readonly action: AutoApproveAction;
  readonly by: string;
  /** ms since the epoch */
  readonly expiresAt: number;
  readonly warning?: string;
}

export interface SettingResult {
  readonly ok: boolean;
  readonly code:
    | 'set'
    | 'removed'
    | 'not_found'
    | 'invalid_pattern'
    | 'invalid_life'
    | 'key_not_trusted'
    | 'needs_passkey'
    | 'bad_assertion'
    | 'challenge_over'
    | 'not_here'
    | 'changed_while_shown';
  readonly message: string;
  /** The same, for each reader's language. */
  readonly words?: Message;
}

/**
 * What people set for everyone on the same store. Patterns, and what a rule can lift: `policy/auto-approve.ts`; a rule's usual life:
 * `defaultRuleLifeMs` of `kernel/approval/security.ts`. Only a host's human surface may change it, after a person's own
 * answer. Reading and changing reject with a `Fault` where the store cannot be reached.
 */
export interface SecuritySettings {
  level(): Promise<EffectiveLevel>;
  setLevel(level: SecurityLevel, signer: Signer): Promise<SettingResult>;
  rules(): Promise<readonly AutoApproveRule[]>;
  setRule(
    rule: { readonly pattern: string; readonly action: AutoApproveAction; readonly lifeMs: number },
    signer: Signer,
  ): Promise<SettingResult>;
  removeRule(pattern: string, signer: Signer): Promise<SettingResult>;
  /** Pauses all agents of the store. Anybody of the account may: it makes everything stricter. */
  pause(by: string, reason?: string): Promise<SettingResult>;
  /** Lifts the pause that stands. */
  resume(signer: Signer): Promise<SettingResult>;
  onChange(listener: () => void): () => void;
}

/** One stage's answer for `policy explain`; nothing is executed, asked or stored. */
export interface StageReport {
  readonly stage: string;
  readonly decision: Decision;
  /** Set where the call itself is wrong (bad input, no such node): no policy refused it. */
  readonly error?: true;
  /** What the stage found out (resolved target, effective tier). */
  readonly detail?: JsonObject;
}

export interface Explanation {
  readonly tool: string;
  readonly decision: Decision;
  /** What the call would end with: `pending` where a person would be asked, `error` where it is wrong in itself. */
  readonly status: OutcomeStatus;
  readonly stages: readonly StageReport[];
}

/** What was seen of a trail at an earlier time. */
export interface SeenTrail {
  /** Of a trail that is one chain. */
  readonly points: readonly ChainPoint[];
  /** Of a trail with a chain per writer: the newest record of each. */
  readonly chains: readonly ChainAnchor[];
  /** What its tree was, each time that somebody kept it: goes on being comparable when the records have left. Absent, or empty: never. */
  readonly checkpoints?: readonly Checkpoint[];
}

/** What somebody keeps of a trail that is one chain: its newest record, and what its tree was. */
export type SeenPoint = ChainPoint & { readonly checkpoint?: Checkpoint };

export interface SignedCheckpoint {
  readonly checkpoint: Checkpoint;
  /** C2SP `tlog-checkpoint`, signed by the log's key. */
  readonly note: string;
  /** The log's key: `NAME+ID+KEY`. */
  readonly key: string;
}

/** That one record is in the trail, for anybody who has the log's key. Hashes are hex. */
export interface RecordProof {
  readonly banksman_proof: 1;
  /** Its canonical JSON; absent where it has left the trail, and only its hash is kept. */
  readonly record?: string;
  readonly leaf: string;
  /** From 0. */
  readonly index: number;
  readonly size: number;
  readonly path: readonly string[];
  readonly checkpoint: string;
}

/** That the trail goes on from an earlier checkpoint. */
export interface ExtensionProof {
  readonly banksman_proof: 1;
  readonly from: number;
  readonly from_root: string;
  readonly size: number;
  readonly path: readonly string[];
  readonly checkpoint: string;
}

export interface AuditTrail {
  tail(count: number): Promise<readonly AuditRecord[]>;
  /**
   * Reads the whole trail, also behind a record that does not fit. A missing or empty trail is not ok.
   * @param seen a point of it that the caller kept outside the store
   */
  verify(seen?: SeenPoint): Promise<ChainVerdict>;
  /**
   * As `verify`, and the trail must go on from all that was seen of it: not ok, too, where that is no longer kept.
   */
  compare(seen: SeenTrail): Promise<ChainVerdict>;
  /** Its newest record; undefined where there is none, or where each writer has a chain of its own (a shared store). */
  head(): Promise<SeenPoint | undefined>;
  /** Whether the trail goes on from a point that was seen earlier; true, too, where records of that age are no longer kept. */
  continues(seen: SeenPoint): Promise<boolean>;
  /** @throws {Fault} `no_tree` where the store has none; `audit_broken` where tree and trail do not fit */
  checkpoint(): Promise<SignedCheckpoint>;
  /**
   * @param record its number, or its `hash`. Where each writer has a chain of its own, the number is that in the tree
   * @throws {Fault} `not_found`; `not_kept` where the record is so old that its hash has left, too; and as `checkpoint`
   */
  prove(record: number | string): Promise<RecordProof>;
  /** @throws {Fault} `not_continued` where it does not, and as `checkpoint` */
  proveSince(checkpoint: Checkpoint): Promise<ExtensionProof>;
  /** Sends a checkpoint to each witness of the configuration now, and says what came of it. @throws {Fault} `not_here` where the service does */
  witness(): Promise<readonly Finding[]>;
}

/** What works here, what does not, and the remedy. */
export interface Finding {
  readonly topic: string;
  readonly state: 'ok' | 'warning' | 'failed';
  readonly message: string;
  readonly remedy?: string;
  /** Of both, for each reader's language; each counts only where its English is the same. */
  readonly words?: FaultWords;
}

export interface ControlResult {
  readonly ok: boolean;
  readonly message: string;
  /** The same, for each reader's language. */
  readonly words?: Message;
}

/** Calls that began and have no end that anybody knows. */
export interface AttemptList {
  /** Unknown ones first, then what runs or is being looked up. Rejects where the store cannot be read. */
  list(): Promise<readonly AttemptView[]>;
  /** A person has seen that a call's outcome is unknown: it is said first no more, and stays in the trail. Whoever calls has asked a person. */
  seen(call: string, by: string): Promise<ControlResult>;
}

/** A snapshot that a plan took as a way back, and that is still there. `takenAt` in ms since the epoch. */
export interface KeptSnapshot {
  readonly cluster: string;
  readonly vmid: number;
  readonly name: string;
  readonly takenAt: number;
}

/** Plans in people's hands. Whoever calls has asked a person. */
export interface PlanControls {
  /** Newest first, the last fifty. */
  list(): Promise<readonly PlanProgress[]>;
  get(id: string): Promise<PlanProgress | undefined>;
  /** From its next step on; the one that is under way ends. Any process on the same store may ask. */
  control(id: string, control: PlanControl, by: string): Promise<ControlResult>;
  /** Lifts the pause that stands. */
  resume(id: string, signer: Signer): Promise<SettingResult>;
  /** Those that run or are paused, newest first. */
  underWay(): Promise<readonly PlanProgress[]>;
  /**
   * The same plan without these steps (from 1), rehearsed anew and asked as a question of its own, in its asker's name; the old one is cancelled. The
   * outcome is that of the new proposal.
   */
  without(id: string, steps: readonly number[], by: string): Promise<Outcome>;
  /** Of the plans that the store keeps. @throws {Fault} when a cluster cannot be asked */
  snapshots(): Promise<readonly KeptSnapshot[]>;
}

/** Something that looks as if agents should not touch it, and that is not protected. */
export interface ProtectionSuggestion {
  readonly cluster: string;
  readonly kind: 'guest' | 'node';
  /** The guest's number, or the node's name. */
  readonly name: string;
  /** The guest's name: outside text. */
  readonly called?: string;
  /** `is the gateway of 3 guests`. */
  readonly why: Message;
}

/** What hosts need to know of the configuration. Whether there is a cluster, `LiveLists.clusters` says. */
export interface HostConfig {
  /** How long a call waits for a person, in ms. */
  readonly approvalWait: { readonly editor: number; readonly mcp: number; readonly cli: number };
  /** Of a caller whose model is not known. */
  readonly defaultModelTier: ModelTier;
  /** The same of a coding agent that asks through its hook. */
  readonly hookModelTier: ModelTier;
  /** Origin of the page on which people approve with a passkey. Absent: there is none. */
  readonly page?: string;
  /** The directory that tools of the group `workspace` work in. */
  readonly workspaceRoot: string;
  /** Where people answer what cannot be answered here, in words. Absent: here. */
  readonly answersAt?: string;
  /** Keys of this user's own configuration that count for nothing, since a service has its own. Absent: all count. */
  readonly unused?: readonly string[];
}

export interface App {
  readonly config: HostConfig;
  readonly tools: readonly ToolDescription[];
  /** As last known, for what cannot wait; `security.level()` asks. */
  readonly securityLevel: SecurityLevel;
  /** The service behind it does not answer now; absent where there is none. `security.onChange` rings when that changes. */
  readonly isAway?: boolean;
  /** OS sandbox of `run_command`, as far as it is known now; never claims more than is enforced. */
  sandboxState(): SandboxStatus;
  /** Where the store is, for people. */
  readonly storeLocation: string;
  /** The only way to run a tool. Never rejects: what goes wrong is an outcome. */
  call(request: CallRequest): Promise<Outcome>;
  /**
   * Runs the call of an approved request in its agent's place, on that approval and once. Only a host's human gate may call this, after a person's
   * own answer. Never rejects.
   */
  runApproved(id: string, run: ByHandRun): Promise<Outcome>;
  /** Why `runApproved` could not run this request here; undefined: it can. Rejects where that cannot be read. */
  whyNotHere(record: RequestRecord): Promise<string | undefined>;
  /** The title and one-line summary for a host's "about to run" message, from literal arguments only; undefined for invalid input. */
  announce(tool: string, input: unknown): { readonly title: string; readonly asks: boolean } | undefined;
  /** @param call `level`: as if this one counted */
  explain(call: Pick<CallRequest, 'tool' | 'input' | 'agent' | 'restrict'> & { readonly level?: SecurityLevel }): Promise<Explanation>;
  readonly policy: PolicyView;
  readonly approvals: Approvals;
  /** Absent where people answer elsewhere. */
  readonly oneTimeCodes?: OneTimeCodes;
  readonly security: SecuritySettings;
  readonly audit: AuditTrail;
  readonly live: LiveLists;
  readonly plans: PlanControls;
  readonly attempts: AttemptList;
  /** What commands changed in the workspace, and taking it back; undefined where nothing is kept. `undo` is for people, and written down. */
  runs(): Promise<RunHistory | undefined>;
  doctor(signal: AbortSignal): Promise<readonly Finding[]>;
  /** Of clusters that can be asked now. Absent where only an administrator can write the configuration. */
  suggestions?(signal: AbortSignal): Promise<readonly ProtectionSuggestion[]>;
  /** Says it in the log, once of each cluster. Never rejects. Absent where the editor asks, and of a configuration that was named for one call. */
  offerProtection?(signal: AbortSignal): Promise<void>;
  /** Absent where only an administrator can write the configuration. */
  readonly agreement?: ConfigAgreement;
  /** What somebody seems to have done to approvals, pins, configuration or trail: the part of `doctor` that is looked at again and again. Never rejects. */
  alarms(): Promise<readonly Finding[]>;
  close(): Promise<void>;
}

/** What a server of calls needs. */
export type CallingApp = Pick<App, 'tools' | 'config' | 'announce' | 'call'> & {
  readonly live: Pick<LiveLists, 'clusters'>;
  readonly approvals: Pick<Approvals, 'get' | 'cancel'>;
};
