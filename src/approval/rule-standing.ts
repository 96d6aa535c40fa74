/** Whether a stored auto-approve rule counts, and what people are told where it does not. */
import type { ApproverKey } from '#kernel/answer';
import type { StoredRule } from '#kernel/ports/security-store';
import { type AutoApproveAction, maxRuleLifeMs, type RulePayload, type SignedSetting } from '#kernel/security';
import { flawInWords } from './effective-level.ts';
import { settingFlaw } from './setting.ts';

/** Two machines' clocks may differ by this much, in ms. */
const clockSkewMs = 60_000;

export interface RuleStanding {
  /** undefined: it changes nothing. */
  readonly counts?: AutoApproveAction;
  readonly action: AutoApproveAction;
  readonly by: string;
  /** ms since the epoch; 0 where nobody signed one. */
  readonly expiresAt: number;
  readonly warning?: string;
}

export interface StandingContext {
  readonly trustedKeys: readonly ApproverKey[];
  /** ms since the epoch */
  readonly now: number;
  readonly verify?: typeof settingFlaw;
}

/** What nobody signed may only make things stricter, so `prompt` and `block` count whoever wrote them; `allow` needs a pinned key. */
export function ruleStanding(stored: StoredRule, { trustedKeys, now, verify = settingFlaw }: StandingContext): RuleStanding {
  const { signed, unsigned } = stored;
  if (signed === undefined) return distrusted({ action: unsigned ?? 'prompt', by: 'unknown', expiresAt: 0 }, 'nobody signed it');
  const { action, approver, expiresAt } = signed.payload;
  const standing = { action, by: approver, expiresAt };
  if (expiresAt <= now) return { ...standing, warning: 'its time is over' };
  const flaw = verify(signed, trustedKeys);
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
