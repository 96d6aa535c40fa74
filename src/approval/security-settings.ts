/** The settings that people share: read with what counts of them, changed only with a pinned key. */

import { randomBytes } from 'node:crypto';
import type { AutoApproveRule, EffectiveLevel, SecuritySettings, SettingResult } from '#kernel/app';
import type { ApproverKey, Signer } from '#kernel/approval/answer';
import type { SettingChange } from '#kernel/approval/passkey';
import {
  type AutoApproveAction,
  isFarAhead,
  maxRuleLifeMs,
  type RemovalPayload,
  type ResumePayload,
  type RulePayload,
  type SettingPayload,
  type SignedSetting,
} from '#kernel/approval/security';
import type { Clock } from '#kernel/ports/clock';
import type { SecurityStore, StoredLevel, StoredRule } from '#kernel/ports/store';
import { asListed, type Message, say, told } from '#kernel/text/message';
import { type SecurityLevel, securityLevels } from '#kernel/tiers';
import { hasPasskey, type LoosenFlaw, loosenFlaw, loosenWords, pinOf, type SignatureFlaw, signatureFlaw, signPayload } from './signed.ts';
import { createPauseWatch, type PauseMemory, type PauseWatch } from './standing-pause.ts';

export interface SecuritySettingsDeps {
  readonly store: SecurityStore;
  readonly clock: Pick<Clock, 'now'>;
  /** The pinned keys as they are at this moment. Empty: nothing can be set, and no stored `allow` counts. */
  readonly trustedKeys: () => Promise<readonly ApproverKey[]>;
  /** The configuration's level. */
  readonly configured: SecurityLevel;
  /** Absent: what was seen of pauses is forgotten with the process. */
  readonly pauses?: PauseMemory | undefined;
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
  /** What is to be signed for a change, or why it could not count. */
  draft(change: SettingChange, approver: string): Promise<SettingDraft>;
  /** Verifies what was signed, and carries it out. */
  accept(signed: SignedSetting): Promise<SettingResult>;
}

export type SettingDraft =
  | { readonly ok: true; readonly payload: SettingPayload }
  | { readonly ok: false; readonly refusal: SettingResult };

export function createSecuritySettings(deps: SecuritySettingsDeps): StandingSettings {
  const { store, clock } = deps;
  const memory = createLevelMemory();
  const flawOf = createSettingVerifier();
  const pauses = createPauseWatch({
    ...{ store, clock, memory: deps.pauses },
    flawOf: async (lifted) => {
      const flaw = flawOf(lifted, await deps.trustedKeys());
      return flaw && flawInWords[flaw];
    },
  });
  const level = async (): Promise<EffectiveLevel> => {
    const [stored, paused] = await Promise.all([store.level(), pauses.standing()]);
    // Where nobody has set one there is nothing that a key could vouch for.
    const keys = stored === undefined ? [] : await deps.trustedKeys();
    const checked = memory.checked(stored, effectiveLevel(stored, deps.configured, keys), deps.configured);
    return paused === undefined ? checked : { ...checked, paused };
  };
  const rules = async () => {
    const [stored, keys] = await Promise.all([store.rules(), deps.trustedKeys()]);
    const context = { trustedKeys: keys, now: clock.now(), flawOf };
    return stored.map((rule) => ({ pattern: rule.pattern, ...ruleStanding(rule, context) }));
  };
  const draft = (change: SettingChange, approver: string) => draftSetting(change, approver, { ...deps, watch: pauses });
  const accept = (signed: SignedSetting) => acceptSetting(signed, { ...deps, level, rules });
  const sign = async (change: SettingChange, signer: Signer): Promise<SettingResult> => {
    const drafted = await draft(change, signer.approver);
    return drafted.ok ? accept(await signPayload(drafted.payload, signer)) : drafted.refusal;
  };
  return {
    ...{ level, rules, draft, accept },
    setLevel: (wanted, signer) => sign({ kind: 'level', level: wanted }, signer),
    setRule: (rule, signer) => sign({ kind: 'rule', ...rule }, signer),
    removeRule: (pattern, signer) => sign({ kind: 'remove_rule', pattern }, signer),
    pause: async (by, reason) => {
      const pause = { by, at: await pauses.nextMoment(), ...(reason === undefined ? {} : { reason }) };
      const isNew = await store.setPause(pause);
      await pauses.standing();
      const words = isNew ? say`agents are paused: they change nothing until a person resumes them` : say`agents are paused already`;
      return { ok: true, code: 'set', ...told(words) };
    },
    resume: (signer) => sign({ kind: 'resume' }, signer),
  };
}

