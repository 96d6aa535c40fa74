/** The typed proof for irreversible calls: a fixed label can be clicked by a program that watches the screen, a fresh code is harder. */
import { randomInt } from 'node:crypto';

/** No look-alikes (0/O, 1/I/L, 2/Z, 5/S, 8/B). */
const alphabet = 'ACDEFGHJKMNPQRTUVWXY34679';
const codeLength = 4;

export interface Challenge {
  /** What a person has to type: the target's name, a space and the code. Shown in the input box and nowhere else. */
  readonly expected: string;
  accepts(typed: string | undefined): boolean;
}

export function createChallenge(targetName: string): Challenge {
  const code = Array.from({ length: codeLength }, () => alphabet[randomInt(alphabet.length)]).join('');
  const expected = `${normal(targetName)} ${code}`;
  return { expected, accepts: (typed) => typed !== undefined && normal(typed).toUpperCase() === expected.toUpperCase() };
}

function normal(text: string): string {
  return text.trim().replace(/\s+/g, ' ');
}
