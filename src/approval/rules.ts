/** Who may approve what, and how many have to. People are counted, not keys. */

import { osUserOf } from '#kernel/agent';
import type { ApprovalProgress, ApproverKey } from '#kernel/approval/answer';
import { type Grant, grantsEnd, isSelfApproval, type RequestRecord } from '#kernel/approval/request';
import { type Message, say } from '#kernel/text/message';
import { type Impact, impacts, impactWords, stricterTier } from '#kernel/tiers';
import { type DescribeAction, type Stakes, worse } from './card.ts';
import { displayOf, type GrantFlaw, personOf, verifyGrant } from './grant.ts';
import { hasPasskey, isWindowKey } from './signed.ts';

/** From the configuration: `approvals`. */
export interface ApprovalRules {
  /** How many people have to agree, by impact. Absent: one. */
  readonly needed: Readonly<Partial<Record<Impact, number>>>;
  /** Whose approvals count. Absent: every approver's; empty: nobody's. */
  readonly who: Readonly<Partial<Record<Impact, readonly string[]>>>;
  /** Approvals count only from outside the agents' account; irreversible ones always where a passkey is pinned. */
  readonly outside: readonly Impact[];
  /** False: nobody approves what an agent of their own OS user asked. */
  readonly ownUser: boolean;
}

/** Both at once: nobody loosens anything by naming another configuration. */
export function stricterRules(a: ApprovalRules, b: ApprovalRules): ApprovalRules {
  const each = <Value>(merge: (impact: Impact) => Value | undefined) =>
    Object.fromEntries(impacts.map((impact) => [impact, merge(impact)] as const).filter(([, value]) => value !== undefined));
  return {
    needed: each((impact) => Math.max(a.needed[impact] ?? 1, b.needed[impact] ?? 1)),
    who: each((impact) => {
      const [mine, theirs] = [a.who[impact], b.who[impact]];
      return mine !== undefined && theirs !== undefined ? mine.filter((name) => theirs.includes(name)) : (mine ?? theirs);
    }),
    outside: impacts.filter((impact) => a.outside.includes(impact) || b.outside.includes(impact)),
    ownUser: a.ownUser && b.ownUser,
  };
}

/** Where nothing is configured: one person, any approver. */
export const noRules: ApprovalRules = { needed: {}, who: {}, outside: [], ownUser: true };

export interface RuleContext {
  readonly rules: ApprovalRules;
  readonly pins: readonly ApproverKey[];
  readonly describe?: DescribeAction | undefined;
}

/** SECURITY: tier and impact in the record are outside the digest, so what the catalog says of the action counts where it is worse. */
function stakesOf({ action, tier, impact, reported }: RequestRecord, describe: DescribeAction | undefined): Stakes {
  // Nothing runs on a report.
  if (reported !== undefined) return { tier: 'green', impact: 'none' };
  const described = describe?.(action);
  if (described === undefined) return { tier, impact };
  return { tier: stricterTier(tier, described.tier), impact: worse(impact, described.impact) };
}

export type RuleFlaw = 'self_approval' | 'needs_outside' | 'not_allowed';

interface Asked {
  readonly record: RequestRecord;
  readonly pin: ApproverKey;
  readonly person: string;
  readonly stakes: Stakes;
}

/** Each rule: whether it refuses, and how it says so. The first that does is told. */
const ruleTable: readonly {
  readonly why: RuleFlaw;
  refuses(asked: Asked, context: RuleContext): boolean;
  message(asked: Asked): Message;
}[] = [
  {
    why: 'not_allowed',
    refuses: ({ stakes, person }, { rules }) => rules.who[stakes.impact]?.every((name) => personOf({ name }) !== person) ?? false,
    message: ({ stakes, person }) => say`\`${person}\` may not approve what ${impactWords[stakes.impact]} here (\`approvals.who\`)`,
  },
  {
    why: 'not_allowed',
    refuses: ({ record, pin }, { rules }) => !rules.ownUser && isOwnUsers(record, pin),
    message: () => say`it was asked in this person’s own account, and somebody else has to approve (\`approvals.ownUser\`)`,
  },
  {
    why: 'needs_outside',
    refuses: ({ stakes, pin }, context) => needsOutside(stakes.impact, context) && displayOf(pin) !== 'outside',
    message: () => outsideWords,
  },
  {
    why: 'not_allowed',
    refuses: ({ stakes, pin }, { pins }) => isWindowKey(pin) && isGrave(stakes) && hasPasskey(pins),
    message: () => say`a passkey is pinned, so the key of a window approves nothing red any more`,
  },
];

