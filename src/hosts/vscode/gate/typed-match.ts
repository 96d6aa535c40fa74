/** The typed proof for irreversible calls: a fixed label can be clicked by a program that watches the screen, a fresh code is harder. */

/** Whether a person typed what was asked for. Case and runs of white space do not matter: the code's alphabet has no look-alikes anyway. */
export function typedMatch(expected: string, typed: string | undefined): boolean {
  const wanted = normal(expected);
  // An empty expectation would be met by pressing Enter, which a program can do.
  return wanted !== '' && typed !== undefined && normal(typed) === wanted;
}

function normal(text: string): string {
  return text.trim().replace(/\s+/g, ' ').toUpperCase();
}
