/** Whether a start of a program is one that the policy judged: the same program in the same place with words that it knew of. */
import type { Invocation } from '../../../src/policy/commands/workspace/invocation.ts';
import { everyName } from '../../../src/policy/commands/workspace/listed-names.ts';
import type { ShellWord } from '../../../src/policy/commands/workspace/shell-word.ts';
import type { Start } from './argument-oracle.ts';

/** The invocations that the start could be; none: nobody judged it. */
export function judgedAs(start: Start, invocations: readonly Invocation[]): readonly Invocation[] {
  return invocations.filter(
    ({ program, args, scope }) =>
      new RegExp(`^(?:${shapeOf(program, false, false)})$`, 'su').test(start.program) &&
      scope.directories.includes(start.directory) &&
      fits(args.map(expected), start.args),
  );
}

/** What a word becomes. */
interface Expected {
  /** One word of them; undefined: any number of any words. */
  readonly shape: RegExp | undefined;
  /** More words than one may come of it. */
  readonly several: boolean;
}

/** Texts that stand for others: of a file that is listed (the worst, where one may be a secret), a number, a branch, what `mktemp` prints. */
const standsFor = /listed|found|a-branch|\u{f0000}|(?:^|\/)\.env$/u;

function expected({ values, glob, names, source }: ShellWord): Expected {
  if (values === undefined || values.some((value) => value.includes(everyName) || standsFor.test(value)))
    return { shape: undefined, several: true };
  // A pattern that stands for names which `find` or `ls` lists, below any directory.
  const hasWild = (text: string) => /[*?[]/.test(text);
  const isListed = names || (!glob && values.some(hasWild) && (!hasWild(source) || /[$`]/.test(source) || values[0] === source));
  const shape = new RegExp(`^(?:${values.map((value) => shapeOf(value, glob, isListed)).join('|')})$`, 'su');
  // What a substitution prints is split into words.
  return { shape, several: glob || isListed || /\$\(|`/.test(source) };
}

/** `0` stands for any number. */
function shapeOf(value: string, glob: boolean, isListed: boolean): string {
  const plain = value.replace(/[\\^$.*+?()[\]{}|/-]/gu, (sign) => `\\x${sign.charCodeAt(0).toString(16).padStart(2, '0')}`);
  // A `~` that is not expanded stays what it is.
  const numbers = plain.replaceAll(/(?:\\x2fhome\\x2f|(?<=^|=))~/gu, '(?:\\x2fhome\\x2f)?~').replace(/(?<!\\x.?)0/gu, '-?\\d+');
  if (isListed) return numbers.replaceAll('\\x2a', '.*').replaceAll('\\x3f', '.');
  if (!glob) return numbers;
  return `${numbers}|${numbers
    .replaceAll('\\x2a', '[^/]*')
    .replaceAll('\\x3f', '[^/]')
    .replaceAll(/\\x5b(?:\\x5b.*?\\x5d|.)+?\\x5d/gu, '[^/]')}`;
}

function fits(words: readonly Expected[], args: readonly string[]): boolean {
  const [first, ...rest] = words;
  if (first === undefined) return args.length === 0;
  if (first.shape === undefined) return args.some((_arg, index) => fits(rest, args.slice(index))) || fits(rest, []);
  const [arg, ...left] = args;
  if (first.several && fits(rest, args)) return true;
  if (arg === undefined) return false;
  return first.shape.test(arg) && (fits(rest, left) || (first.several && fits(words, left)));
}
