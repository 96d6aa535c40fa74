/** The settings that people share: read with what counts of them, changed only with a pinned key. */

import { randomBytes, verify } from 'node:crypto';
import type { ApproverKey, Signer } from '#kernel/answer';
import type { AutoApproveRule, EffectiveLevel, SecuritySettings, SettingResult } from '#kernel/app';
import { canonicalJson } from '#kernel/json';
import type { Clock } from '#kernel/ports/clock';
import type { SecurityStore, StoredLevel, StoredRule } from '#kernel/ports/security-store';
import { type AutoApproveAction, type LevelPayload, maxRuleLifeMs, type RulePayload, type SignedSetting } from '#kernel/security';
import { type SecurityLevel, securityLevels } from '#kernel/tiers';
import { importPublicKey, isSameKey, keyIdOf, type SignatureFlaw, signatureFlaw, signPayload } from './keys.ts';

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

/** `counts`: what it makes of a call now; undefined: it changes nothing. */
export interface StandingRule extends AutoApproveRule {
  readonly counts?: AutoApproveAction;
}

/** `rules` also says which action of a rule counts. */
export interface StandingSettings extends Omit<SecuritySettings, 'onChange'> {
  rules(): Promise<readonly StandingRule[]>;
}

export function createSecuritySettings(deps: SecuritySettingsDeps): StandingSettings {
  const { store, clock } = deps;
  const memory = createLevelMemory();
  const flawOf = createSettingVerifier();
  return {
    level: async () => {
      const stored = await store.level();
      // Where nobody has set one there is nothing that a key could vouch for.
      const keys = stored === undefined ? [] : await deps.trustedKeys();
      return memory.checked(stored, effectiveLevel(stored, deps.configured, keys), deps.configured);
    },
    rules: async () => {
      const [stored, keys] = await Promise.all([store.rules(), deps.trustedKeys()]);
      const context = { trustedKeys: keys, now: clock.now(), flawOf };
      return stored.map((rule) => ({ pattern: rule.pattern, ...ruleStanding(rule, context) }));
    },
    setLevel: (level, signer) => setLevel(level, signer, deps),
    setRule: (rule, signer) => setRule(rule, signer, deps),
    removeRule: (pattern, signer) => removeRule(pattern, signer, deps),
  };
}

async function setLevel(level: SecurityLevel, signer: Signer, deps: SecuritySettingsDeps): Promise<SettingResult> {
  const before = await deps.store.level();
  const newest = before !== undefined && 'signed' in before ? before.signed.payload.issuedAt : 0;
  // Later than the one before it even where that machine's clock was ahead by minutes; a forged far future is not followed.
  const now = deps.clock.now();
  const issuedAt = newest >= now && newest < now + 3_600_000 ? newest + 1 : now;
  const payload: LevelPayload = { version: 1, setting: 'security_level', level, approver: signer.approver, issuedAt };
  const signed = await signPayload(payload, signer);
  if (signatureFlaw(signed, await deps.trustedKeys()) !== undefined) return keyNotTrusted;
  await deps.store.setLevel(signed);
  return { ok: true, code: 'set', message: `the security level is ${level} for everyone on this store` };
}

async function setRule(
  { pattern, action, lifeMs }: { readonly pattern: string; readonly action: AutoApproveAction; readonly lifeMs: number },
  signer: Signer,
  deps: SecuritySettingsDeps,
): Promise<SettingResult> {
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
  const signed = await signPayload(payload, signer);
  if (signatureFlaw(signed, await deps.trustedKeys()) !== undefined) return keyNotTrusted;
  await deps.store.setRule(signed);
  return { ok: true, code: 'set', message: `\`${checked.text}\`: ${action} until ${new Date(payload.expiresAt).toISOString()}` };
}

async function removeRule(pattern: string, signer: Signer, deps: SecuritySettingsDeps): Promise<SettingResult> {
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

const keyNotTrusted: SettingResult = {
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
    checked: (stored: StoredLevel | undefined, found: EffectiveLevel, configured: SecurityLevel): EffectiveLevel => {
      const issuedAt = found.by !== undefined && stored !== undefined && 'signed' in stored ? stored.signed.payload.issuedAt : undefined;
      if (issuedAt !== undefined && issuedAt < newest)
        return effectiveLevel({ unsigned: found.level }, configured, [], 'it is older than one that counted before');
      newest = Math.max(newest, issuedAt ?? 0);
      return found;
    },
  };
}

/** Signs something that is neither a grant nor a setting, with a nonce of its own. False for a signer that fails or is not pinned. */
async function provesKey(signer: Signer, trustedKeys: readonly ApproverKey[]): Promise<boolean> {
  const pinned = trustedKeys.find((trusted) => isSameKey(trusted.key, signer.publicKey));
  const key = pinned && importPublicKey(pinned.key);
  if (!key) return false;
  const message = Buffer.from(canonicalJson({ version: 1, proof: randomBytes(16).toString('base64url'), approver: signer.approver }));
  return verify(null, message, key, await signer.sign(message));
}

