/** What Windows takes for something else than the plain file the text names. */

const device = /^(?:con|prn|aux|nul|conin\$|conout\$|clock\$|com[0-9\u00b9\u00b2\u00b3]|lpt[0-9\u00b9\u00b2\u00b3])(?:[ .:].*)?$/i;

/** The fault of a path under Windows semantics, or undefined. */
export function windowsFault(path: string): string | undefined {
  if (/^[\\/]{2}/.test(path)) return 'network and device paths (`\\\\server\\…`, `\\\\?\\…`, `\\\\.\\…`) are not taken';
  if (/^[\\/]\?\?[\\/]/.test(path)) return 'native paths (`\\??\\…`) are not taken';
  if (/^[A-Za-z]:(?![\\/])/.test(path)) return 'a drive without a backslash means the current directory of that drive; write the full path';
  // The colon of `C:\` is the only one; any other starts a stream (`file.txt:hidden`) or a URL.
  if (path.replace(/^[A-Za-z]:(?=[\\/])/, '').includes(':')) return 'the path holds `:`, which names an alternate data stream or a URL';
  for (const name of path.split(/[\\/]+/)) {
    const fault = nameFault(name);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function nameFault(name: string): string | undefined {
  if (name === '' || name === '.' || name === '..') return undefined;
  if (/[<>"|?*]/.test(name)) return 'a name holds one of `< > " | ? *`';
  if (device.test(name)) return `\`${name.slice(0, 20)}\` is a device`;
  if (/[. ]$/.test(name)) return 'a name ends with a dot or blank, which Windows drops';
  if (/~\d/.test(name)) return 'a name has the short form `NAME~1`; write the long name';
  return undefined;
}
