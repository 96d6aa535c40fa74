/** A command line to type next. */
import type { CommandOptions } from './command-line.ts';

/** Goes on with what this command was given: the same configuration, state and store. Quoted for a POSIX shell. */
export function commandHint(words: readonly string[], { config, state, store }: CommandOptions): string {
  const places = Object.entries({ config, state, store }).flatMap(([name, value]) => (value === undefined ? [] : [`--${name}`, value]));
  return ['banksman', ...words, ...places].map(shellWord).join(' ');
}

function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