// Whether a stored auto-approve rule counts, and what people are told where it does not.

/** Two machines' clocks may differ by this much, in ms. */
const clockSkewMs = 60_000;

type RuleStanding = Omit<StandingRule, 'pattern'>;

interface StandingContext {
  readonly trustedKeys: readonly ApproverKey[];
  /** ms since the epoch */
  readonly now: number;
  readonly flawOf: typeof signatureFlaw;
}

/** What nobody signed may only make things stricter, so `prompt` and `block` count whoever wrote them; `allow` needs a pinned key. */
function ruleStanding(stored: StoredRule, { trustedKeys, now, flawOf }: StandingContext): RuleStanding {
  const { signed, unsigned } = stored;
  if (signed === undefined)
    return distrusted(
      { action: unsigned ?? 'prompt', by: 'unknown', expiresAt: 0 },
      stored.damaged ? 'what is stored is damaged' : 'nobody signed it',
    );
  const { action, approver, expiresAt } = signed.payload;
  const standing = { action, by: approver, expiresAt };
  if (expiresAt <= now) return { ...standing, warning: 'its time is over' };
  const flaw = flawOf(signed, trustedKeys);
  if (flaw !== undefined) return distrusted(standing, flawInWords[flaw]);
  const misfit = misfitOf(stored.pattern, signed, now);
  return misfit === undefined ? { ...standing, counts: action } : distrusted(standing, misfit);
}

/** SECURITY: a signature is for one pattern and one time; a row may hold another rule's. */
function misfitOf(pattern: string, { payload }: SignedSetting<RulePayload>, now: number): string | undefined {
  if (payload.setting !== 'auto_approve' || payload.pattern !== pattern) return 'it was signed for another pattern';
  if (payload.expiresAt - payload.issuedAt > maxRuleLifeMs) return 'it was signed for more than 30 days';
  return payload.issuedAt > now + clockSkewMs ? 'it was signed in the future' : undefined;
}

function distrusted(rule: Pick<RuleStanding, 'action' | 'by' | 'expiresAt'>, why: string): RuleStanding {
  return rule.action === 'allow'
    ? { ...rule, warning: `${why}; it changes nothing` }
    : { ...rule, counts: rule.action, warning: `${why}; it counts because it only makes things stricter` };
}

// The security level that counts: what a person signed, else the configuration’s; never looser than somebody agreed to.

/** A stored level that no pinned key signed counts only where it is stricter than the configuration's, and is warned about either way (`why`). */
function effectiveLevel(
  stored: StoredLevel | undefined,
  configured: SecurityLevel,
  trustedKeys: readonly ApproverKey[],
  why = 'nobody signed it',
): EffectiveLevel {
  if (stored === undefined) return { level: configured, from: 'configuration' };
  if ('unsigned' in stored && stored.damaged) return damagedLevel(stored.unsigned, configured);
  if ('unsigned' in stored) return distrustedLevel(stored.unsigned, configured, why);
  const { payload } = stored.signed;
  const flaw = signatureFlaw(stored.signed, trustedKeys);
  return flaw === undefined
    ? { level: payload.level, from: 'store', by: payload.approver }
    : distrustedLevel(payload.level, configured, flawInWords[flaw]);
}

const flawInWords: Readonly<Record<SignatureFlaw, string>> = {
  untrusted_key: 'it was signed with a key that is not trusted here',
  bad_signature: 'its signature does not fit',
};

/** What is stored is no level: nobody can say what was meant. */
function damagedLevel(level: SecurityLevel, configured: SecurityLevel): EffectiveLevel {
  const from = level === configured ? 'configuration' : 'store';
  return { level, from, warning: `what the store has as the level is damaged, or was not written by Banksman; it counts as \`${level}\`` };
}

function distrustedLevel(level: SecurityLevel, configured: SecurityLevel, why: string): EffectiveLevel {
  const counts = securityLevels.indexOf(level) > securityLevels.indexOf(configured);
  const what = `the store says \`${level}\`, but ${why}`;
  return counts
    ? { level, from: 'store', warning: `${what}; it counts because it is stricter than the configuration’s \`${configured}\`` }
    : { level: configured, from: 'configuration', warning: `${what}; the configuration’s \`${configured}\` counts` };
}

/**
 * `signatureFlaw` that remembers: rules are looked at for every call, and a thousand signatures take a tenth of a second. What is
 * remembered hangs on the very key, payload and signature, so a key that is pinned no more is not found here either.
 */
function createSettingVerifier(limit = 4_096): typeof signatureFlaw {
  const known = new Map<string, SignatureFlaw | undefined>();
  return (setting, trustedKeys) => {
    const pinned = trustedKeys.find((trusted) => keyIdOf(trusted.key) === setting.keyId);
    if (pinned === undefined) return 'untrusted_key';
    const name = JSON.stringify([pinned.key, setting]);
    if (known.has(name)) return known.get(name);
    if (known.size >= limit) known.clear();
    const flaw = signatureFlaw(setting, [pinned]);
    known.set(name, flaw);
    return flaw;
  };
}
