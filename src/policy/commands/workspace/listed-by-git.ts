/** What `git` lists, as far as its words tell. */

/** `files`: names of files; `changes`: names behind a mark; or names that are no files; undefined: something else. */
type Listed = 'files' | 'changes' | readonly string[];

interface Lister {
  readonly verb: RegExp;
  /** What every word behind the verb must be. */
  readonly only?: RegExp;
  /** What no word may be. */
  readonly not?: RegExp;
  /** What one word must be. */
  readonly needs?: RegExp;
  readonly listed: Listed;
}

/** SECURITY: a branch's name is chosen by somebody else, but it is no file and never begins with a dash. */
const branch = ['a-branch'];
const formats = /^--(?:open|format|pretty|output|stage|eol|debug|line-prefix)/;
const listers: readonly Lister[] = [
  { verb: /^branch$/, only: /^(?:-[ra]|--(?:format=%\(refname:short\)|merged|no-merged|list|sort=\S+))$/, listed: branch },
  {
    verb: /^(?:branch|tag)$/,
    only: /^(?:-[ralv]|--(?:merged|no-merged|list|all|remotes|sort=\S+)|[\w./-]+)$/,
    not: formats,
    listed: branch,
  },
  { verb: /^status$/, only: /^(?:-s|--short|--porcelain(?:=v1)?|-uno|-uall)$/, needs: /^(?:-s|--short|--porcelain)/, listed: 'changes' },
  { verb: /^grep$/, needs: /^(?:-[a-zA-Z]*[lL][a-zA-Z]*|--files-with(?:out)?-match(?:es)?|--name-only)$/, not: formats, listed: 'files' },
  { verb: /^diff(?:-tree|-index|-files)?$/, needs: /^--name-status$/, not: formats, listed: 'changes' },
  { verb: /^diff(?:-tree|-index|-files)?$/, needs: /^--name-only$/, not: formats, listed: 'files' },
  { verb: /^ls-files$/, not: new RegExp(`${formats.source}|^-[a-z]*[stuvf]`), listed: 'files' },
];

export function listedByGit([verb = '', ...rest]: readonly string[]): Listed | undefined {
  return listers.find((lister) => fits(lister, verb, rest))?.listed;
}

function fits({ verb, only, not, needs }: Lister, name: string, rest: readonly string[]): boolean {
  if (!verb.test(name) || rest.some((arg) => not?.test(arg))) return false;
  return (only === undefined || rest.every((arg) => only.test(arg))) && (needs === undefined || rest.some((arg) => needs.test(arg)));
}
