/** `env | grep '^NODE_ENV='`: of the variables of the environment only names, or plainly named ones, are printed. */
import { isSecretVariable } from './secret-variables.ts';

/** Whether the words of the commands behind a list of all variables leave out what could be a secret. */
export function hidesSecrets(filters: readonly (readonly string[] | undefined)[]): boolean {
  for (const filter of filters) {
    if (filter === undefined) return false;
    const [program = '', ...args] = filter;
    if (keepsNames(program, args) || choosesPlain(program, args)) return true;
    // What passes everything on is no filter, but the next may be.
    if (!(program === 'sort' && args.every((arg) => /^-[ruf]+$/.test(arg)))) return false;
  }
  return false;
}

/** `cut -d= -f1` and what else leaves only the names; `wc -l`, which counts them. */
function keepsNames(program: string, args: readonly string[]): boolean {
  const words = args.join(' ');
  switch (program) {
    case 'cut':
      return /^(?:-d ?=|-d '='|--delimiter==) ?-f ?1$/.test(words) || /^-f ?1 -d ?=$/.test(words);
    case 'sed':
      return /^(?:-E |-e )?s\/=\.\*\$?\/\/g?$/.test(words);
    case 'awk':
      return /^-F ?=? ?=? ?\{ ?print \$1;? ?\}$/.test(words);
    case 'wc':
      return words === '-l';
    default:
      return false;
  }
}

const secretPart =
  /tok|sec|pass|pw|key|cred|auth|api|pat$|priv|cert|sign|salt|sess|cookie|dsn|conn|url|uri|aws|azure|gcp|google|github|^gh|gitlab|npm_?$|git/i;

/** A pattern that names some variables whose names are not those of secrets. */
function choosesPlain(program: string, args: readonly string[]): boolean {
  if (!/^[ef]?grep$|^rg$/.test(program)) return false;
  const patterns = args.filter((arg) => !arg.startsWith('-'));
  const plainOptions = args.every((arg) => !arg.startsWith('-') || /^-[EFicqwn]+$/.test(arg) || arg === '-e');
  const [pattern = '', ...more] = patterns;
  if (!plainOptions || more.length > 0) return false;
  // Only how many there are, or whether.
  if (args.some((arg) => /^-[a-zA-Z]*[cq]/.test(arg))) return true;
  const [, start, group, single, end] = /^(\^?)(?:\\?\(([^()]*?)\\?\)|([^()]*?))(=?)$/.exec(pattern) ?? [];
  return (group ?? single ?? '').split(/\\?\|/).every((choice) => {
    const [, first, name = '', last] = /^(\^?)([A-Za-z_]\w*)(=?)$/.exec(choice) ?? [];
    const isWhole = (start || first) && (end || last);
    return (name.length > 2 || (name !== '' && isWhole)) && !isSecretVariable(name) && !secretPart.test(name);
  });
}
