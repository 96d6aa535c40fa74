/** Reads a `sed` program (POSIX, GNU sed 4.9) far enough to see whether it runs a program or names a file. */

/** What it does beyond editing text, or undefined. What cannot be read counts as such. */
export function sedFault(script: string): string | undefined {
  let rest = script;
  while (rest !== '') {
    const next = takeCommand(rest.replace(/^[\s;{}]+/, ''));
    if (typeof next !== 'object') return next;
    rest = next.rest;
  }
  return undefined;
}

const address = /^(?:\d+(?:~\d+)?|\$|\/(?:[^/\\[\n]|\\.|\[\^?\]?[^\]\n]*\])*\/[IM]*|\\([^\\\n])(?:(?!\1)[^\\\n]|\\.)*\1[IM]*)/s;

interface Taken {
  readonly rest: string;
}

function takeCommand(text: string): Taken | string {
  const rest = skipRange(text);
  const letter = rest.charAt(0);
  if (letter === '' || /[{};]/.test(letter)) return { rest: rest.slice(1) };
  if (/[eErRwW]/.test(letter)) return `the command \`${letter}\`, which runs a program or names a file`;
  if (letter === 's' || letter === 'y') return takeSubstitution(rest);
  // Text to the end of the line, labels, comments.
  if (/[aic#]/.test(letter)) return { rest: rest.slice(lineEnd(rest)) };
  if (/[:btT]/.test(letter)) return { rest: rest.slice(endOfLabel(rest)) };
  return /[=dDgGhHlnNpPqQxzF]/.test(letter) ? { rest: rest.slice(1).replace(/^ *\d*/, '') } : `\`${letter}\`, which is no known command`;
}

/** One address or two, and the `!` behind them. */
function skipRange(text: string): string {
  const rest = skipAddress(text).replace(/^,\s*[+~]\d+/, '');
  return (rest.startsWith(',') ? skipAddress(rest.slice(1).trimStart()) : rest).replace(/^[\s!]+/, '');
}

function skipAddress(text: string): string {
  return text.replace(address, '').trimStart();
}

function lineEnd(text: string): number {
  const end = text.search(/(?<!\\)\n/);
  return end < 0 ? text.length : end;
}

function endOfLabel(text: string): number {
  const end = text.search(/[;\n}]/);
  return end < 0 ? text.length : end;
}

/** `s/…/…/flags`; among the flags `e` runs the result and `w` writes a file. */
function takeSubstitution(text: string): Taken | string {
  const found = /^[sy]([^\\\n])((?:\[\^?\]?[^\]\n]*\]|(?!\1)[^\\]|\\.)*)\1((?:(?!\1)[^\\]|\\.)*)\1([A-Za-z0-9]*)/s.exec(text);
  if (found === null) return 'a substitution that cannot be read';
  const flags = found[4] ?? '';
  return /^[gpiIMm0-9]*$/.test(flags)
    ? { rest: text.slice(found[0].length) }
    : `a substitution with \`${flags}\`, which runs a program or writes a file`;
}
