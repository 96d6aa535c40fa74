/**
 * A paused plan goes on when a person signs it, with a key that may make things looser. SECURITY: that it was signed stands in the trail and is
 * verified by the process that runs the plan, each time: whoever writes to the store lifts no pause.
 */
import { randomBytes } from 'node:crypto';
import * as z from 'zod';
import { loosenFlaw, loosenWords, pinOf, signatureFlaw, signPayload } from '#approval/signed';
import type { SettingResult } from '#kernel/app';
import type { ApproverKey, Signer } from '#kernel/approval/answer';
import { type Signed, signedSchema } from '#kernel/approval/proof';
import type { AuditRecord } from '#kernel/audit-event';
import type { JsonObject } from '#kernel/json';
import { isResume, pausesIn } from '#kernel/plans/plan-progress';
import type { AuditLog } from '#kernel/ports/audit-log';
import type { Clock } from '#kernel/ports/clock';
import type { RequestStore } from '#kernel/ports/request-store';
import { asListed, type Message, say, told } from '#kernel/text/message';

/** Of just these pauses: what was signed for an earlier one lifts no later one. */
const payloadSchema = z.strictObject({
  version: z.literal(1),
  setting: z.literal('plan_resumed'),
  plan: z.string(),
  /** How many there were. */
  pauses: z.int().positive(),
  approver: z.string(),
  issuedAt: z.number(),
  nonce: z.string(),
});
type PlanResume = z.output<typeof payloadSchema>;
const resumeSchema = signedSchema(payloadSchema);

export interface ResumeDeps {
  readonly requests: Pick<RequestStore, 'get'>;
  readonly audit: AuditLog;
  readonly clock: Pick<Clock, 'now'>;
  /** The pinned keys as they are at this moment. */
  readonly trustedKeys: () => Promise<readonly ApproverKey[]>;
}

export interface PlanResumes {
  /** What is to be signed, or why it could not count. */
  draft(plan: string, approver: string): Promise<ResumeDraft>;
  /** Verifies what was signed, and lets the plan go on. */
  accept(signed: Signed<object>): Promise<SettingResult>;
  resume(plan: string, signer: Signer): Promise<SettingResult>;
}

type ResumeDraft = { readonly ok: true; readonly payload: PlanResume } | { readonly ok: false; readonly refusal: SettingResult };

export function createPlanResumes(deps: ResumeDeps): PlanResumes {
  const draft = async (plan: string, approver: string): Promise<ResumeDraft> => {
    const pauses = pausesIn(await recordsOf(plan, deps));
    if (!pauses.stands) return { ok: false, refusal: notPaused(plan) };
    const facts = { version: 1, approver, issuedAt: deps.clock.now(), nonce: randomBytes(32).toString('base64url') } as const;
    return { ok: true, payload: { ...facts, setting: 'plan_resumed', plan, pauses: pauses.count } };
  };
  const accept = (signed: Signed<object>) => acceptResume(signed, deps);
  return {
    ...{ draft, accept },
    resume: async (plan, signer) => {
      const drafted = await draft(plan, signer.approver);
      return drafted.ok ? accept(await signPayload(drafted.payload, signer)) : drafted.refusal;
    },
  };
}

/** Without resumes that no key which counts now has signed for this plan: what is left says how the plan stands. */
export function countingRecords(plan: string, records: readonly AuditRecord[], pins: readonly ApproverKey[]): readonly AuditRecord[] {
  return records.filter((record) => {
    if (!isResume(record)) return true;
    const signed = resumeSchema.safeParse(record.attributes['signed']).data;
    return signed !== undefined && signed.payload.plan === plan && flawOf(signed, pins) === undefined;
  });
}

async function recordsOf(plan: string, { requests, audit, trustedKeys }: ResumeDeps): Promise<readonly AuditRecord[]> {
  const record = await requests.get(plan);
  if (record === undefined) return [];
  return countingRecords(plan, await audit.ofRequest(plan, record.createdAt), await trustedKeys());
}

async function acceptResume({ payload, proof }: Signed<object>, deps: ResumeDeps): Promise<SettingResult> {
  const parsed = resumeSchema.safeParse({ payload, proof }).data;
  if (parsed === undefined) return refused('key_not_trusted', say`what was signed is no resume of a plan`);
  const { plan, pauses, approver } = parsed.payload;
  const flaw = flawOf(parsed, await deps.trustedKeys());
  if (flaw === 'untrusted_key' || flaw === 'bad_signature')
    return refused(
      'key_not_trusted',
      say`the signing key is not among the trusted ones; trust this key first, or do it where a trusted one is`,
    );
  if (flaw !== undefined) return refused('needs_passkey', asListed(loosenWords[flaw]));
  const now = pausesIn(await recordsOf(plan, deps));
  if (!now.stands || now.count !== pauses) return notPaused(plan);
  const attributes = { request_id: plan, control: 'resume', by: approver, signed: parsed as unknown as JsonObject };
  await deps.audit.append({ name: 'plan.control', attributes });
  return { ok: true, code: 'removed', ...told(say`plan ${plan} goes on`) };
}

/** Looked at anew each time, so that what a key signed counts no longer than the key does. */
function flawOf(signed: Signed<PlanResume>, pins: readonly ApproverKey[]) {
  const pin = pinOf(signed.proof, pins);
  return signatureFlaw(signed, pins) ?? (pin && loosenFlaw(pin, pins));
}

function notPaused(plan: string): SettingResult {
  return refused('not_found', say`plan ${plan} is not paused, or was paused again; look again`);
}

function refused(code: SettingResult['code'], why: Message): SettingResult {
  return { ok: false, code, ...told(say`nothing was changed: ${why}`) };
}
