/** `ln -s TARGET LINK`: a relative target is below the directory of the link, not below the current one (symlink(7)). */

import type { Decision } from '#kernel/decision';
import { locatePath } from '../../paths/locate-path.ts';
import { askFor } from './findings.ts';
import type { Invocation } from './invocation.ts';
import { type ShellWord, single } from './shell-word.ts';

/** The same invocation with its targets as seen from where it runs. */
export function seenFromHere(invocation: Invocation): Invocation {
  const { args } = invocation;
  const texts = args.map((word) => single(word) ?? '');
  const operands = texts.flatMap((text, index) => (text.startsWith('-') || text === '' ? [] : [index]));
  const last = operands.at(-1);
  if (!texts.some((text) => /^(?:-[a-zA-Z]*s[a-zA-Z]*|--symbolic)$/.test(text)) || last === undefined || operands.length < 2)
    return invocation;
  const directory = directoryOf(texts[last] ?? '', invocation);
  return {
    ...invocation,
    args: args.map((word, index) => {
      const text = texts[index] ?? '';
      return index === last || !operands.includes(index) || /^[/~]/.test(text) || directory === ''
        ? word
        : { ...word, values: [`${directory}/${text}`] };
    }),
  };
}

/** SECURITY: `/tmp` is the command's own only while it runs; a link to it that stays leads to everybody's. */
export function linksToTemporary({ args, scope }: Invocation): readonly Decision[] {
  if (scope.view.ground.roots.some((root) => root.startsWith('/tmp/'))) return [];
  const operands = args.filter((word) => !(single(word) ?? '').startsWith('-'));
  const isTemporary = (word: ShellWord | undefined) => /^\/tmp(?:\/|$)/.test(single(word) ?? '');
  const [target, link] = [operands.find(isTemporary), operands.at(-1)];
  if (target === undefined || (isTemporary(link) && operands.length > 1)) return [];
  return [
    askFor(
      'SYMLINK_OUTSIDE_WORKSPACE',
      target.offset,
      `a link to \`${single(target) ?? ''}\`, which is another place once the command ends`,
    ),
  ];
}

/** Remembers what the links will be called: the last word, or the names of the targets where that is a directory. */
export function noteLinks(invocation: Invocation): void {
  const texts = invocation.args.flatMap((word) => word.values ?? []);
  const operands = texts.filter((text) => !text.startsWith('-'));
  const last = operands.at(-1) ?? '';
  const isNamed = operands.length === 2 && operands.length === texts.filter((text) => !/^-[a-zA-Z]+$/.test(text)).length;
  const intoDirectory = directoryOf(last, invocation) === last.replace(/\/+$/, '');
  for (const text of isNamed && !intoDirectory ? [last] : operands) {
    const name = text.split('/').findLast((part) => !/^\.{0,2}$/.test(part));
    if (name !== undefined) invocation.scope.made.links.add(name);
  }
}

/** The directory that the link will be in; empty for the current one. */
function directoryOf(link: string, { scope }: Invocation): string {
  const [from = ''] = scope.directories;
  const located = locatePath(link.startsWith('/') ? link : `${from}/${link}`, scope.view.ground);
  const isDirectory = link.endsWith('/') || (located.ok && scope.view.facts.look(located.raw).kind === 'directory');
  return isDirectory ? link.replace(/\/+$/, '') : link.replace(/\/?[^/]*$/, '');
}