interface DraftDeps extends SecuritySettingsDeps {
  readonly watch: PauseWatch;
}

async function draftSetting(change: SettingChange, approver: string, deps: DraftDeps): Promise<SettingDraft> {
  const now = deps.clock.now();
  const facts = { version: 1, approver, issuedAt: now, nonce: randomBytes(32).toString('base64url') } as const;
  switch (change.kind) {
    case 'level': {
      const issuedAt = laterThan(await deps.store.level(), now);
      return { ok: true, payload: { ...facts, setting: 'security_level', level: change.level, issuedAt } };
    }
    case 'rule': {
      const { pattern, action, lifeMs } = change;
      const checked = deps.checkPattern(pattern, action);
      if (!checked.ok) return refuse('invalid_pattern', say`${asListed(checked.why)}; nothing was set`);
      if (!Number.isSafeInteger(lifeMs) || lifeMs <= 0 || lifeMs > maxRuleLifeMs)
        return refuse('invalid_life', say`a rule lives more than nothing and at most 30 days; nothing was set`);
      return { ok: true, payload: { ...facts, setting: 'auto_approve', pattern: checked.text, action, expiresAt: now + lifeMs } };
    }
    case 'remove_rule':
      return { ok: true, payload: { ...facts, setting: 'auto_approve_removed', pattern: change.pattern } };
    case 'resume': {
      const paused = await deps.watch.standing();
      if (paused === undefined) return refuse('not_found', say`agents are not paused`);
      return { ok: true, payload: { ...facts, setting: 'agents_resumed', pausedAt: paused.at } };
    }
  }
}

/** What was signed lifts what it was signed for: where a later pause stands meanwhile, that one stands on. */
async function resumeAgents(signed: SignedSetting<ResumePayload>, { store, level }: AcceptDeps): Promise<SettingResult> {
  const { paused } = await level();
  const isLifted = paused?.at === signed.payload.pausedAt && (await store.liftPause(signed));
  // Seen by this process, too, and written down where it remembers.
  if (isLifted && (await level()).paused === undefined) return { ok: true, code: 'removed', ...told(say`agents are no longer paused`) };
  return { ok: false, code: 'not_found', ...told(say`nothing was changed: that pause is over, or another one stands; look again`) };
}

/** Later than the one before it even where that machine's clock was ahead by minutes; a forged far future is not followed. */
function laterThan(before: StoredLevel | undefined, now: number): number {
  const newest = before !== undefined && 'signed' in before ? before.signed.payload.issuedAt : 0;
  return newest >= now && !isFarAhead(newest, now) ? newest + 1 : now;
}

type AcceptDeps = SecuritySettingsDeps & Pick<StandingSettings, 'level' | 'rules'>;

async function acceptSetting(signed: SignedSetting, deps: AcceptDeps): Promise<SettingResult> {
  const pins = await deps.trustedKeys();
  const pin = pinOf(signed.proof, pins);
  if (pin === undefined || signatureFlaw(signed, [pin]) !== undefined) return keyNotTrusted;
  const { payload } = signed;
  const flaw = (await loosens(payload, deps)) ? loosenFlaw(pin, pins) : undefined;
  if (flaw !== undefined) return { ok: false, code: 'needs_passkey', ...told(say`nothing was changed: ${asListed(loosenWords[flaw])}`) };
  if (payload.setting === 'auto_approve_removed') return removeRule(payload, deps);
  if (isOf(signed, 'agents_resumed')) return resumeAgents(signed, deps);
  if (isOf(signed, 'security_level')) {
    await deps.store.setLevel(signed);
    return { ok: true, code: 'set', ...told(say`the security level is ${signed.payload.level} for everyone on this store`) };
  }
  if (!isOf(signed, 'auto_approve')) return keyNotTrusted;
  const { pattern, action, expiresAt } = signed.payload;
  await deps.store.setRule(signed);
  return { ok: true, code: 'set', ...told(say`\`${pattern}\`: ${action} until ${new Date(expiresAt).toISOString()}`) };
}

function isOf<Kind extends SettingPayload['setting']>(
  signed: SignedSetting,
  kind: Kind,
): signed is SignedSetting<Extract<SettingPayload, { readonly setting: Kind }>> {
  return signed.payload.setting === kind;
}

