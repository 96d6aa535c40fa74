/** Names that code in the command line binds once to plain texts: `p = 'a.json'`, `for f in ['a', 'b']`, `for f in glob.glob('src/*.py')`. */
import { meetsSecret } from './listed-names.ts';

export interface Constants {
  /** The code with the first text for each such name where a file is opened by it. */
  readonly code: string;
  /** Every text that such a name stands for where it opens a file. */
  readonly texts: readonly string[];
}

const constant =
  /(?:^|[\n;])[ \t]*(?:const |let |var )?([A-Za-z_]\w*) ?= ?(?:(?:pathlib\.)?Path\()?((['"])[\w.@-][\w.@/-]*\3)\)?(?=[ \t]*(?:[\n;]|$))/g;
const loop =
  /\bfor ([A-Za-z_]\w*) in (?:sorted\()?(?:glob\.i?glob\(|(?:pathlib\.)?Path\(\s*(['"])[\w.@-][\w.@/-]*\2\s*\)\.r?glob\()?([[(]?\s*(?:(['"])[\w.@*-][\w.@*/-]*\4\s*,?\s*)+)/g;

export function withConstants(code: string): Constants {
  const texts: string[] = [];
  let left = code;
  for (const [, name = '', list = ''] of code.matchAll(constant)) left = replaceUses(left, { name, values: literals(list), texts });
  for (const [whole, name = '', , list = ''] of code.matchAll(loop)) {
    const base = /Path\(\s*(['"])([^'"]*)\1/.exec(whole)?.[2];
    const values = literals(list).map((value) => (base === undefined ? value : `${base}/${value}`));
    left = replaceUses(left, { name, values, texts });
  }
  return { code: left, texts };
}

function literals(list: string): readonly string[] {
  return [...list.matchAll(/(['"])([^'"]*)\1/g)].map((match) => match[2] ?? '');
}

interface Bound {
  readonly name: string;
  readonly values: readonly string[];
  readonly texts: string[];
}

/** SECURITY: any other way to bind the name makes it unknown, and so do names of secrets. */
function replaceUses(code: string, { name, values, texts }: Bound): string {
  const [first] = values;
  if (first === undefined || values.some(meetsSecret)) return code;
  const opened = code
    .replace(opening(name), (_found, before: string) => `${before}'${first}'`)
    .replace(new RegExp(String.raw`(?<![.\w])${name}\.(?=(?:read_text|write_text|read_bytes)\()`, 'g'), `Path('${first}').`);
  if (opened === code || [...opened.matchAll(binding(name))].length !== 1) return code;
  texts.push(...values);
  return opened.replace(new RegExp(String.raw`\b${name} ?= ?(?:pathlib\.)?Path\((['"])[^'"]*\1\)`), `${name} = 0`);
}

function opening(name: string): RegExp {
  return new RegExp(String.raw`((?<![.\w])(?:open|(?:require\([^)]*\)|fs)\.\w+Sync|File\.read|Path)\(\s*)${name}\b(?=\s*[,)])`, 'g');
}

function binding(name: string): RegExp {
  const assigned = String.raw`\b${name}\b\s*(?:,[\w\s,*]*)?(?:[-+*/|&]?=(?!=)|:=)`;
  const declared = String.raw`\b(?:for|as|def|lambda|global|nonlocal|import|function|class)\b[^\n:;]*?\b${name}\b`;
  return new RegExp(`${assigned}|${declared}`, 'g');
}
