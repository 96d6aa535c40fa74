/** Parameter expansion (POSIX §2.6.2) of variables whose texts are known: cutting file names and defaults. */
import type { VariableValue } from './variable-value.ts';

type Lookup = (name: string) => VariableValue | 'unknown' | 'unset';

const parameter = /^\$(?:([A-Za-z_]\w*|[?#$]|\d)|\{([A-Za-z_]\w*|[?#$]|\d)(?:\[(-?\d+)\])?(?:(%%?|##?|:?-)([^{}$`"'\\]*))?\})$/;
/** Variables that the shell or whoever starts it gives a value. */
const given =
  /^(?:HOME|PATH|PWD|OLDPWD|USER|LOGNAME|SHELL|TMPDIR|TERM|LANG|LC_\w+|HOSTNAME|HOSTTYPE|OSTYPE|MACHTYPE|UID|EUID|PPID|RANDOM|SECONDS|LINENO|BASH\w*|IFS|OPTARG|OPTIND|REPLY|SHLVL|XDG_\w+)$/;

/** What `$NAME` or `${NAME…}` becomes; undefined when the text does not tell. */
export function expandParameter(text: string, lookup: Lookup): VariableValue | undefined {
  const match = parameter.exec(text);
  if (match === null) return undefined;
  const [, short, braced = '', index, operator, rest = ''] = match;
  const name = short ?? braced;
  const known = elementOf(lookup(name), index);
  if (known === 'unset') return operator?.endsWith('-') ? byDefault(name, rest) : undefined;
  return known === 'unknown' || operator === undefined ? asKnown(known) : changed(known, operator, rest);
}

/** Of an array; where it may have fewer elements also nothing. */
function elementOf(known: VariableValue | 'unknown' | 'unset', index: string | undefined): VariableValue | 'unknown' | 'unset' {
  if (index === undefined || typeof known === 'string') return known;
  const { list } = known;
  const isCounted = list?.every((word) => !word.glob && !/[$`]/.test(word.source) && word.values !== undefined) ?? false;
  const values = isCounted && !known.values.includes('') ? list?.at(Number(index))?.values : undefined;
  return { ...known, values: values ?? [...known.values, ''] };
}

function asKnown(known: VariableValue | 'unknown'): VariableValue | undefined {
  return known === 'unknown' ? undefined : known;
}

function changed(known: VariableValue, operator: string, rest: string): VariableValue | undefined {
  if (operator === '-') return { ...known, values: [...known.values, rest] };
  if (operator === ':-') return { values: [...known.values.filter((value) => value !== ''), rest], glob: known.glob };
  const values = known.values.map((value) => cut(value, operator, rest));
  return values.every((value) => value !== undefined) ? { ...known, values } : undefined;
}

/** What runs commands hands on no variables of its own, so one that nothing assigns is unset. */
function byDefault(name: string, text: string): VariableValue | undefined {
  return given.test(name) || /[*?[~]/.test(text) ? undefined : { values: [text], glob: false };
}

/** With a plain text or one `*` at the open end: what cutting extensions and directories needs. */
function cut(value: string, operator: string, pattern: string): string | undefined {
  if (/[?[\]]/.test(pattern)) return undefined;
  return operator.startsWith('%') ? cutEnd(value, operator, pattern) : cutStart(value, operator, pattern);
}

function cutEnd(value: string, operator: string, pattern: string): string | undefined {
  if (!pattern.includes('*')) return value.endsWith(pattern) ? value.slice(0, value.length - pattern.length) : value;
  const stem = pattern.slice(0, -1);
  if (!pattern.endsWith('*') || stem.includes('*') || stem === '') return undefined;
  const at = operator === '%' ? value.lastIndexOf(stem) : value.indexOf(stem);
  return at < 0 ? value : value.slice(0, at);
}

function cutStart(value: string, operator: string, pattern: string): string | undefined {
  if (!pattern.includes('*')) return value.startsWith(pattern) ? value.slice(pattern.length) : value;
  const stem = pattern.slice(1);
  if (!pattern.startsWith('*') || stem.includes('*') || stem === '') return undefined;
  const at = operator === '#' ? value.indexOf(stem) : value.lastIndexOf(stem);
  return at < 0 ? value : value.slice(at + stem.length);
}
