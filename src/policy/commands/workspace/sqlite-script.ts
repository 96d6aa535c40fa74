/** Reads what `sqlite3` is told in its words far enough to see whether it runs a program or names another file. */

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
