/** What a store hands back is input like any other: whoever can write the store's file can write anything into it. */
import * as z from 'zod';
import { agentHosts } from '../agent.ts';
import { isJsonObject, type JsonObject } from '../json.ts';
import { isMessage, type Message } from '../text/message.ts';
import { actionTiers, impacts, modelTiers } from '../tiers.ts';
import { proofSchema } from './proof.ts';
import { type Grant, mostGrants, type RequestDecision, type RequestDraft, requestIdPattern } from './request.ts';
import { approvalSources, blockReasons, displays } from './security.ts';

const time = z.number().int().nonnegative();
/** Sound only for what `JSON.parse` gave; the parsers below see to that. */
const jsonObject = z.custom<JsonObject>(isJsonObject);

const agentSchema = z.strictObject({
  id: z.string().min(1),
  host: z.enum(agentHosts),
  model: z.string().exactOptional(),
  label: z.string().exactOptional(),
  modelTier: z.enum(modelTiers).exactOptional(),
});

const message = z.custom<Message>((value) => isMessage(value));

/** Loose: whatever else stands in an action counts for its digest, so it must not be dropped here. */
const actionSchema = z.looseObject({
  tool: z.string().min(1),
  arguments: jsonObject,
  targets: z.array(jsonObject),
  agentId: z.string().min(1),
  cluster: z.string().nullable(),
  workspace: z.string().exactOptional(),
  policyVersion: z.string(),
});

const draftSchema = z.strictObject({
  digest: z.string().regex(/^[a-f0-9]{64}$/),
  action: actionSchema,
  tier: z.enum(actionTiers),
  impact: z.enum(impacts),
  title: z.string(),
  risk: z.array(z.string()),
  code: z.string(),
  reason: z.string(),
  // What is none says nothing: the request is read in English.
  words: z
    .strictObject({ title: message.exactOptional(), risk: z.array(message).exactOptional(), reason: message.exactOptional() })
    .catch({})
    .exactOptional(),
  claim: z.string().exactOptional(),
  agent: agentSchema,
  reported: z.strictObject({ reason: z.enum(blockReasons), destination: z.string(), pattern: z.string().exactOptional() }).exactOptional(),
  reportId: z.string().regex(requestIdPattern).exactOptional(),
});

const decisionSchema = z.strictObject({
  by: z.string().min(1),
  via: z.enum(approvalSources),
  at: time,
  display: z.enum(displays).exactOptional(),
  message: z.string().exactOptional(),
});

const grantsSchema = z
  .array(
    z.strictObject({
      payload: z.strictObject({
        version: z.literal(2),
        purpose: z.literal('answer_request'),
        requestId: z.string(),
        decision: z.enum(['approve', 'deny']),
        digest: z.string(),
        approver: z.string(),
        person: z.string(),
        display: z.enum(displays),
        store: z.string(),
        issuedAt: time,
        expiresAt: time,
        nonce: z.string(),
      }),
      proof: proofSchema,
    }),
  )
  .max(mostGrants);

/** A stored draft; undefined where the text is not one. */
export function parseRequestDraft(text: string): RequestDraft | undefined {
  return parseWith(draftSchema, text);
}

/** A stored decision; undefined where the text is not one. */
export function parseRequestDecision(text: string): RequestDecision | undefined {
  return parseWith(decisionSchema, text);
}

/** Stored grants; none where the text is of an older version, or no list of grants. That they parse says nothing about their signatures. */
export function parseGrants(text: string): readonly Grant[] {
  return parseWith(grantsSchema, text) ?? [];
}

/** The same for a part of something larger that `JSON.parse` gave, so that it need not be written out and read again. */
export const requestParts = {
  draft: (value: unknown): RequestDraft | undefined => draftSchema.safeParse(value).data,
  decision: (value: unknown): RequestDecision | undefined => decisionSchema.safeParse(value).data,
  grants: (value: unknown): readonly Grant[] => grantsSchema.safeParse(value).data ?? [],
} as const;

function parseWith<Output>(schema: z.ZodType<Output>, text: string): Output | undefined {
  try {
    return schema.safeParse(JSON.parse(text)).data;
  } catch {
    // Not JSON at all.
    return undefined;
  }
}
