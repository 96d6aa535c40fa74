/** Rules that count, from their text. */
import type { AutoApproveAction } from '#kernel/approval/security';
import { type LiveRule, parseRulePattern, type RulePattern } from '#policy/auto-approve';

export const yellowTools = ['write_file', 'run_command', 'execute_ssh', 'restart_service', 'wake_node'];

/** @throws what is wrong with the text */
export function patternOf(text: string): RulePattern {
  const parsed = parseRulePattern(text, yellowTools);
  if (!parsed.ok) throw new Error(`${text}: ${parsed.why}`);
  return parsed.pattern;
}

export function liveRule(text: string, action: AutoApproveAction = 'allow'): LiveRule {
  return { pattern: patternOf(text), action };
}
