/** `jq` behind `|`: the part of its language that picks, counts and prints values of standard input. */
import type { ProgramRule } from '../../program-rule.ts';
import { kind } from '../../value-kinds.ts';

const key = '[A-Za-z_]\\w{0,40}';
const index = '(?:-?\\d{1,6}|"[\\w .:/-]{1,40}")';
/** `.a.b[0]`, `."key with spaces"`, `.`: one value. */
const path = `\\.(?:${key}|"[\\w .:/-]{1,40}"|\\[${index}\\])?(?:\\.${key}|\\.?\\[${index}\\]|\\?){0,8}`;
/** `.data[].name`: many values. SECURITY: only where it stands alone, since two of them in one expression multiply. */
const walk = `\\.(?:${key}|"[\\w .:/-]{1,40}"|\\[${index}?\\])?(?:\\.${key}|\\.?\\[${index}?\\]|\\?){0,8}`;
/** Text, with values put in by `\(.name)`. */
const text = `"(?:[^"\\\\]|\\\\[nt]|\\\\\\(${path}\\)){0,80}"`;
const literal = '(?:"[^"\\\\]{0,60}"|-?\\d{1,12}(?:\\.\\d{1,6})?|true|false|null)';
const plain = `(?:${path}|${literal})`;
/** SECURITY: none of these reads a file, the environment, or other inputs (`env`, `$ENV`, `input_filename`, `import` and `include` do). */
const word = '(?:length|keys|add|first|last|sort|unique|reverse|min|max|not|type|to_entries|tonumber|tostring|floor|round|@[ct]sv|@json)';
/** SECURITY: a text times a number is repeated, so only what percentages and units need. */
const sum = `${plain}(?: ?(?:(?:[=!<>]=|[<>+/-]|//|and|or) ?${plain}|\\* ?(?:100|1000|1024)(?!\\d))){0,6}`;
/** SECURITY: the pattern of `test` cannot repeat, so it cannot burn time. */
const search = '(?:(?:startswith|endswith|contains|has|join)\\("[^"\\\\]{0,60}"\\)|test\\("[\\w .:^$|-]{1,40}"(?:; ?"i")?\\))';
const select = `select\\((?:${path} ?\\| ?)?(?:${sum}|${search}|${word})(?: ?\\| ?not)?\\)`;
const call = `(?:${select}|map\\((?:${select}|${word}|${sum})\\)|(?:sort|group|unique|min|max)_by\\(-?${path}\\)|${search})`;
const entry = `${key}(?: ?: ?(?:${sum}|\\(${sum}\\)))?`;
const object = `\\{ ?${entry}(?: ?, ?${entry}){0,12} ?\\}`;
const list = `\\[ ?${sum}(?: ?, ?${sum}){0,12} ?\\]`;
const shape = `(?:${object}|${list}|${text}|${sum}(?: ?, ?${sum}){1,8})`;
const step = `(?:${call}|${word}|${walk}|${sum})`;
const collected = `\\[ ?${walk}(?: ?\\| ?${step}){0,2}(?: ?\\| ?${shape})? ?\\]`;
/** SECURITY: what makes more of a value stands once (`shape`) or seldom (`+`, `*`): nothing grows by powers. */
const bounded = '(?=.{0,200}$)(?!.*\\.\\.)(?!.*(?:tostring|@|join|add|\\*).*\\*)(?!(?:.*\\+){4})';
/** Steps with `|` between them. */
const picksValues = kind(
  'a `jq` filter that only picks and prints values',
  new RegExp(
    `^${bounded} ?(?:${collected}|${step})(?: ?\\| ?${step}){0,5}(?: ?\\| ?${shape})?(?: ?\\| ?(?:${word}|${search})){0,2} ?$|^${bounded} ?${shape}(?: ?\\| ?(?:${word}|${search})){0,2} ?$`,
  ),
);

export const jsonRule: ProgramRule = {
  id: 'ssh.jq',
  program: 'jq',
  flags: 'rcSMCsej',
  longs: {
    '--raw-output': null,
    '--compact-output': null,
    '--sort-keys': null,
    '--monochrome-output': null,
    '--color-output': null,
    '--slurp': null,
    '--exit-status': null,
  },
  operands: { kind: picksValues, max: 1 },
  role: 'filter',
  justification: 'picks values out of JSON on standard input; the filter names no file, no variable and no module',
  match: [
    'pvesh get /version --output-format json | jq .',
    'pvesh get /version --output-format json | jq -r .version',
    'lsblk -J | jq',
    "lsblk -J | jq -r '.blockdevices[].name'",
    'pvesh get /nodes --output-format json | jq -r \'.[] | select(.status == "online") | .node\'',
    'pvesh get /nodes --output-format json | jq -r \'.[] | "\\(.node) \\(.status)"\'',
    "pvesh get /nodes --output-format json | jq -c '.[] | {node, load: .cpu}'",
    "pvesh get /nodes --output-format json | jq -r '.[] | [.node, .mem] | @tsv'",
    "pvesh get /nodes --output-format json | jq '[.[] | select(.cpu > 0.5)] | length'",
    "pvesh get /nodes --output-format json | jq 'map(.mem) | add'",
  ],
  notMatch: [
    'jq .',
    'lsblk -J | jq . /etc/shadow',
    'lsblk -J | jq env',
    "lsblk -J | jq '. | env'",
    "lsblk -J | jq '$ENV.HOME'",
    'lsblk -J | jq \'"\\(env)"\'',
    'lsblk -J | jq input_filename',
    'lsblk -J | jq \'import "x" as x; .\'',
    'lsblk -J | jq \'include "x"; .\'',
    'lsblk -J | jq -f /etc/shadow',
    'lsblk -J | jq -n input',
    'lsblk -J | jq -L /root .',
    "lsblk -J | jq --rawfile a /etc/shadow '$a'",
    "lsblk -J | jq --slurpfile a /etc/x '$a'",
    "lsblk -J | jq 'range(1000000000)'",
    "lsblk -J | jq 'repeat(.)'",
    "lsblk -J | jq '.name * 1000000'",
    "lsblk -J | jq '. * 1000 | . * 1000'",
    "lsblk -J | jq -s 'tostring | . * 1000'",
    "lsblk -J | jq '.[] + .[]'",
    'lsblk -J | jq \'"\\(.[])\\(.[])"\'',
    "lsblk -J | jq '[.,.,.] | [.,.,.] | [.,.,.]'",
    "lsblk -J | jq '. + . + . + . + .'",
    'lsblk -J | jq \'test("(a+)+$")\'',
    "lsblk -J | jq '..'",
    'lsblk -J | jq -r .a --args x',
  ],
};
