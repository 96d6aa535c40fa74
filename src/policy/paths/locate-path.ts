/**
 * A path as text: is it a plain path below the workspace root? POSIX and Windows semantics, whichever system this runs on. Nothing is
 * looked up and nothing is expanded.
 */
import type { Segments } from '#kernel/ports/path-facts';

export type Platform = 'posix' | 'win32';

export interface Ground {
  /** Absolute paths that all mean the workspace root (as given, and with links resolved); the first is the usual one. */
  readonly roots: readonly string[];
  readonly platform: Platform;
}

export type Located =
  /** `segments` are in shortest form; `raw` keeps `..` where the text has it, for whoever lets the kernel resolve it. */
  | { readonly ok: true; readonly segments: Segments; readonly raw: Segments }
  | { readonly ok: false; readonly code: 'PATH_OUTSIDE_WORKSPACE' | 'PATH_INVALID'; readonly message: string };

// biome-ignore lint/suspicious/noControlCharactersInRegex: finding control characters is the purpose
const control = /[\u0000-\u001f\u007f-\u009f]/;
const hidden = /[\p{Default_Ignorable_Code_Point}\p{Bidi_Control}\u2028\u2029]/u;
/** Characters that look like `/`, `\`, `.` or `:`. */
const confusable = /[\u2044\u2215\u2216\u29f5\u29f8\u29f9\ufe68\uff0f\uff3c\u2024\u2025\u2026\ufe52\uff0e\ufe55\uff1a\ua789]/;
const encoded = /%(?:2e|2f|5c|00|252e|252f)/i;
const anyScheme = '[a-z][a-z0-9+.-]*:';
const schemes = 'about|blob|data|file|ftp|https?|jar|javascript|mailto|ssh|untitled|urn|view-source|vscode[a-z-]*|wss?';
const scheme = new RegExp(`^(?:(?:${anyScheme})+[/\\\\]|(?:${schemes}):)`, 'i');

/** Where `path` is below the root. Relative paths start there. */
export function locatePath(path: string, ground: Ground): Located {
  const fault = faultOf(path) ?? (ground.platform === 'win32' ? windowsFault(path) : posixFault(path));
  if (fault !== undefined) return { ok: false, code: 'PATH_INVALID', message: fault };
  const raw = belowRoot(path, ground);
  const segments = raw === undefined ? undefined : shorten(raw);
  if (raw === undefined || segments === undefined) return outside(path);
  // No UTF-16 unit takes more than three bytes.
  const long = segments.find((segment) => segment.length > 85 && Buffer.byteLength(segment) > 255);
  if (long !== undefined) return { ok: false, code: 'PATH_INVALID', message: 'a name is longer than 255 bytes' };
  return { ok: true, segments, raw };
}

function faultOf(path: string): string | undefined {
  if (path === '') return 'the path is empty';
  if (path.length > 4_096) return 'the path is longer than 4,096 characters';
  return (/^[ -~]*$/.test(path) ? undefined : characterFault(path)) ?? spellingFault(path);
}

function characterFault(path: string): string | undefined {
  if (!path.isWellFormed()) return 'the path is not well-formed text';
  if (control.test(path)) return 'the path holds a control character';
  if (hidden.test(path)) return 'the path holds an invisible or reordering character';
  if (confusable.test(path)) return 'the path holds a character that looks like a separator or dot';
  return undefined;
}

function spellingFault(path: string): string | undefined {
  if (encoded.test(path)) return 'the path holds percent-encoded separators or dots; write it plainly';
  if (path.startsWith('~')) return 'the path starts with `~`, which is not expanded';
  return undefined;
}

function posixFault(path: string): string | undefined {
  if (scheme.test(path)) return 'this is a URL or a path of another system';
  if (/^[A-Za-z]:(?:$|[^/]*\\)/.test(path) || path.includes('\\')) return 'the path holds a backslash; separate names with `/`';
  return undefined;
}

/** The segments behind the root, `.` and empty ones dropped; undefined for an absolute path elsewhere. */
function belowRoot(path: string, { roots, platform }: Ground): readonly string[] | undefined {
  const segments = split(path, platform);
  if (!isAbsolute(path, platform)) return segments;
  for (const root of roots) {
    const start = split(root, platform);
    // Drive letters and names of Windows are compared without case.
    const same = (a: string | undefined, b: string) => (platform === 'win32' ? a?.toLowerCase() === b.toLowerCase() : a === b);
    if (start.every((segment, index) => same(segments[index], segment))) return segments.slice(start.length);
  }
  return undefined;
}

function split(path: string, platform: Platform): readonly string[] {
  return path.split(platform === 'win32' ? /[\\/]+/ : /\/+/).filter((segment) => segment !== '' && segment !== '.');
}

function isAbsolute(path: string, platform: Platform): boolean {
  return platform === 'win32' ? /^(?:[\\/]|[A-Za-z]:)/.test(path) : path.startsWith('/');
}

/** `..` taken back against the name before it; undefined when it would leave the root. */
function shorten(raw: readonly string[]): Segments | undefined {
  const segments: string[] = [];
  for (const segment of raw) {
    if (segment !== '..') segments.push(segment);
    else if (segments.pop() === undefined) return undefined;
  }
  return segments;
}

function outside(path: string): Located {
  const shown = path.length > 100 ? `${path.slice(0, 100)}…` : path;
  return { ok: false, code: 'PATH_OUTSIDE_WORKSPACE', message: `\`${shown}\` is outside the workspace` };
}

// What Windows takes for something else than the plain file the text names.

const device = /^(?:con|prn|aux|nul|conin\$|conout\$|clock\$|com[0-9\u00b9\u00b2\u00b3]|lpt[0-9\u00b9\u00b2\u00b3])(?:[ .:].*)?$/i;

/** The fault of a path under Windows semantics, or undefined. */
function windowsFault(path: string): string | undefined {
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
