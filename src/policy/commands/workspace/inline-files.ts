/**
 * Files that code in the command line opens by a plain name (`open('a.json')`, `fs.readFileSync('a.json')`): they are judged as paths, and
 * what is left of the code is looked at without them.
 */
import { withConstants } from './inline-constants.ts';
import type { PathAction } from './judge-path.ts';

export interface InlineFiles {
  readonly files: readonly { readonly text: string; readonly action: PathAction }[];
  /** The code with each of these calls taken out. */
  readonly rest: string;
}

const name = `(['"])((?:[\\w.@*-]|/(?!/))+)`;
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
    call: new RegExp(
      `(?<![.\\w])(?:pathlib\\.)?Path\\(\\s*${name}\\1\\s*\\)\\.(?:read_text|read_bytes|exists|is_file|is_dir|stat)(?=\\()`,
      'g',
    ),
    writes: () => false,
  },
  {
    call: new RegExp(`(?<![.\\w])(?:pathlib\\.)?Path\\(\\s*${name}\\1\\s*\\)\\.(?:write_text|write_bytes|touch|mkdir)(?=\\()`, 'g'),
    writes: () => true,
  },
  {
    call: new RegExp(`(?<![.\\w:])(?:File\\.(?:read|readlines|exist\\?)|file_get_contents)\\(\\s*${name}\\1\\s*(?=\\))`, 'g'),
    writes: () => false,
  },
];
/** The module bound to its own name, so that each use of it is seen. */
const imports =
  /\b(?:const|let|var) fs ?= ?require\(\s*(['"])(?:node:)?fs\1\s*\)|\bimport (?:\* as )?fs from (['"])(?:node:)?fs\2|\bfrom pathlib import Path\b|\bimport (?:pathlib|glob)\b(?! as\b)|\b(?:import|,) ?(?:os|glob|pathlib)\b(?! as\b)(?! *\.)/g;

export function inlineFiles(code: string): InlineFiles {
  const files: { text: string; action: PathAction }[] = [];
  const constants = withConstants(code.replace(imports, '0'));
  files.push(...constants.texts.map((text) => ({ text, action: 'write' as const })));
  let rest = constants.code;
  for (const { call, writes } of calls)
    rest = rest.replace(call, (...match: string[]) => {
      files.push({ text: match[2] ?? '', action: writes(match) ? 'write' : 'read' });
      return '0';
    });
  return { files, rest };
}
