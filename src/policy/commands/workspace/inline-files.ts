/**
 * Files that code in the command line opens by a plain name (`open('a.json')`, `fs.readFileSync('a.json')`): they are judged as paths, and
 * what is left of the code is looked at without them.
 */
import type { PathAction } from './judge-path.ts';

export interface InlineFiles {
  readonly files: readonly { readonly text: string; readonly action: PathAction }[];
  /** The code with each of these calls taken out. */
  readonly rest: string;
}

const name = `(['"])((?:[\\w.@-]|/(?!/))+)`;
/** Each: a call up to its name, its name as the second group, and what follows it. */
const calls: readonly { readonly call: RegExp; readonly writes: (match: readonly string[]) => boolean }[] = [
  {
    // SECURITY: the mode is plain text or absent; a computed one is left for the look at the code.
    call: new RegExp(
      `(?<![.\\w])open\\(\\s*${name}\\1\\s*(?:,\\s*(?:mode\\s*=\\s*)?(['"])([rwaxbt+]{1,3})\\3\\s*)?(?:,\\s*encoding\\s*=\\s*['"][\\w-]+['"]\\s*)?\\)`,
      'g',
    ),
    writes: (match) => /[wax+]/.test(match[4] ?? ''),
  },
  {
    call: new RegExp(
      `(?:require\\(\\s*['"](?:node:)?fs['"]\\s*\\)|(?<![.\\w])fs)\\.(?:readFileSync|existsSync|statSync|readdirSync)\\(\\s*${name}\\1(?=\\s*[,)])`,
      'g',
    ),
    writes: () => false,
  },
  {
    call: new RegExp(
      `(?:require\\(\\s*['"](?:node:)?fs['"]\\s*\\)|(?<![.\\w])fs)\\.(?:writeFileSync|appendFileSync)\\(\\s*${name}\\1(?=\\s*,)`,
      'g',
    ),
    writes: () => true,
  },
  {
    call: new RegExp(`(?<![.\\w:])(?:File\\.(?:read|readlines|exist\\?)|file_get_contents)\\(\\s*${name}\\1\\s*(?=\\))`, 'g'),
    writes: () => false,
  },
];
/** The module bound to its own name, so that each use of it is seen. */
const imports = /\b(?:const|let|var) fs ?= ?require\(\s*(['"])(?:node:)?fs\1\s*\)|\bimport (?:\* as )?fs from (['"])(?:node:)?fs\2/g;

export function inlineFiles(code: string): InlineFiles {
  const files: { text: string; action: PathAction }[] = [];
  let rest = code.replace(imports, '0');
  for (const { call, writes } of calls)
    rest = rest.replace(call, (...match: string[]) => {
      files.push({ text: match[2] ?? '', action: writes(match) ? 'write' : 'read' });
      return '0';
    });
  return { files, rest };
}
