/** The policy's answer as a value: what, which code, why, and the rules that made it. */

import { english, type Message } from './text/message.ts';

export type Effect = 'allow' | 'ask' | 'deny';

export interface Decision {
  readonly effect: Effect;
  /** Stable snake_case code for programs and models. */
  readonly code: string;
  /** One sentence for people: lower case, input in backticks, the next step at the end. */
  readonly reason: string;
  /** The same for each reader's language, where it has values. */
  readonly words?: Message;
  /** Ids of the rules behind it, the deciding one first. Empty only where nothing matched and the default applied. */
  readonly rules: readonly string[];
}

const strictness: Record<Effect, number> = { allow: 0, ask: 1, deny: 2 };

/** @param reason a text without values is the same in every translation's list, and needs no words */
export function allow(code: string, reason: string | Message, rules: readonly string[] = []): Decision {
  return decision('allow', code, reason, rules);
}

/** @param words for people: a card shows why it asks */
export function ask(code: string, words: Message, rules: readonly string[] = []): Decision {
  return { effect: 'ask', code, reason: english(words), words, rules };
}

export function deny(code: string, reason: string | Message, rules: readonly string[] = []): Decision {
  return decision('deny', code, reason, rules);
}

function decision(effect: Effect, code: string, reason: string | Message, rules: readonly string[]): Decision {
  return typeof reason === 'string' ? { effect, code, reason, rules } : { effect, code, reason: english(reason), words: reason, rules };
}

/** The strictest of several decisions; the first among equals. Nothing decided means deny. */
export function strictest(decisions: readonly Decision[]): Decision {
  const [first, ...rest] = decisions;
  if (!first) return deny('undecided', 'no rule decided this call, so it is refused');
  return rest.reduce((worst, next) => (strictness[next.effect] > strictness[worst.effect] ? next : worst), first);
}
