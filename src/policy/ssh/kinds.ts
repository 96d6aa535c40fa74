/** The kinds of values that pages share, and how many of them. */
import { splitNames } from '#kernel/text/text';
import type { Call, Kind, Optional, Slot } from './page.ts';

export const kind = (name: string, pattern: RegExp): Kind => ({ name, accepts: (value) => pattern.test(value) });

export function oneOf(name: string, words: string): Kind {
  const known = new Set(splitNames(words));
  return { name, accepts: (value) => known.has(value) };
}

/** Several of `item`, joined by commas. */
export function listOf(item: Kind): Kind {
  return { name: `${item.name}, or several with commas`, accepts: (value) => value.split(',').every((part) => item.accepts(part)) };
}

export const anyNumber = (of: Kind, max = 16): Slot => ({ kind: of, min: 0, max });
export const some = (of: Kind, max = 16): Slot => ({ kind: of, min: 1, max });
export const atMostOne = (of: Kind): Slot => ({ kind: of, min: 0, max: 1 });
export const attached = (optional: Kind): Optional => ({ optional });
export const perhaps = (optional: Kind): Optional => ({ optional, apart: true });

/** Refuses a call that has none of the options, given with blanks between. */
export function needs(spellings: string, why: string): (call: Call) => string | undefined {
  const wanted = spellings.split(' ');
  return (call) => (call.has(...wanted) ? undefined : `without \`${wanted.join('` or `')}\`, ${why}`);
}

export function upTo(most: number): Kind {
  return { name: `a number up to ${most}`, accepts: (value) => /^\d{1,6}$/.test(value) && Number(value) >= 1 && Number(value) <= most };
}

/** An interval in seconds, and how often: what repeats without a count never ends. */
export const samples: readonly Slot[] = [atMostOne(upTo(10)), atMostOne(upTo(20))];

export function bounded({ operands }: Call): string | undefined {
  const numbers = operands.filter((word) => /^\d+$/.test(word)).length;
  return numbers === 1 ? 'an interval without a count, which never ends; add a count, such as `1 5`' : undefined;
}

export const number = kind('a whole number', /^\d{1,10}$/);
/** `head -c 10k`, `tail -n +5` (GNU coreutils, block and byte suffixes). */
export const amount = kind('a number of lines or bytes', /^[+-]?\d{1,9}(?:b|[kKMG]B?|[KMG]iB)?$/);
export const text = kind('a text', /^[^\n]{0,1000}$/);
export const when = oneOf('`auto`, `always` or `never`', 'auto always never');
/** `YYYY-MM-DD`, `yesterday`, `2 hours ago`, `-1h`, `@1700000000` (systemd.time(7), GNU date input formats). */
export const time = kind('a time such as `1 hour ago`', /^[@+-]?[A-Za-z0-9][A-Za-z0-9 :.,+/-]{0,60}$/);
export const columns = kind('names of columns with commas', /^[+-]?[A-Za-z0-9_%:.-]{1,30}(?:,[A-Za-z0-9_%:.-]{1,30}){0,40}$/);
export const unitOfSize = kind('a unit such as `M` or `GB`', /^\d{0,9}(?:[KMGTPEZYkmgbBsS](?:i?B)?|B)?$/);
export const word = kind('a word of letters, digits and `-`', /^[A-Za-z0-9_][A-Za-z0-9_.:-]{0,60}$/);
export const userName = kind('the name of a user', /^[a-z_][a-z0-9_.-]{0,31}$/);
export const separator = kind('one character', /^.$/u);

export const interfaceName = kind('the name of an interface', /^[A-Za-z0-9][A-Za-z0-9_.@:-]{0,20}$/);
export const address = kind('an address or network', /^(?:default|any|(?=[^/]*[.:])[0-9a-fA-F.:]{2,45}(?:\/\d{1,3})?)$/);
export const hostName = kind('the name or address of a host', /^[A-Za-z0-9](?:[A-Za-z0-9.:-]{0,250})$/);

export const vmid = kind('the number of a guest', /^[1-9]\d{2,8}$/);
export const nodeName = kind('the name of a node', /^[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?$/);
export const storageName = kind('the name of a storage', /^[A-Za-z][A-Za-z0-9_.-]{0,60}$/);

const deviceName = '[A-Za-z0-9_.:+@=*?-]+';
const deviceFolder = '(?:disk/by-[a-z]+|mapper|md|pve|zvol|bsg|[a-z0-9]+-vg)';
const devicePath = new RegExp(`^/dev/(?:${deviceFolder}(?:/${deviceName})+|[a-z][a-z0-9*?[\\]-]*)$`);
const noDisk = /^\/dev\/(?:fd|stdin|stdout|stderr|tty|pts|random|urandom|zero|full|null|kmsg|mem|port)$/;

/** A block or character device that a tool asks about itself; `cat` takes none. A pattern is expanded to such devices by the shell. */
export const device: Kind = {
  name: 'a device such as /dev/sda',
  file: true,
  accepts: (value) => devicePath.test(value) && !/(?:^|\/)\.{1,2}(?:\/|$)/.test(value) && !noDisk.test(value),
};