async function loosens(payload: SettingPayload, { level, rules }: AcceptDeps): Promise<boolean> {
  if (payload.setting === 'security_level') return isStricter((await level()).level, payload.level);
  if (payload.setting === 'agents_resumed') return true;
  if (payload.setting === 'auto_approve') return payload.action === 'allow';
  return (await rules()).some(({ pattern, counts }) => pattern === payload.pattern && counts !== undefined && counts !== 'allow');
}

async function removeRule(
  { pattern, approver }: Pick<RemovalPayload, 'pattern' | 'approver'>,
  { store, checkPattern }: SecuritySettingsDeps,
): Promise<SettingResult> {
  // A row that somebody wrote by hand may have any pattern, and must be removable, too.
  const checked = checkPattern(pattern, 'block');
  const candidates = [...new Set([...(checked.ok ? [checked.text] : []), pattern])];
  for (const candidate of candidates) {
    if (await store.removeRule(candidate, approver)) return { ok: true, code: 'removed', ...told(say`\`${candidate}\` is removed`) };
  }
  return { ok: false, code: 'not_found', ...told(say`there is no such rule; look at the list again`) };
}

function refuse(code: SettingResult['code'], words: Message): SettingDraft {
  return { ok: false, refusal: { ok: false, code, ...told(words) } };
}

const keyNotTrusted: SettingResult = {
  ok: false,
  code: 'key_not_trusted',
  ...told(say`nothing was changed: the signing key is not among the trusted ones; trust this key first, or do it where a trusted one is`),
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

// Whether a stored auto-approve rule counts, and what people are told where it does not.

/** Two machines' clocks may differ by this much, in ms. */
const clockSkewMs = 60_000;

type RuleStanding = Omit<StandingRule, 'pattern'>;

interface StandingContext {
  readonly trustedKeys: readonly ApproverKey[];
  /** ms since the epoch */
  readonly now: number;
  readonly flawOf: typeof settingFlaw;
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
  const flaw = settingFlaw(stored.signed, trustedKeys);
  return flaw === undefined
    ? { level: payload.level, from: 'store', by: payload.approver }
    : distrustedLevel(payload.level, configured, flawInWords[flaw]);
}

/** SECURITY: looked at anew each time, so that what a window's key signed loosens nothing from the first passkey on. */
function settingFlaw(signed: SignedSetting, pins: readonly ApproverKey[]): SignatureFlaw | LoosenFlaw | undefined {
  const pin = pinOf(signed.proof, pins);
  return signatureFlaw(signed, pins) ?? (pin && loosenFlaw(pin, pins));
}

const flawInWords: Readonly<Record<SignatureFlaw | LoosenFlaw, string>> = {
  ...loosenWords,
  untrusted_key: 'it was signed with a key that is not trusted here',
  bad_signature: 'its signature does not fit',
};

function isStricter(a: SecurityLevel, b: SecurityLevel): boolean {
  return securityLevels.indexOf(a) > securityLevels.indexOf(b);
}

/** What is stored is no level: nobody can say what was meant. */
function damagedLevel(level: SecurityLevel, configured: SecurityLevel): EffectiveLevel {
  const from = level === configured ? 'configuration' : 'store';
  return { level, from, warning: `what the store has as the level is damaged, or was not written by Banksman; it counts as \`${level}\`` };
}

function distrustedLevel(level: SecurityLevel, configured: SecurityLevel, why: string): EffectiveLevel {
  const counts = isStricter(level, configured);
  const what = `the store says \`${level}\`, but ${why}`;
  return counts
    ? { level, from: 'store', warning: `${what}; it counts because it is stricter than the configuration’s \`${configured}\`` }
    : { level: configured, from: 'configuration', warning: `${what}; the configuration’s \`${configured}\` counts` };
}

const mostRemembered = 4_096;

/**
 * `settingFlaw` that remembers: rules are looked at for every call, and a thousand signatures take a tenth of a second. What is
 * remembered hangs on the very key, payload and signature, so a key that is pinned no more is not found here either.
 */
function createSettingVerifier(): typeof settingFlaw {
  const known = new Map<string, ReturnType<typeof settingFlaw>>();
  return (setting, pins) => {
    const pinned = pinOf(setting.proof, pins);
    if (pinned === undefined) return 'untrusted_key';
    const name = JSON.stringify([pinned, hasPasskey(pins), setting]);
    if (known.has(name)) return known.get(name);
    if (known.size >= mostRemembered) known.clear();
    const flaw = settingFlaw(setting, pins);
    known.set(name, flaw);
    return flaw;
  };
}
