/**
 * What still counts of a command's text where its effects are judged: a person's own rules, and that it wants the network, which is granted
 * before or not at all.
 */
import { allow, ask, type Decision, deny, strictest } from '#kernel/decision';
import type { CommandDecision } from '../commands/command-decision.ts';
import type { UserRule } from '../commands/user-rule.ts';

const network = 'workspace.network-blocked';
/** The text was not read to its end, so nobody knows whether a person's rule is meant. */
const unread: readonly string[] = ['workspace.gate', 'workspace.syntax', 'syntax', 'default-deny'];

/** @param decided by the text alone */
export function decideByEffects(text: string, decided: CommandDecision, userRules: readonly UserRule[]): CommandDecision {
  const { decision } = decided;
  const strict = userRules.filter(({ effect }) => effect !== 'allow');
  const own = strict.filter(({ id }) => decision.rules.includes(`user.${id}`)).map(decisionOf);
  if (own.length > 0) return { decision: strictest(own), canonical: text };
  if (strict.length > 0 && decision.effect === 'deny' && decision.rules.some((rule) => unread.includes(rule))) return decided;
  if (decision.effect === 'ask' && decision.rules.includes(network))
    return { decision: ask('network_blocked', decision.reason, [network]), canonical: text };
  return {
    decision: allow('allowed', 'it runs over a view of the workspace, and what it changes is judged', ['effects.judged']),
    canonical: text,
  };
}

function decisionOf({ id, effect, justification }: UserRule): Decision {
  const rules = [`user.${id}`];
  const why = `the rule \`${id}\` of the settings: ${justification}`;
  return effect === 'deny' ? deny('COMMAND_BLOCKED', why, rules) : ask('confirmation_required', why, rules);
}
