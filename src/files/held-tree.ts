/**
 * A directory and all that lies below it, for work that takes many steps: each entry is reached through its own directory, which is held open.
 * SECURITY: whoever puts a link in the place of a directory meanwhile leads nothing elsewhere.
 */
import { realpathSync, statSync } from 'node:fs';
import { type DirectoryPin, pathChanged, pinRoot, usualPinning } from './directory-pin.ts';

export interface HeldTree {
  /**
   * Where an entry is, by a path below the root (empty: the root itself); undefined where a directory on the way is not there, is none, or has strayed.
   * What it gives is good until a hundred more are asked for.
   */
  place(path: string): string | undefined;
  /** The directory itself, for the caller to close. */
  hold(path: string): DirectoryPin | undefined;
  /** Whether `place` met a link on the way to it, or another directory than before. */
  strayed(path: string): boolean;
  /** By a step of our own something else is at the path: what was held below it is elsewhere. */
  moved(path: string): void;
  /** Of a place, as people know it. */
  nameOf(place: string): string;
  close(): void;
}

const mostHeld = 256;

interface Held {
  readonly root: string;
  readonly top: DirectoryPin;
  /** By path, in the order of their last use. */
  readonly pins: Map<string, DirectoryPin>;
  /** Device and inode of each directory when it was first met. */
  readonly identities: Map<string, string>;
}

/** `stray`: a link is there, a file, or another directory than before. */
type Met = DirectoryPin | 'missing' | 'stray';

/** @param root absolute, links resolved @throws the file system's error; {Fault} `PATH_CHANGED` where a link leads to it by now */
export function holdTree(root: string): HeldTree {
  const top = pinRoot(root, usualPinning);
  if (top.where() !== root && realpathSync(root) !== root) {
    top.close();
    throw pathChanged();
  }
  const held: Held = { root, top, pins: new Map(), identities: new Map() };
  const strays = new Set<string>();
  return {
    place: (path) => {
      if (path === '') return `${top.at}/.`;
      const pin = directory(held, parentPath(path));
      if (typeof pin === 'object') return `${pin.at}/./${plainName(nameIn(path))}`;
      if (pin === 'stray') strays.add(path);
      return undefined;
    },
    hold: (path) => {
      const pin = directory(held, path);
      return typeof pin === 'object' ? pin.enter('.') : undefined;
    },
    strayed: (path) => strays.has(path),
    moved: (path) => {
      for (const inner of [...held.pins.keys()]) if (isWithin(inner, path)) drop(held, inner);
      for (const inner of [...held.identities.keys()]) if (isWithin(inner, path)) held.identities.delete(inner);
    },
    nameOf: (place) => nameOf(held, place),
    close: () => {
      for (const pin of [top, ...held.pins.values()]) pin.close();
    },
  };
}

function directory(held: Held, path: string): Met {
  return path === '' ? held.top : (known(held, path) ?? enter(held, path));
}

function known(held: Held, path: string): DirectoryPin | undefined {
  const pin = held.pins.get(path);
  if (pin === undefined) return undefined;
  // The kernel's own word for where it is: no link is on that way.
  if (pin.where() !== `${held.root}/${path}`) {
    drop(held, path);
    return undefined;
  }
  held.pins.delete(path);
  held.pins.set(path, pin);
  return pin;
}

function enter(held: Held, path: string): Met {
  const above = directory(held, parentPath(path));
  const pin = typeof above === 'object' ? enterPlainly(above, nameIn(path)) : above;
  if (typeof pin !== 'object') return pin;
  const { dev, ino } = statSync(pin.at, { bigint: true });
  const identity = `${dev}:${ino}`;
  if ((held.identities.get(path) ?? identity) !== identity) {
    pin.close();
    return 'stray';
  }
  held.identities.set(path, identity);
  held.pins.set(path, pin);
  const [oldest] = held.pins.keys();
  if (held.pins.size > mostHeld && oldest !== undefined) drop(held, oldest);
  return pin;
}

function drop({ pins }: Held, path: string): void {
  pins.get(path)?.close();
  pins.delete(path);
}

function nameOf({ root, top, pins }: Held, place: string): string {
  const found = [['', top] as const, ...pins].find(([, { at }]) => place.startsWith(`${at}/.`));
  if (found === undefined) return place;
  const [path, { at }] = found;
  return [root, path, place.slice(`${at}/./`.length)].filter((part) => part !== '').join('/');
}

/** @throws the file system's error */
function enterPlainly(above: DirectoryPin, name: string): Met {
  try {
    return above.enter(plainName(name));
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException;
    if (code === 'ENOENT') return 'missing';
    if (code === 'ENOTDIR' || code === 'ELOOP') return 'stray';
    throw thrown;
  }
}

/** INVARIANT: a name leads into a directory, never out of it. */
function plainName(name: string): string {
  if (name === '' || name === '.' || name === '..') throw new Error(`\`${name}\` is no name`);
  return name;
}

function parentPath(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf('/')));
}

function nameIn(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

function isWithin(inner: string, outer: string): boolean {
  return inner === outer || inner.startsWith(`${outer}/`);
}
