/** What a line has made so far, as far as its words tell: places in `/tmp`, and files whose text stands in the line. */

export interface MadeFiles {
  /** Paths below `/tmp` that the line writes. */
  readonly temporary: Set<string>;
  /** The texts that the line wrote to a file, by its absolute path. */
  readonly texts: Map<string, readonly string[]>;
  /** Names of the symbolic links that it makes. */
  readonly links: Set<string>;
}

export function nothingMade(): MadeFiles {
  return { temporary: new Set(), texts: new Map(), links: new Set() };
}

/** SECURITY: `l/../x` behind a link that was made is beside what the link leads to, and nobody has looked there. */
export function leadsUpFromLink(path: string, { links }: MadeFiles): boolean {
  if (links.size === 0 || !path.includes('..')) return false;
  const names = path.split('/').filter((name) => name !== '' && name !== '.');
  const first = names.findIndex((name) => links.has(name));
  return first >= 0 && names.lastIndexOf('..') > first;
}

/** `path` from `directory`, `.` and empty names dropped and `..` taken back as text. */
export function absolutePath(path: string, directory: string): string {
  const names: string[] = [];
  for (const name of (path.startsWith('/') ? path : `${directory}/${path}`).split('/')) {
    if (name === '..') names.pop();
    else if (name !== '' && name !== '.') names.push(name);
  }
  return `/${names.join('/')}`;
}
