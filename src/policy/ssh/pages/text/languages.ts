/** Filters that are small languages: of each only what prints lines, columns and values of standard input. */
import { atMostOne, kind, some } from '../../kinds.ts';
import { flag, type Page } from '../../page.ts';

const number = '\\d{1,9}(?:\\.\\d{1,3})?';
/** A column, or a total that the program keeps. SECURITY: none of these names is a function of awk. */
const field = '(?:\\$(?:\\d{1,2}|NF|\\(NF-\\d\\))|NR|NF|sum|total|count|max|min|[snct])';
const text = '"(?:[^"\\\\]|\\\\[nt]){0,40}"';
/** SECURITY: no `/` but an escaped one, so that every awk ends the pattern where this does. */
const pattern = '/(?:[\\w .,:;%^$|()*+?\\[\\]=@#-]|\\\\[./\\[\\]$^*+?|(){}sSwWdDb-]){1,120}/';
const test = `(?:${field}(?: ?\\+ ?0)? ?(?:[<>=!]=|[<>]) ?(?:${number}|${text})|(?:${field} ?!?~ ?)?${pattern})`;
const value = `(?:${field}(?: ?[-+*/%] ?(?:${field}|${number})){0,3}|${text}|${number})`;
/** A comma, a blank, or the quote mark of a text that is put next to a value. */
const between = '(?: *, *| +|(?=")|(?<="))';
const statement = `(?:printf?(?: *${value}(?:${between}${value}){0,12})?|(?:sum|total|count|max|min|[snct]) ?(?:\\+\\+|\\+?= ?${value}))`;
const block = `\\{ *${statement}(?: *; *${statement}){0,3} *;? *\\}`;
const clause = `(?:${test}(?: ?(?:&&|\\|\\|) ?${test}){0,3} *(?:${block})?|${block}|END *${block})`;
/** A small part of awk: tests of fields, sums of them, and what is printed. */
const printsColumns = kind('an awk program that only prints columns', new RegExp(`^(?=.{0,200}$) *${clause}(?: *;? *${clause}){0,2} *$`));

/** Lines by number or pattern (`1,5p`, `/x/d`), and a replacement (`s/a/b/g`). SECURITY: none of the letters `w`, `r`, `e` can stand as a command. */
const escaped = '\\\\[./\\[\\]$^*+?|(){}&1-9sSwWbn-]';
const address = `(?:\\d{1,6}|\\$|/(?:[^/\\\\\\n]|${escaped}){1,60}/)`;
const part = `(?:(?!\\1)[^\\\\\\n]|${escaped})`;
const editsLines = kind(
  'lines to print, or a replacement without options that write or run',
  new RegExp(`^(?:${address}(?:,${address})?[pd]|\\d{1,6}q|s([/|#,])${part}{1,60}\\1${part}{0,60}\\1g?)$`),
);

const key = '[A-Za-z_]\\w{0,40}';
const jqIndex = '(?:-?\\d{1,6}(?::-?\\d{0,6})?|:-?\\d{1,6}|"[\\w .:/-]{1,40}")';
/** `.a.b[0]`, `."key with spaces"`, `.`: one value. */
const jqPath = `\\.(?:${key}|"[\\w .:/-]{1,40}"|\\[${jqIndex}\\])?(?:\\.${key}|\\.?\\[${jqIndex}\\]|\\?){0,8}`;
/** `.data[].name`: many values. SECURITY: only where it stands alone, since two of them in one expression multiply. */
const walk = `\\.(?:${key}|"[\\w .:/-]{1,40}"|\\[${jqIndex}?\\])?(?:\\.${key}|\\.?\\[${jqIndex}?\\]|\\?){0,8}`;
/** Text, with values put in by `\(.name)`. */
const jqText = `"(?:[^"\\\\]|\\\\[nt]|\\\\\\(${jqPath}\\)){0,80}"`;
const literal = '(?:"[^"\\\\]{0,60}"|-?\\d{1,12}(?:\\.\\d{1,6})?|true|false|null)';
const plain = `(?:${jqPath}|${literal})`;
/** SECURITY: none of these reads a file, the environment, or other inputs (`env`, `$ENV`, `input_filename`, `import` and `include` do). */
const word = '(?:length|keys|add|first|last|sort|unique|reverse|min|max|not|type|to_entries|tonumber|tostring|floor|round|@[ct]sv|@json)';
/** SECURITY: a text times a number is repeated, so only what percentages and units need. */
const sum = `${plain}(?: ?(?:(?:[=!<>]=|[<>+/-]|//|and|or) ?${plain}|\\* ?(?:100|1000|1024)(?!\\d))){0,6}`;
/** SECURITY: the pattern of `test` cannot repeat, so it cannot burn time. */
const search = '(?:(?:startswith|endswith|contains|has|join)\\("[^"\\\\]{0,60}"\\)|test\\("[\\w .:^$|-]{1,40}"(?:; ?"i")?\\))';
const select = `select\\((?:${jqPath} ?\\| ?)?(?:${sum}|${search}|${word})(?: ?\\| ?not)?\\)`;
const call = `(?:${select}|map\\((?:${select}|${word}|${sum})\\)|(?:sort|group|unique|min|max)_by\\(-?${jqPath}\\)|${search})`;
const entry = `${key}(?: ?: ?(?:${sum}|\\(${sum}\\)))?`;
const object = `\\{ ?${entry}(?: ?, ?${entry}){0,12} ?\\}`;
const list = `\\[ ?${sum}(?: ?, ?${sum}){0,12} ?\\]`;
const shape = `(?:${object}|${list}|${jqText}|${sum}(?: ?, ?${sum}){1,8})`;
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

