/** A command that is run on names of files: by `find -exec` and by `xargs`. */
import type { Decision } from '#kernel/decision';
import { askFor } from './findings.ts';
import type { Invocation, Recursion } from './invocation.ts';
import { knownWord, type ShellWord, single } from './shell-word.ts';

/** Programs whose words may be code. */
const readers = /^(?:(?:ba|da|z|k|a)?sh|node|nodejs|bun|deno|tsx|python[\d.]*|perl|ruby|php|lua|Rscript|julia)$/;

export interface Names {
  /** undefined: one that is not known. */
  readonly names: readonly (string | undefined)[];
  /** Stands for a name in the words; absent: the names follow the words. */
  readonly mark?: string;
}

/** The invocation on each of the names. */
export function runOn(invocation: Invocation, { names, mark }: Names, recursion: Recursion): readonly Decision[] {
  const { args, program, offset } = invocation;
  const isScript = readers.test(program) && args.some((word) => /^-[a-zA-Z]*[ceErp]$|^--(?:eval|print)$/.test(single(word) ?? ''));
  // SECURITY: a name within the text of a script is read as script.
  const areNumbers = names.every((name) => /^\d+$/.test(name ?? ''));
  if (
    isScript &&
    !areNumbers &&
    mark !== undefined &&
    args.some((word) => /[\s'"();]/.test(single(word) ?? '') && single(word)?.includes(mark))
  )
    return [askFor('runs_other_code', offset, `names of files within the text of a script for \`${program}\``)];
  return names.flatMap((name) => {
    const placed = mark === undefined ? [...args, nameWord(name, offset)] : args.map((word) => withName(word, mark, name));
    return recursion.invocation({ ...invocation, args: placed });
  });
}

function nameWord(name: string | undefined, offset: number): ShellWord {
  return name === undefined
    ? { glob: false, quoted: true, offset, source: '(what is piped in)' }
    : knownWord(name, { offset, source: name });
}

function withName(word: ShellWord, mark: string, name: string | undefined): ShellWord {
  const text = single(word);
  if (!text?.includes(mark)) return word;
  return name === undefined
    ? { glob: false, quoted: true, offset: word.offset, source: text }
    : knownWord(text.replaceAll(mark, name), word);
}
