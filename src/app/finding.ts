import type { Finding } from '#kernel/app';
import { type FaultWords, toFault } from '#kernel/errors';
import { asListed, english, type Message, say } from '#kernel/text/message';

/** What a person is told of one thing that was looked at, for each reader's language. What is a string has no values. */
export function finding(topic: string, state: Finding['state'], message: string | Message, remedy?: string | Message): Finding {
  const words: FaultWords = {
    ...(typeof message === 'object' ? { message } : {}),
    ...(typeof remedy === 'object' ? { next: remedy } : {}),
  };
  return {
    topic,
    state,
    message: inEnglish(message),
    ...(remedy === undefined ? {} : { remedy: inEnglish(remedy) }),
    ...(Object.keys(words).length === 0 ? {} : { words }),
  };
}

/** What could not be looked at, by the code of its failure. */
export function failedFinding(topic: string, thrown: unknown, state: Finding['state'] = 'failed'): Finding {
  const { code, message, next, words } = toFault(thrown);
  return finding(topic, state, say`${code}: ${words.message ?? asListed(message)}`, words.next ?? next);
}

function inEnglish(text: string | Message): string {
  return typeof text === 'string' ? text : english(text);
}
