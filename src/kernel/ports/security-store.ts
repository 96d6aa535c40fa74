/** Security settings that people share: the level and the auto-approve rules. Every change is atomic with its audit record. */
import type { LevelPayload, Pause, ResumePayload, RulePayload, SignedSetting } from '../approval/security.ts';
import type { SecurityLevel } from '../tiers.ts';

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
