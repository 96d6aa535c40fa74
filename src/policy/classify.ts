/** Action tier × security level (design §5). Pure. */
import { allow, ask, type Decision, deny } from '#kernel/decision';
import { type ActionTier, type SecurityLevel, stricterTier } from '#kernel/tiers';

/** What configuration says about one tool: it may only make it stricter. */
export function effectiveTier(toolName: string, declared: ActionTier, configured: Readonly<Record<string, ActionTier>>): ActionTier {
  const stricter = Object.hasOwn(configured, toolName) ? configured[toolName] : undefined;
  return stricter === undefined ? declared : stricterTier(declared, stricter);
}

/** The seeds' order, after protection: black, then red without a grant, then yellow, then green; anything else is refused. */
export function classify(toolName: string, tier: ActionTier, level: SecurityLevel): Decision {
  switch (tier) {
    case 'black':
      return deny('black_tier', `\`${toolName}\` is never run by an agent; a person must do it by hand`, ['tier:black']);
    case 'red':
      return ask('confirmation_required', `\`${toolName}\` needs a person's approval for exactly this call`, [
        'tier:red',
        `level:${level}`,
      ]);
    case 'yellow':
      return level === 'strict'
        ? ask('confirmation_required', `\`${toolName}\` needs a person's approval at security level strict`, [
            'tier:yellow',
            'level:strict',
          ])
        : allow('yellow_logged', `\`${toolName}\` runs and is written down first`, ['tier:yellow', `level:${level}`]);
    case 'green':
      return allow('green', `\`${toolName}\` only looks`, ['tier:green']);
    default:
      return deny('unknown_tier', `\`${toolName}\` has no known action tier, so it is refused`, ['default']);
  }
}
