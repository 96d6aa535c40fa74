/** The built-in engine, loaded where there is no ripgrep: re2js, which like ripgrep takes time in proportion to the text, whatever the pattern. */
import { RE2JS, RE2JSException } from 're2js';
import { badPattern } from './pattern-faults.ts';

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

// What every match of a pattern must hold, so that most files need neither be decoded nor matched.

interface RequiredLiteral {
  /** ASCII, so that its bytes are the same in UTF-8 and Latin-1. */
  readonly text: string;
  /** The pattern is this text and nothing else. */
  readonly whole: boolean;
}

interface Reading {
  readonly characters: readonly string[];
  at: number;
  run: string;
  best: string;
  /** Something other than literal characters was read. */
  other: boolean;
}

/**
 * The longest run of literal characters at the top level of the pattern (RE2's syntax). Cautious: from the first group or class on nothing
 * is read, and where alternatives or flags may be meant there is none.
 */
export function requiredLiteral(pattern: string): RequiredLiteral | undefined {
  if (pattern.includes('|') || pattern.includes('(?')) return undefined;
  const reading: Reading = { characters: Array.from(pattern), at: 0, run: '', best: '', other: false };
  while (reading.at < reading.characters.length) {
    const read = readOne(reading);
    if (read === 'unknown') return undefined;
    if (read === 'end') {
      reading.other = true;
      break;
    }
  }
  closeRun(reading);
  return reading.best === '' ? undefined : { text: reading.best, whole: !reading.other };
}

function readOne(reading: Reading): 'unknown' | 'end' | undefined {
  const character = reading.characters[reading.at] ?? '';
  reading.at += 1;
  if (character === '\\') return readEscape(reading);
  // The character before may be missing from a match.
  if ('*?{'.includes(character)) reading.run = reading.run.slice(0, -1);
  if ('{}()[]'.includes(character)) return 'end';
  return '*?+.^$'.includes(character) ? breakRun(reading) : readLiteral(reading, character);
}

/** Before punctuation a backslash means the character itself; before letters only what takes nothing behind it is known. */
function readEscape(reading: Reading): 'unknown' | undefined {
  const next = reading.characters[reading.at] ?? '';
  reading.at += 1;
  if (/^[bBdDsSwW]$/.test(next)) return breakRun(reading);
  return /^[!-/:-@[-`{-~]$/.test(next) ? readLiteral(reading, next) : 'unknown';
}

function readLiteral(reading: Reading, character: string): undefined {
  if (!/^[ -~\t]$/.test(character)) return breakRun(reading);
  reading.run += character;
  return undefined;
}

function breakRun(reading: Reading): undefined {
  reading.other = true;
  return closeRun(reading);
}

function closeRun(reading: Reading): undefined {
  if (reading.run.length > reading.best.length) reading.best = reading.run;
  reading.run = '';
}
