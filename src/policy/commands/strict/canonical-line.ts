/** The re-quoted form of a checked line: this is what runs, never the text it came from. */
import type { GlobPart, Pipeline, SimpleCommand, Word } from './strict-line.ts';

/** The same pipelines as POSIX shell text: single blanks, every word that needs it in single quotes. */
export function canonicalLine(pipelines: readonly Pipeline[]): string {
  return pipelines
    .map(({ commands, after }) => {
      const text = commands.map(canonicalCommand).join(' | ');
      if (after === undefined) return text;
      return after === ';' ? `; ${text}` : ` ${after} ${text}`;
    })
    .join('');
}

function canonicalCommand({ words, errors, input }: SimpleCommand): string {
  const from = input === undefined ? [] : ['<', canonicalWord(input)];
  return [...words.map(canonicalWord), ...from, ...(errors === undefined ? [] : [errors])].join(' ');
}

function canonicalWord(word: Word): string {
  if (word.glob === undefined) return quoteWord(word.text);
  return word.glob.map((part: GlobPart) => ('wild' in part ? part.wild : quoteWord(part.literal))).join('');
}

/** POSIX §2.2.2. Words of harmless characters stay as they are, so that people can read the line. */
export function quoteWord(text: string): string {
  return /^[A-Za-z0-9_@%+:,./-][A-Za-z0-9_@%+=:,./-]*$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
