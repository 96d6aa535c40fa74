/** Action tier × security level (docs/design.md#who-may-do-what). Pure. */

import { allow, ask, type Decision, deny } from '#kernel/decision';
import { asListed, say } from '#kernel/text/message';
import { type ActionTier, type SecurityLevel, stricterTier } from '#kernel/tiers';

/** What configuration says about one tool: it may only make it stricter. */
export function effectiveTier(toolName: string, declared: ActionTier, configured: Readonly<Record<string, ActionTier>>): ActionTier {
  const stricter = Object.hasOwn(configured, toolName) ? configured[toolName] : undefined;
  return stricter === undefined ? declared : stricterTier(declared, stricter);
}

/** The order, after protection: black, then red without a grant, then yellow, then green; anything else is refused. */
export function decideTier(toolName: string, tier: ActionTier, level: SecurityLevel): Decision {
  switch (tier) {
    case 'black':
      return deny('black_tier', say`\`${toolName}\` is never run by an agent; a person must do it by hand`, ['tier:black']);
    case 'red':
      return ask('confirmation_required', say`\`${toolName}\` needs a person's approval for exactly this call`, [
        'tier:red',
        `level:${level}`,
      ]);
    case 'yellow':
      return level === 'strict'
        ? ask('confirmation_required', say`\`${toolName}\` needs a person's approval at security level strict`, [
            'tier:yellow',
            'level:strict',
          ])
        : allow('yellow_logged', say`\`${toolName}\` runs and is written down first`, ['tier:yellow', `level:${level}`]);
    case 'green':
      return allow('green', say`\`${toolName}\` only looks`, ['tier:green']);
    default:
      return deny('unknown_tier', say`\`${toolName}\` has no known action tier, so it is refused`, ['default']);
  }
}

const network = 'workspace.network';

/**
 * The network row of that table, for a run whose only open question is the network: `relaxed` lets it (written down like every run),
 * `balanced` asks, `strict` refuses. Where anything else is open, too, the question stays.
 */
export function networkAtLevel(decision: Decision, level: SecurityLevel): Decision {
  if (decision.effect !== 'ask' || !decision.rules.includes(network)) return decision;
  const rules = [...decision.rules, `level:${level}`];
  if (level === 'strict')
    return deny('network_blocked', say`${decision.words ?? asListed(decision.reason)}; at security level strict that is refused`, rules);
  const isAll = decision.rules.every((rule) => rule === network);
  return level === 'relaxed' && isAll
    ? allow('network_allowed', say`${decision.words ?? asListed(decision.reason)}; security level relaxed lets it`, rules)
    : decision;
}
