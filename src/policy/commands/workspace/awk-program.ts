/** Reads an `awk` program (POSIX, gawk 5) far enough to see whether it runs a program, or reads or writes a file. */

const longest = 2_000;

/** What it does beyond computing and printing, or undefined. What cannot be read counts as such. */
export function awkFault(code: string): string | undefined {
  // Reading goes back and forth in a pattern that is never closed, so long programs are not read.
  if (code.length > longest) return 'an `awk` program that is too long to be read';
  // Behind `)` a slash may divide or start a pattern: it must be harmless either way.
  return faultIn(code, withoutText(code, true)) ?? faultIn(code, withoutText(code, false));
}

function faultIn(code: string, bare: string | undefined): string | undefined {
  const reaches =
    bare === undefined ||
    /\b(?:system|getline|close|fflush|ENVIRON|PROCINFO|ARGV)\b|[|](?![|])(?<![|][|])|@/s.test(bare) ||
    /\bprintf?\b[^;}\n]*>/s.test(bare);
  return reaches || code.includes('/inet') ? 'an `awk` program that runs another, or reads or writes files' : undefined;
}

const token = /"(?:[^"\\\n]|\\.)*"|#[^\n]*|\/(?:[^/\\\n[]|\\.|\[(?:\^?\]?)(?:[^\]\\\n]|\\.)*\])*\/|[\s\S]/gy;

/** The program with its strings, patterns and comments taken out; undefined where a quote is never closed. */
function withoutText(code: string, parenthesisEndsValue: boolean): string | undefined {
  let bare = '';
  token.lastIndex = 0;
  for (let match = token.exec(code); match !== null; match = token.exec(code)) {
    const [text] = match;
    if (text.startsWith('"')) {
      if (text.length < 2) return undefined;
      bare += '""';
    } else if (text.startsWith('/') && divides(bare, parenthesisEndsValue)) {
      // A division: only the slash is taken.
      token.lastIndex = match.index + 1;
      bare += '/';
    } else if (text.startsWith('/')) bare += text.length < 2 ? '/' : '""';
    else if (!text.startsWith('#')) bare += text;
  }
  return bare;
}

/** Behind a value a slash divides; elsewhere it starts a pattern. */
function divides(whole: string, parenthesisEndsValue: boolean): boolean {
  const before = whole.trimEnd().slice(-20);
  if (/\)\s*$/.test(before)) return parenthesisEndsValue;
  return /[\w\]$"]\s*$/.test(before) && !/\b(?:print|printf|return|in|else|do)\s*$/.test(before);
}
