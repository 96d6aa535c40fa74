/** The settings that people share: read with what counts of them, changed only with a pinned key. */
import type { ApproverKey, Signer } from '#kernel/answer';
import type { Clock } from '#kernel/ports/clock';
import type { SecurityStore, StoredLevel } from '#kernel/ports/security-store';
import { type AutoApproveAction, type LevelPayload, maxRuleLifeMs, type RulePayload } from '#kernel/security';
import type { SecurityLevel } from '#kernel/tiers';
import { type CountingLevel, effectiveLevel } from './effective-level.ts';
import { provesKey } from './prove-key.ts';
import { type RuleStanding, ruleStanding } from './rule-standing.ts';
import { createSettingVerifier, settingFlaw, signSetting } from './setting.ts';

export interface SecuritySettingsDeps {
  readonly store: SecurityStore;
  readonly clock: Pick<Clock, 'now'>;
  /** The pinned keys as they are at this moment. Empty: nothing can be set, and no stored `allow` counts. */
  readonly trustedKeys: () => Promise<readonly ApproverKey[]>;
  /** The configuration's level. */
  readonly configured: SecurityLevel;
  /** The pattern in its canonical form, or why it is none that may have this action. */
  checkPattern(
    pattern: string,
    action: AutoApproveAction,
  ): { readonly ok: true; readonly text: string } | { readonly ok: false; readonly why: string };
}

export interface StandingRule extends RuleStanding {
  readonly pattern: string;
}

type SettingCode = 'set' | 'removed' | 'not_found' | 'invalid_pattern' | 'invalid_life' | 'key_not_trusted';

/** Structurally `App`'s `SettingResult`. */
export interface ChangeResult {
  readonly ok: boolean;
  readonly code: SettingCode;
  readonly message: string;
}

/** Structurally what `App.security` needs. */
export interface SecuritySettingsCore {
  /** @throws {Fault} `store_…` */
  level(): Promise<CountingLevel>;
  /** All rules, those that do not count included. @throws {Fault} `store_…` */
  rules(): Promise<readonly StandingRule[]>;
  setLevel(level: SecurityLevel, signer: Signer): Promise<ChangeResult>;
  setRule(
    rule: { readonly pattern: string; readonly action: AutoApproveAction; readonly lifeMs: number },
    signer: Signer,
  ): Promise<ChangeResult>;
  removeRule(pattern: string, signer: Signer): Promise<ChangeResult>;
}

export function createSecuritySettings(deps: SecuritySettingsDeps): SecuritySettingsCore {
  const { store, clock } = deps;
  const memory = createLevelMemory();
  const verify = createSettingVerifier();
  return {
    level: async () => {
      const stored = await store.level();
      // Where nobody has set one there is nothing that a key could vouch for.
      const keys = stored === undefined ? [] : await deps.trustedKeys();
      return memory.checked(stored, effectiveLevel(stored, deps.configured, keys), deps.configured);
    },
    rules: async () => {
      const [stored, keys] = await Promise.all([store.rules(), deps.trustedKeys()]);
      const context = { trustedKeys: keys, now: clock.now(), verify };
      return stored.map((rule) => ({ pattern: rule.pattern, ...ruleStanding(rule, context) }));
    },
    setLevel: (level, signer) => setLevel(level, signer, deps),
    setRule: (rule, signer) => setRule(rule, signer, deps),
    removeRule: (pattern, signer) => removeRule(pattern, signer, deps),
  };
}

async function setLevel(level: SecurityLevel, signer: Signer, deps: SecuritySettingsDeps): Promise<ChangeResult> {
  const before = await deps.store.level();
  const newest = before !== undefined && 'signed' in before ? before.signed.payload.issuedAt : 0;
  // Later than the one before it even where that machine's clock was ahead by minutes; a forged far future is not followed.
  const now = deps.clock.now();
  const issuedAt = newest >= now && newest < now + 3_600_000 ? newest + 1 : now;
  const payload: LevelPayload = { version: 1, setting: 'security_level', level, approver: signer.approver, issuedAt };
  const signed = await signSetting(payload, signer);
  if (settingFlaw(signed, await deps.trustedKeys()) !== undefined) return keyNotTrusted;
  await deps.store.setLevel(signed);
  return { ok: true, code: 'set', message: `the security level is ${level} for everyone on this store` };
}

async function setRule(
  { pattern, action, lifeMs }: { readonly pattern: string; readonly action: AutoApproveAction; readonly lifeMs: number },
  signer: Signer,
  deps: SecuritySettingsDeps,
): Promise<ChangeResult> {
  const checked = deps.checkPattern(pattern, action);
  if (!checked.ok) return { ok: false, code: 'invalid_pattern', message: `${checked.why}; nothing was set` };
  if (!Number.isSafeInteger(lifeMs) || lifeMs <= 0 || lifeMs > maxRuleLifeMs)
    return { ok: false, code: 'invalid_life', message: 'a rule lives more than nothing and at most 30 days; nothing was set' };
  const issuedAt = deps.clock.now();
  const payload: RulePayload = {
    version: 1,
    setting: 'auto_approve',
    pattern: checked.text,
    action,
    approver: signer.approver,
    issuedAt,
    expiresAt: issuedAt + lifeMs,
  };
  const signed = await signSetting(payload, signer);
  if (settingFlaw(signed, await deps.trustedKeys()) !== undefined) return keyNotTrusted;
  await deps.store.setRule(signed);
  return { ok: true, code: 'set', message: `\`${checked.text}\`: ${action} until ${new Date(payload.expiresAt).toISOString()}` };
}

async function removeRule(pattern: string, signer: Signer, deps: SecuritySettingsDeps): Promise<ChangeResult> {
  if (!(await provesKey(signer, await deps.trustedKeys()))) return keyNotTrusted;
  // A row that somebody wrote by hand may have any pattern, and must be removable, too.
  const checked = deps.checkPattern(pattern, 'block');
  const candidates = [...new Set([...(checked.ok ? [checked.text] : []), pattern])];
  for (const candidate of candidates) {
    if (await deps.store.removeRule(candidate, signer.approver))
      return { ok: true, code: 'removed', message: `\`${candidate}\` is removed` };
  }
  return { ok: false, code: 'not_found', message: 'there is no such rule; look at the list again' };
}

const keyNotTrusted: ChangeResult = {
  ok: false,
  code: 'key_not_trusted',
  message: 'nothing was changed: the signing key is not among the trusted ones; trust this key first, or do it where a trusted one is',
};

/**
 * SECURITY: a level is signed without an end, so an older signature could be put back. This process at least does not go back behind
 * what it has seen. LIMIT: a process that starts later knows of nothing before it.
 */
function createLevelMemory() {
  let newest = 0;
  return {
    checked: (stored: StoredLevel | undefined, found: CountingLevel, configured: SecurityLevel): CountingLevel => {
      const issuedAt = found.by !== undefined && stored !== undefined && 'signed' in stored ? stored.signed.payload.issuedAt : undefined;
      if (issuedAt !== undefined && issuedAt < newest)
        return effectiveLevel({ unsigned: found.level }, configured, [], 'it is older than one that counted before');
      newest = Math.max(newest, issuedAt ?? 0);
      return found;
    },
  };
}
