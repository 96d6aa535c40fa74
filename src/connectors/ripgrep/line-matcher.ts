/** The built-in engine: re2js, which like ripgrep takes time in proportion to the text, whatever the pattern. */
import { RE2JS, RE2JSException } from 're2js';
import { badPattern } from './search-pattern.ts';

/** @throws {Fault} `BAD_PATTERN` */
export function lineMatcher(pattern: string): (line: string) => boolean {
  try {
    const expression = RE2JS.compile(pattern);
    return (line) => expression.matcher(line).find();
  } catch (thrown) {
    if (!(thrown instanceof RE2JSException)) throw thrown;
    throw badPattern(thrown.message.replace(/^error parsing regexp: /, ''));
  }
}