export const languages: readonly Page[] = [
  {
    names: ['awk'],
    why: 'prints columns and sums of standard input; only comparisons, sums and `print`, so nothing runs and no file is named',
    options: { '-F': kind('a separator', /^(?:.{1,3}|[\w :,;|/=.()[\]+-]{1,40})$/) },
    operands: [some(printsColumns, 1)],
    filter: true,
    match: String.raw`ss -tln | awk 'NR==1 || /0\.0\.0\.0:/'  df -h | awk '{print $5, $6}'  df | awk 'NR>1 {print $1}'  df -P | awk '$5+0 > 80 {print $6, $5}'
      qm list | awk 'NR>1 && $3 == "stopped" {print $1":"$2}'  ps aux | awk '$3 > 5.0 {print $2}'
      qm list | awk '/running/ {print $1}'  free -m | awk '/^Mem/ {print $3/$2*100}'
      ps aux | awk '{sum+=$6} END {print sum/1024}'  df | awk 'NR>1 {printf "%s %s\n", $1, $5}'
      uptime | awk -F'load average:' '{print $2}'`,
    notMatch: `df | awk '{print > "/etc/motd"}'  df | awk 'BEGIN{system("id")}'  df | awk '{print}' /etc/shadow  df | awk -f x
      df | awk '{getline x < "/etc/shadow"}'  df | awk '{print | "sh"}'  df | awk '{print "id" | "sh"}'
      df | awk '{print $1 > "x"}'  df | awk '{print $1""> "x"}'  df | awk '{print "id"|"sh"}'
      df | awk '{printf "%s", $1 >> "x"}'  df | awk 'END {"id" | getline}'  df | awk '{print ENVIRON[1]}'
      df | awk '{while(1) n++}'  awk '{print $1}'`,
  },
  {
    names: ['sed'],
    why: 'prints or replaces lines of standard input; no command that writes, reads or runs fits',
    options: { '-nEr': flag },
    operands: [some(editsLines, 1)],
    filter: true,
    match: String.raw`apt list | sed 's/Listing\.\.\.//'  df -h | sed -n '1,5p'  df | sed '1d'  qm list | sed 's/running/up/g'  journalctl -n 50 | sed -n '/error/p'
      df | sed 3q`,
    notMatch: `df | sed -n 'w /etc/motd'  df | sed '1e id'  df | sed 's/a/b/e'  df | sed 's/a/b/w x'  df | sed -i 's/a/b/' /etc/hosts
      df | sed '1r /etc/shadow'  df | sed -n '1p' /etc/shadow  df | sed -f x  df | sed 's/a/b/;e id'  df | sed 'p;w x'
      sed -n '1p'  df | sed -e '1p'`,
  },
  {
    names: ['jq'],
    why: 'picks values out of JSON on standard input; the filter names no file, no variable and no module',
    options: { '-rcSMCsej --raw-output --compact-output --sort-keys --monochrome-output --color-output --slurp --exit-status': flag },
    operands: [atMostOne(picksValues)],
    filter: true,
    match: String.raw`pvesh get /version --output-format json | jq .  pvesh get /version --output-format json | jq -r .version
      lsblk -J | jq  lsblk -J | jq '.blockdevices[0:10]'  lsblk -J | jq -r '.blockdevices[].name'
      pvesh get /nodes --output-format json | jq -r '.[] | select(.status == "online") | .node'
      pvesh get /nodes --output-format json | jq -r '.[] | "\(.node) \(.status)"'
      pvesh get /nodes --output-format json | jq -c '.[] | {node, load: .cpu}'
      pvesh get /nodes --output-format json | jq -r '.[] | [.node, .mem] | @tsv'
      pvesh get /nodes --output-format json | jq '[.[] | select(.cpu > 0.5)] | length'
      pvesh get /nodes --output-format json | jq 'map(.mem) | add'`,
    notMatch: String.raw`jq .  lsblk -J | jq . /etc/shadow  lsblk -J | jq env  lsblk -J | jq '. | env'  lsblk -J | jq '$ENV.HOME'
      lsblk -J | jq '"\(env)"'  lsblk -J | jq input_filename  lsblk -J | jq 'import "x" as x; .'
      lsblk -J | jq 'include "x"; .'  lsblk -J | jq -f /etc/shadow  lsblk -J | jq -n input  lsblk -J | jq -L /root .
      lsblk -J | jq --rawfile a /etc/shadow '$a'  lsblk -J | jq --slurpfile a /etc/x '$a'  lsblk -J | jq 'range(1000000000)'
      lsblk -J | jq 'repeat(.)'  lsblk -J | jq '.name * 1000000'  lsblk -J | jq '. * 1000 | . * 1000'
      lsblk -J | jq -s 'tostring | . * 1000'  lsblk -J | jq '.[] + .[]'  lsblk -J | jq '"\(.[])\(.[])"'
      lsblk -J | jq '[.,.,.] | [.,.,.] | [.,.,.]'  lsblk -J | jq '. + . + . + . + .'  lsblk -J | jq 'test("(a+)+$")'
      lsblk -J | jq '..'  lsblk -J | jq -r .a --args x`,
  },
];
