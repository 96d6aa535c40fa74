/** The built-in engine: re2js, which like ripgrep takes time in proportion to the text, whatever the pattern. */
import { RE2JS, RE2JSException } from 're2js';
import { requiredLiteral } from './required-literal.ts';
import { badPattern } from './search-pattern.ts';

export interface LineMatcher {
  matches(line: string): boolean;
  /** False: no line of a file of these bytes matches. */
  mayMatch(bytes: Buffer): boolean;
}

/** @throws {Fault} `BAD_PATTERN` */
export function lineMatcher(pattern: string): LineMatcher {
  const expression = compile(pattern);
  const literal = requiredLiteral(pattern);
  if (literal === undefined) return { matches: (line) => expression.matcher(line).find(), mayMatch: () => true };
  const needle = Buffer.from(literal.text);
  return {
    matches: (line) => line.includes(literal.text) && (literal.whole || expression.matcher(line).find()),
    mayMatch: (bytes) => isUtf16(bytes) || bytes.includes(needle),
  };
}

function compile(pattern: string): RE2JS {
  try {
    return RE2JS.compile(pattern);
  } catch (thrown) {
    if (!(thrown instanceof RE2JSException)) throw thrown;
    throw badPattern(thrown.message.replace(/^error parsing regexp: /, ''));
  }
}

/** By its mark: there a character is two bytes. */
function isUtf16(bytes: Buffer): boolean {
  return (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff);
}
