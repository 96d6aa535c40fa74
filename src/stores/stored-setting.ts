/** Security settings as text in a store. Whatever comes back is input: whoever can write to the store can write anything. */

import * as z from 'zod';
import { keyOfProof, signedSchema } from '#kernel/approval/proof';
import {
  autoApproveActions,
  isFarAhead,
  type LevelPayload,
  type Pause,
  type ResumePayload,
  type RulePayload,
  type SignedSetting,
} from '#kernel/approval/security';
import { Fault } from '#kernel/errors';
import type { JsonObject } from '#kernel/json';
import type { StoredLevel, StoredPause, StoredRule } from '#kernel/ports/store';
import { say } from '#kernel/text/message';
import { securityLevels } from '#kernel/tiers';

/** Live rules at a time. */
export const maxRules = 1000;

const time = z.number().int().nonnegative();
const facts = { version: z.literal(1), approver: z.string().min(1), issuedAt: time, nonce: z.string().max(100).exactOptional() };
const levelSchema = signedSchema<LevelPayload>(
  z.strictObject({ ...facts, setting: z.literal('security_level'), level: z.enum(securityLevels) }),
);
const ruleSchema = signedSchema<RulePayload>(
  z.strictObject({
    ...facts,
    setting: z.literal('auto_approve'),
    pattern: z.string(),
    action: z.enum(autoApproveActions),
    expiresAt: time,
  }),
);
const pauseSchema: z.ZodType<Pause> = z.strictObject({
  by: z.string().min(1).max(300),
  at: time,
  reason: z.string().max(500).exactOptional(),
  warning: z.string().max(500).exactOptional(),
});
const resumeSchema = signedSchema<ResumePayload>(z.strictObject({ ...facts, setting: z.literal('agents_resumed'), pausedAt: time }));
const bareLevel = z.enum(securityLevels);
const bareAction = z.enum(autoApproveActions);

/** A signed level, or a bare word. What is neither counts as the strictest: a damaged setting must not loosen anything. */
export function levelFrom(text: string): StoredLevel {
  const value = jsonOrText(text);
  const signed = levelSchema.safeParse(value).data;
  if (signed !== undefined) return { signed };
  const unsigned = bareLevel.safeParse(value).data;
  return unsigned === undefined ? { unsigned: 'strict', damaged: true } : { unsigned };
}

/** A signed rule for this very pattern, or a bare word; what is neither counts as `block`. undefined once its time is over. */
export function ruleFrom(pattern: string, text: string, now: number): StoredRule | undefined {
  const value = jsonOrText(text);
  const signed = ruleSchema.safeParse(value).data;
  if (signed?.payload.pattern !== pattern) {
    const unsigned = bareAction.safeParse(value).data;
    return unsigned === undefined ? { pattern, unsigned: 'block', damaged: true } : { pattern, unsigned };
  }
  return signed.payload.expiresAt > now ? { pattern, signed } : undefined;
}

/** What is stored. @throws {Fault} `bad_setting`: what could not be read back must not be written */
export function settingText(setting: SignedSetting<LevelPayload> | SignedSetting<RulePayload>): string {
  const text = JSON.stringify(setting);
  const value = jsonOrText(text);
  const isRule = ruleSchema.safeParse(value).success && isStorablePattern((setting.payload as RulePayload).pattern);
  if (isRule || levelSchema.safeParse(value).success) return text;
  throw badSetting();
}

function badSetting(): Fault {
  return new Fault('bad_setting', 'this security setting cannot be stored: a field is missing, unknown or of the wrong kind', {
    audience: 'bug',
  });
}

/** SECURITY: asked before a pattern becomes a part of a key. What it means is the policy's business. */
export function isStorablePattern(pattern: string): boolean {
  return /^[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}]{1,300}$/u.test(pattern) && pattern.isWellFormed();
}

export function tooManyRules(): Fault {
  return new Fault('too_many_rules', say`there are ${maxRules} auto-approve rules already`, {
    audience: 'user',
    next: 'remove some that are no longer needed, or use a wider pattern',
  });
}

/** What the trail says about a change: who, what, with which key. */
export function settingAttributes({ payload, proof }: SignedSetting<LevelPayload> | SignedSetting<RulePayload>): JsonObject {
  const { version: _, approver, nonce: _once, ...what } = payload;
  return wellFormed({ ...what, by: approver, key_id: keyOfProof(proof) });
}

export function removalAttributes(pattern: string, by: string): JsonObject {
  return wellFormed({ setting: 'auto_approve', pattern, removed: true, by });
}

/** SECURITY: whatever stands there and is neither a pause nor signed is a pause, or damaging it would lift it. */
export function pauseFrom(text: string): StoredPause {
  const value = jsonOrText(text);
  const lifted = resumeSchema.safeParse(value).data;
  return lifted === undefined ? { pause: pauseSchema.safeParse(value).data ?? { by: 'unknown', at: 0 } } : { lifted };
}

export function pauseText(pause: Pause): string {
  return JSON.stringify(pauseSchema.parse(pause));
}

/** @throws {Fault} `bad_setting` */
export function liftText(lifted: SignedSetting<ResumePayload>): string {
  const text = JSON.stringify(lifted);
  if (resumeSchema.safeParse(jsonOrText(text)).success) return text;
  throw badSetting();
}

/** What a later look would find lifted: a pause from after that moment stands, unless it is from a future that no clock has. */
export function mayLift(stored: StoredPause | undefined, { payload }: SignedSetting<ResumePayload>): boolean {
  if (stored === undefined || 'lifted' in stored) return true;
  return stored.pause.at <= payload.pausedAt || isFarAhead(stored.pause.at, payload.issuedAt);
}

/** `put_back`: why one that was there stands again. */
export function pauseAttributes({ by, at, reason, warning }: Pause): JsonObject {
  const told = { ...(reason === undefined ? {} : { reason }), ...(warning === undefined ? {} : { put_back: warning }) };
  return wellFormed({ setting: 'agents_paused', by, at, ...told });
}

/** What was signed stands in the trail, too: whoever reads it can tell a lift that a person meant. */
export function liftAttributes(lifted: SignedSetting<ResumePayload>): JsonObject {
  const { approver, pausedAt } = lifted.payload;
  return wellFormed({
    ...{ setting: 'agents_paused', removed: true, by: approver, at: pausedAt },
    ...{ key_id: keyOfProof(lifted.proof), signed: lifted as unknown as JsonObject },
  });
}

/** The canonical form has no place for lone surrogates. */
function wellFormed(attributes: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(attributes).map(([key, value]) => [key, typeof value === 'string' ? value.toWellFormed() : value]),
  );
}

/** Not JSON: the text itself, as somebody may have written it by hand. */
function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text.trim();
  }
}
