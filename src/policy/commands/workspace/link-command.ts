/** `ln -s TARGET LINK`: a relative target is below the directory of the link, not below the current one (symlink(7)). */

import { locatePath } from '../../paths/locate-path.ts';
import type { Invocation } from './invocation.ts';
import { single } from './shell-word.ts';

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

/** The directory that the link will be in; empty for the current one. */
function directoryOf(link: string, { scope }: Invocation): string {
  const [from = ''] = scope.directories;
  const located = locatePath(link.startsWith('/') ? link : `${from}/${link}`, scope.view.ground);
  const isDirectory = link.endsWith('/') || (located.ok && scope.view.facts.look(located.raw).kind === 'directory');
  return isDirectory ? link.replace(/\/+$/, '') : link.replace(/\/?[^/]*$/, '');
}