/** Why this approver's approval of this request would not count; undefined: it would. */
export function ruleFlaw(
  record: RequestRecord,
  { pin, approver }: { readonly pin: ApproverKey; readonly approver: string },
  context: RuleContext,
): { readonly why: RuleFlaw; readonly message: Message } | undefined {
  const person = personOf(pin);
  if ([approver, `user:${person}`].some((name) => isSelfApproval(record.agent, name)))
    return { why: 'self_approval', message: say`\`${person}\` asked for it` };
  const asked = { record, pin, person, stakes: stakesOf(record, context.describe) };
  const rule = ruleTable.find(({ refuses }) => refuses(asked, context));
  return rule && { why: rule.why, message: rule.message(asked) };
}

export const outsideWords = say`it needs an approval from a display outside the agents’ account (a passkey on a phone, or of another user), because a browser inside it can be made to show another card`;

/** Where the asking user is not known, whatever is used inside the account counts as that user's. */
function isOwnUsers({ agent }: RequestRecord, pin: ApproverKey): boolean {
  const user = osUserOf(agent.id) ?? /^(?:cli|user):(.+)$/.exec(agent.id)?.[1];
  return user === undefined ? displayOf(pin) !== 'outside' : personOf({ name: user }) === personOf(pin);
}

function needsOutside(impact: Impact, { rules, pins }: Pick<RuleContext, 'rules' | 'pins'>): boolean {
  return rules.outside.includes(impact) || (impact === 'irreversible' && hasPasskey(pins));
}

function isGrave({ tier, impact }: Stakes): boolean {
  return tier === 'red' || tier === 'black' || impact === 'disruptive' || impact === 'irreversible';
}

/** What a request's approvals amount to. */
export interface Standing extends ApprovalProgress {
  /** Whose approval each is; one for each person. */
  readonly counted: readonly Grant[];
  readonly isEnough: boolean;
  /** ms since the epoch: until then all that count can be used. */
  readonly end: number;
  /** Why the first that does not count does not. */
  readonly flaw?: GrantFlaw | RuleFlaw;
}

/** @param store that the request is in now */
export function standingOf(
  record: RequestRecord,
  { store, now, ...context }: RuleContext & { readonly store: string; readonly now: number },
): Standing {
  const { impact } = stakesOf(record, context.describe);
  const needed = record.reported === undefined ? (context.rules.needed[impact] ?? 1) : 1;
  const counted = new Map<string, Grant>();
  let flaw: Standing['flaw'];
  for (const grant of record.grants ?? []) {
    const looked = lookAt(grant, record, { store, now, ...context });
    if ('why' in looked) flaw ??= looked.why;
    // One key pinned under two names is one person's, whichever of them it is.
    else if (!counted.has(looked.person) && ![...counted.values()].some((other) => isSameProver(other, grant)))
      counted.set(looked.person, grant);
  }
  const grants = [...counted.values()];
  return {
    needed,
    people: [...counted.keys()],
    outside: needsOutside(impact, context),
    counted: grants,
    isEnough: grants.length >= needed,
    end: grantsEnd(grants),
    ...(flaw === undefined ? {} : { flaw }),
  };
}

function lookAt(
  grant: Grant,
  record: RequestRecord,
  { store, now, ...context }: RuleContext & { readonly store: string; readonly now: number },
): { readonly person: string } | { readonly why: GrantFlaw | RuleFlaw } {
  const expected = { decision: 'approve', digest: record.digest, requestId: record.id, store, now, pins: context.pins } as const;
  const verdict = verifyGrant(grant, expected);
  if (!verdict.ok) return verdict;
  return ruleFlaw(record, { pin: verdict.pin, approver: grant.payload.approver }, context) ?? { person: personOf(verdict.pin) };
}

function isSameProver({ proof: a }: Grant, { proof: b }: Grant): boolean {
  if (a.kind === 'ed25519') return b.kind === 'ed25519' && a.keyId === b.keyId;
  return b.kind === 'passkey' && a.credentialId === b.credentialId;
}
