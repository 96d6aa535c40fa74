/** Reads what `sqlite3` and `duckdb` are told in its words far enough to see whether it runs a program or names another file. */
import { hintsAtSecret } from '../../paths/secret-files.ts';

const plainDot =
  /^\.(?:tables?|schema|fullschema|indexes|indices|databases|headers?|mode|dump|width|nullvalue|separator|print|show|stats|timer|echo|eqp|explain|help|version|quit|exit|changes|lint|sha3sum|dbinfo|dbconfig|limit|bail)\b/;

/** What it does beyond queries, or undefined. */
export function sqliteFault(script: string): string | undefined {
  const dots = script.split('\n').filter((line) => line.trimStart().startsWith('.'));
  if (dots.some((line) => !plainDot.test(line.trimStart()))) return 'a command of `sqlite3` that runs a program or names a file';
  const bare = script.replace(/'(?:[^']|'')*'/g, "''");
  return /\b(?:attach|load_extension|readfile|writefile|edit|fts3_tokenizer|vacuum\s+(?:\w+\s+)?into|writable_schema|fsdir|zipfile|shell|csv\s*\()/i.test(
    bare,
  )
    ? 'a query that names another file or loads code'
    : undefined;
}

/** The same of `duckdb`, whose queries take any file by its name. */
export function duckdbFault(script: string): string | undefined {
  const named = [...script.matchAll(/'((?:[^']|'')*)'|"([^"]*)"/g)].map((match) => match[1] ?? match[2] ?? '');
  if (named.some((name) => /^[/~]|(?:^|\/)\.|:\/\//.test(name) || hintsAtSecret(name)))
    return 'a query that names a file outside or a secret';
  const reaches = /\b(?:install|load|attach|copy|export|import|secret|getenv|read_(?:text|blob)|glob|pragma|set)\b/i;
  return reaches.test(script) ? 'a query that names another file or loads code' : sqliteFault(script);
}
