import type { LevelPayload, Pause, ResumePayload, RulePayload, SignedSetting } from '../approval/security.ts';
import type { SecurityLevel } from '../tiers.ts';
import type { AuditLog, TrailTree } from './audit-log.ts';
import type { RequestStore } from './request-store.ts';

/** One engine holding all; `close` flushes and releases everything (idempotent). */
export interface Store {
  readonly requests: RequestStore;
  readonly audit: AuditLog;
  readonly security: SecurityStore;
  /** Absent where people answer elsewhere. */
  readonly codes?: CodeStore;
  /** Absent where several machines share the engine: the directories it counts are on one machine's disk. */
  readonly personas?: PersonaLedger;
  /** Absent where the engine is not on this machine: it looks after itself. */
  readonly care?: StoreCare;
  /**
   * Of several machines that claim the same within `forMs`, one gets it. Absent where the engine is on one machine. @throws {Fault} `store_…`
   */
  claim?(what: string, forMs: number): Promise<boolean>;
  /** There is none where `location` says: this one is empty, and goes when it is closed. */
  readonly isMissing?: true;
  /** Where it is, for people: a file path or a URL without credentials. */
  readonly location: string;
  close(): Promise<void>;
}

/** An engine on this machine. */
export interface LocalStore extends Store {
  readonly audit: AuditLog & { readonly tree: Required<Omit<TrailTree, 'pin' | 'begin'>> };
  readonly codes: CodeStore;
  readonly personas: PersonaLedger;
  readonly care: StoreCare;
}

// What only an embedded store knows of itself, and what a person says about it.

export interface StoreTime {
  /** How far this machine's clock is ahead of the time that the store has seen pass, in ms; 0: it is not. Nothing is dropped by a clock that is. */
  readonly ahead: number;
}

export interface StoreCare {
  time(): Promise<StoreTime>;
  /** A person says that the clock is right: what is old by it may go. Audited. @param by `user:alice` */
  trustClock(by: string): Promise<void>;
}

// One-time codes, hashed, one a request. They are taken away to be looked at: so one process at a time tries a code, and one uses it.

export interface HashedCode {
  /** base64url, like `hash`. */
  readonly salt: string;
  readonly hash: string;
}

export interface StoredCode extends HashedCode {
  /** Tries that failed. */
  readonly wrong: number;
}

export interface CodeStore {
  /** Keeps a fresh code in place of the request's former one. */
  put(requestId: string, code: HashedCode, lifeMs: number): Promise<void>;
  /** At most one caller ever gets it; undefined: there is none. `leftMs` is by the store's clock, below 1 where its time is over. */
  take(requestId: string): Promise<{ readonly code: StoredCode; readonly leftMs: number } | undefined>;
  /** For the time that it had left, unless there is a newer one by now. */
  putBack(requestId: string, code: StoredCode, leftMs: number): Promise<void>;
}

// The account of every agent's own sandbox: its directory, its bytes, when it was last used. Shared by all windows and processes.

/** Bytes are as charged: each file rounded up to whole blocks. */
export interface PersonaAccount {
  readonly agentId: string;
  /** Name of its directory; random, and another one after each cleaning. */
  readonly directory: string;
  readonly bytes: number;
  readonly files: number;
  /** Milliseconds since the epoch. */
  readonly lastUsed: number;
  /** Changes with every change of the account. */
  readonly revision: number;
}

export interface PersonaFile {
  readonly path: string;
  readonly bytes: number;
}

export interface PersonaLimits {
  readonly bytes: number;
  readonly files: number;
}

export type Reservation =
  | { readonly ok: true; readonly id: string }
  /** `gone`: the account is another one by now (it was cleaned); `full`: it would exceed a limit. */
  | { readonly ok: false; readonly why: 'gone' | 'full'; readonly account: PersonaAccount | undefined };

export interface PersonaLedger {
  /** The agent's account, marked as used now. Made with `directory` where there is none. */
  open(agentId: string, directory: string): Promise<PersonaAccount>;
  /** The agent's account, marked as used now; undefined where there is none. */
  find(agentId: string): Promise<PersonaAccount | undefined>;
  /** Sets `file.bytes` aside before they are written, in one transaction with the check. A path counts its largest size until settled. */
  reserve(account: Pick<PersonaAccount, 'agentId' | 'directory'>, file: PersonaFile, limits: PersonaLimits): Promise<Reservation>;
  /** Ends a reservation: `written` makes it the file's size, otherwise everything is as before. */
  settle(id: string, written: boolean): Promise<void>;
  /** Replaces the account by what was found on disk, unless it changed since `revision` or a reservation younger than `staleMs` is open. */
  recount(account: Pick<PersonaAccount, 'agentId' | 'revision'>, files: readonly PersonaFile[], staleMs: number): Promise<boolean>;
  /** Every account, the largest first. */
  list(): Promise<readonly PersonaAccount[]>;
  /** Strikes off every account unused since `before` and returns them; their directories belong to nobody then. Each is returned once. */
  takeUnused(before: number): Promise<readonly PersonaAccount[]>;
}

// Security settings that people share: the level and the auto-approve rules. Every change is atomic with its audit record.

/** As stored, not yet verified. `unsigned`: somebody wrote a bare value, or (`damaged`) what is no value; it counts only where it is stricter. */
export type StoredLevel = { readonly signed: SignedSetting<LevelPayload> } | { readonly unsigned: SecurityLevel; readonly damaged?: true };

/** As stored, not yet verified. A rule whose time is over is not returned. */
export interface StoredRule {
  readonly pattern: string;
  readonly signed?: SignedSetting<RulePayload>;
  /** Somebody wrote a bare action; `allow` never counts. */
  readonly unsigned?: RulePayload['action'];
  /** What is stored is neither signed nor an action: it counts as `block`. */
  readonly damaged?: true;
}

/** As stored, not yet verified: a pause, or what a person signed to lift one. What is stored and damaged counts as a pause. */
export type StoredPause = { readonly pause: Pause } | { readonly lifted: SignedSetting<ResumePayload> };

export interface SecurityStore {
  /** undefined: nobody has set one; the configuration's counts. */
  level(): Promise<StoredLevel | undefined>;
  /** Audits `policy.changed`. */
  setLevel(setting: SignedSetting<LevelPayload>): Promise<void>;
  /** All live rules, by pattern; at most 1,000. */
  rules(): Promise<readonly StoredRule[]>;
  /** Replaces the rule of the same pattern. Audits `policy.changed`. */
  setRule(setting: SignedSetting<RulePayload>): Promise<void>;
  /** False: there was none. Audits `policy.changed`. */
  removeRule(pattern: string, by: string): Promise<boolean>;
  /** undefined: they were never paused, or somebody took the pause out. */
  pause(): Promise<StoredPause | undefined>;
  /** False: they are paused already, and that pause stands. Audits `policy.changed`. */
  setPause(pause: Pause): Promise<boolean>;
  /** Puts this in the place of the pause. False: a later pause stands. Audits `policy.changed`, with what was signed. */
  liftPause(lifted: SignedSetting<ResumePayload>): Promise<boolean>;
  /** Called after any change made by any process; re-read what you show. Returns the unsubscribe. */
  onChange(listener: () => void): () => void;
}
