/** `grep -r` finds its files itself; this keeps it out of those whose names stand for secrets. */
import { secretDirectories, secretNames } from '../paths/secret-files.ts';
import type { Word } from '../ssh/line.ts';

const exclusions: readonly string[] = [
  ...secretNames.map((name) => `--exclude=${anyCase(name)}`),
  ...secretDirectories.map((name) => `--exclude-dir=${anyCase(name)}`),
];

/** A name is a secret's whatever its case; `grep` compares with case. */
function anyCase(name: string): string {
  return name.replace(/[a-z]/g, (letter) => `[${letter}${letter.toUpperCase()}]`);
}

/** A `grep` that was checked: its words, the options it was given, and its `--`. */
interface CheckedGrep {
  readonly words: readonly Word[];
  readonly options: ReadonlySet<string>;
  readonly terminator?: Word;
}

/**
 * The words of a recursive `grep` with the exclusions behind its last option, where GNU grep lets them win over any `--include`.
 * Applying it twice changes nothing.
 */
export function hideSecrets({ words, options, terminator }: CheckedGrep): readonly Word[] {
  const [name, ...rest] = words;
  if (name?.text !== 'grep' || !(options.has('-r') || options.has('--recursive'))) return words;
  const kept = rest.filter((word) => !exclusions.includes(word.text));
  // A `--` may also be a pattern (`-e --`), so the text does not tell the terminator.
  const end = terminator === undefined ? -1 : kept.indexOf(terminator);
  const added = exclusions.map((text): Word => ({ text, offset: name.offset, bare: true }));
  return end < 0 ? [name, ...kept, ...added] : [name, ...kept.slice(0, end), ...added, ...kept.slice(end)];
}
