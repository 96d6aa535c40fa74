/** A decision of the policy as rows that a person reads. */
import type { Decision, Effect } from '#kernel/decision';
import { plainLabel } from './picks.ts';

export interface DecisionItem {
  readonly label: string;
  readonly description?: string;
  readonly detail?: string;
}

const marks: Record<Effect, string> = { allow: '$(pass) allow', ask: '$(question) ask', deny: '$(circle-slash) deny' };

/** The decision with its reason, then each rule behind it, the deciding one first. */
export function decisionItems({ effect, code, reason, rules }: Decision): DecisionItem[] {
  const ofRules = rules.map((rule, order) => ({
    label: `$(law) ${plainLabel(rule)}`,
    description: order === 0 ? 'the rule that decided' : 'also applied',
  }));
  const byDefault = [{ label: '$(law) no rule', description: 'nothing matched, so the default applied' }];
  return [{ label: marks[effect], description: code, detail: plainLabel(reason, 400) }, ...(rules.length === 0 ? byDefault : ofRules)];
}
