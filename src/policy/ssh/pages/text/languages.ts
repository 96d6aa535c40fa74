/**
 * Filters that are small languages: of each only what prints lines, columns and values of its input, or of the same files as `cat`. A
 * program is cut into tokens, one letter each, and the letters must fit a short pattern; a pattern over the text itself took V8 half a second.
 */
import { splitNames } from '#kernel/text/text';
import { anyNumber, atMostOne, kind } from '../../kinds.ts';
import type { Kind, Pages } from '../../page.ts';
import { readableFile } from '../../places.ts';

const files = anyNumber(readableFile, 8);

/** What a token looks like (sticky), and its letter, which may depend on the text and on the letters before it. */
type Token = readonly [look: RegExp, letter: string | ((text: string) => string), unless?: RegExp];

/** The letters of the program; undefined where it holds anything else. Blanks part tokens. */
function lettersOf(program: string, tokens: readonly Token[]): string | undefined {
  let letters = '';
  for (let at = 0; at < program.length; ) {
    if (program.charAt(at) === ' ') {
      at += 1;
      continue;
    }
    const read = tokens
      .filter(([, , unless]) => !unless?.test(letters))
      .map(([look, letter]) => ({ text: textAt(program, at, look), letter }))
      .find(({ text }) => text !== '');
    if (read === undefined) return undefined;
    letters += typeof read.letter === 'string' ? read.letter : read.letter(read.text);
    at += read.text.length;
  }
  return letters;
}

function textAt(program: string, at: number, look: RegExp): string {
  look.lastIndex = at;
  return look.exec(program)?.[0] ?? '';
}

interface Language {
  readonly name: string;
  readonly tokens: readonly Token[];
  /** What letters stand for one part of a program, and the letter of that part; in order. */
  readonly parts?: readonly (readonly [letters: string, part: string])[];
  readonly whole: string;
  readonly refused?: RegExp;
}

function programIn({ name, tokens, parts = [], whole, refused }: Language): Kind {
  const rules = parts.map(([letters, part]): [RegExp, string] => [new RegExp(letters, 'g'), part]);
  const fits = new RegExp(`^(?:${whole})$`);
  const accepts = (program: string) => {
    const letters = program.length > 300 || refused?.test(program) ? undefined : lettersOf(program, tokens);
    return letters !== undefined && fits.test(rules.reduce((text, [look, part]) => text.replace(look, part), letters));
  };
  return { name, accepts };
}

/** SECURITY: none of the names is a function or keyword of an awk, and none is a table such as `ENVIRON` or `ARGV`. */
const awkNames = splitNames(`sum total tot count cnt max min avg used free size seen line last prev name key val arr [a-z]
  NR FNR NF FILENAME O?FS O?RS`);
const awkName = new RegExp(`(?:${awkNames.join('|')})(?!\\w)`, 'y');
/** SECURITY: no width of a thousand, which would burn memory. */
const awkText = /"(?:[^"\\%]|\\[nt"\\]|%(?![^A-Za-z%"]*(?:\d{4}|\*)))*"/y;
/** SECURITY: no `/` but an escaped one, so that every awk ends the pattern where this does. */
const awkPattern = /\/(?:[\w .,:;%^$|()*+?[\]=@#!<>-]|\\[./[\]$^*+?|(){}sSwWdDb-])+\//y;
const awkTokens: readonly Token[] = [
  [/(?:BEGIN|END)(?!\w)/y, 'B'],
  [/print(?!\w)/y, 'p'],
  [/printf(?!\w)/y, 'f'],
  [/for(?!\w)/y, 'W'],
  [/in(?!\w)/y, 'i'],
  [/if(?!\w)/y, 'I'],
  [/(?:next|exit)(?!\w)/y, 'x'],
  [/(?:length|int|substr|tolower|toupper|index) ?(?=\()/y, 'F'],
  [/\$(?:\d{1,2}|NF|\(NF ?- ?\d\))(?!\w)/y, 'v'],
  [awkName, 'v'],
  [/\d{1,12}(?:\.\d{1,6})?(?![\w.])/y, 'n'],
  [awkText, 's'],
  [awkPattern, 'r', /[vns)\]u]$/],
  [/\+\+|--/y, 'u'],
  [/[-+*/]=/y, 'a'],
  [/[=!<>]=|!~|[<>~]/y, 'c'],
  [/=/y, 'a'],
  [/&&|\|\|/y, '&'],
  [/[-+*/%]/y, 'o'],
  [/[{}()[\],;!]/y, (text) => text],
];
const awkSum = 'o?[vns](?:o[vns])*';
/** Only what is printed puts values side by side: nothing that is kept grows by that. */
const awkShown = 'o?[vns](?:o?[vns])*';
/**
 * A small part of awk: tests and sums of fields, tables that count, and what is printed. SECURITY: a `>` is part of a test only, since
 * all values behind `print` are taken with it before tests are looked for; and a loop over a table sets nothing, so tables do not grow.
 */
const printsColumns = programIn({
  name: 'an awk program that only prints columns',
  tokens: awkTokens,
  parts: [
    ['v\\[[vns](?:o?[vns])*\\]', 'v'],
    [`F\\((?:${awkSum}(?:,${awkSum}){0,2})?\\)`, 'n'],
    [`(?<![IW])\\(${awkSum}\\)`, 'n'],
    [`p(?:${awkShown}(?:,${awkShown})*)?|fs(?:,${awkShown})*`, 'P'],
    ['W\\(viv\\)(?:P|\\{P;?\\})', 'P'],
    [`v(?:u|a${awkSum})|uv`, 'A'],
    [`${awkSum}c(?:r|${awkSum})`, 'T'],
    ['!?[Trv]', 'T'],
    ['(?<!I)\\(T(?:&T)*\\)', 'T'],
    ['T(?:&T)+', 'T'],
    ['I\\(T\\)[PAx]', 'P'],
    ['\\{(?:[PAx](?:;[PAx])*;?)?\\}', 'Z'],
    ['!?A', 'T'],
  ],
  whole: '(?:T(?:,T)?Z?|B?Z)(?:;?(?:T(?:,T)?Z|B?Z))*;?',
});

/** Lines by number or pattern (`1,5p`, `/x/d`), and replacements (`s/a/b/g`). SECURITY: none of the letters `w`, `r`, `e` can stand as a command. */
const escaped = '\\\\[./\\[\\]$^*+?|(){}&1-9sSwWbnt-]';
const address = `(?:\\d{1,6}|\\$|/(?:[^/\\\\\\n]|${escaped})+/I?)`;
const delimiters = ['/', '\\|', '#', ','];
const replacements = delimiters.map((mark) => {
  const part = `(?:[^${mark}\\\\\\n]|${escaped})`;
  return `s${mark}${part}+${mark}${part}*${mark}[gpiI\\d]{0,3}`;
});
const place = `${address}(?:,(?:${address}|\\+\\d{1,4}))? ?!?`;
const edit = `(?:${place} ?[pd=]|\\d{1,6}q|(?:${place} ?)?(?:${replacements.join('|')}))`;
const editsLines = kind(
  'lines to print, or a replacement without options that write or run',
  new RegExp(`^(?=.{1,300}$) *${edit}(?: *; *${edit})* *;? *$`),
);

const jqKey = '[A-Za-z_]\\w*';
const jqQuoted = '"[\\w .:/@-]*"';
const jqIndex = `\\[(?:-?\\d{1,6}(?::-?\\d{0,6})?|:-?\\d{1,6}|${jqQuoted})\\]`;
/** `.a.b[0]`, `."key with spaces"`, `.`: one value. */
const jqPath = `\\.(?:${jqKey}|${jqQuoted}|${jqIndex})?(?:\\.${jqKey}|\\.${jqQuoted}|\\.?${jqIndex}|\\?)*`;
/** `.data[].name`: many values. SECURITY: only where it stands alone, since two of them in one expression multiply. */
const jqWalk = `\\.(?:${jqKey}|${jqQuoted}|${jqIndex}|\\[\\])?(?:\\.${jqKey}|\\.${jqQuoted}|\\.?${jqIndex}|\\.?\\[\\]|\\?)*`;
/** SECURITY: none of these reads a file, the environment, or other inputs (`env`, `$ENV`, `input_filename`, `import` and `include` do). */
const jqWords = splitNames(
  `length keys keys_unsorted values add first last sort unique reverse min max not type to_entries from_entries tonumber tostring
  floor round ascii_downcase any all flatten todate`,
);
const jqTokens: readonly Token[] = [
  [new RegExp(`${jqWalk}(?![\\w."[])`, 'y'), (text) => (text.includes('[]') ? 'w' : 'p')],
  // Text, with values put in by `\(.name)`.
  [new RegExp(`"(?:[^"\\\\]|\\\\[nt"]|\\\\\\(${jqPath}(?: ?(?:/ ?\\d{1,12}|\\* ?100))?(?: ?\\| ?(?:floor|round|length))?\\))*"`, 'y'), 's'],
  [/-?\d{1,12}(?:\.\d{1,6})?(?![\w.])/y, 'n', /[psn)]$/],
  [/\d{1,12}(?:\.\d{1,6})?(?![\w.])/y, 'n'],
  [/(?:true|false|null)(?!\w)/y, 'n'],
  [/(?:and|or)(?!\w)/y, 'o'],
  [/select ?\(/y, 'S'],
  [/map ?\(/y, 'M'],
  [new RegExp(`(?:sort|group|unique|min|max)_by\\( ?-?${jqPath}(?: ?, ?-?${jqPath})* ?\\)`, 'y'), 'f'],
  [/(?:startswith|endswith|contains|has|join|split|ltrimstr|rtrimstr)\( ?"[^"\\]*" ?\)/y, 'f'],
  // SECURITY: the pattern of `test` cannot repeat, so it cannot burn time.
  [/test\( ?"[\w .:^$|-]*"(?:; ?"i")? ?\)/y, 'f'],
  [new RegExp(`(?:${jqWords.join('|')}|@[ct]sv|@json)(?![\\w(])`, 'y'), 'f'],
  [new RegExp(`${jqKey}(?= ?[,:}])`, 'y'), 'k'],
  // SECURITY: a text times a number is repeated, so only what percentages and units need.
  [/\* ?(?:100|1000|1024)(?![\d.])/y, 'm'],
  [/[=!<>]=|\/\/|[<>+/-]/y, 'o'],
  [/[|,:()[\]{}]/y, (text) => text],
];
const jqPiped = '\\([psn](?:\\|f)+\\)';
const jqTerm = `(?:[psn]|${jqPiped})`;
const jqSum = `${jqTerm}(?:o${jqTerm}|m)*`;
const jqSelect = `S(?:${jqSum}|f)(?:\\|f)*(?:o${jqSum})?\\)`;
const jqEntry = `(?:[fk](?::(?:${jqSum}|\\(${jqSum}\\)))?|s:${jqSum})`;
const jqObject = `\\{${jqEntry}(?:,${jqEntry})*\\}`;
const jqList = `\\[${jqSum}(?:,${jqSum})*\\]`;
const jqShape = `(?:${jqObject}|${jqList}|s|${jqSum}(?:,${jqSum})+)`;
const jqStep = `(?:${jqSelect}|M(?:${jqSelect}|f|${jqSum}|${jqObject})\\)|f|w|${jqSum})`;
const jqCollected = `\\[w(?:\\|${jqStep})*(?:\\|${jqShape})?\\]`;
/** Steps with `|` between them. SECURITY: what makes more of a value stands once, at the end: nothing grows by powers. */
const picksValues = programIn({
  name: 'a `jq` filter that only picks and prints values',
  tokens: jqTokens,
  whole: `(?:(?:${jqCollected}|${jqStep})(?:\\|${jqStep})*(?:\\|${jqShape})?|${jqShape})(?:\\|f)*`,
  refused: /\.\.|(?:tostring|@|join|add|\*).*\*|(?:\+.*){4}/,
});

export const languages: Pages = {
  awk: {
    why: 'prints columns and sums; only comparisons, sums and `print`, so nothing runs and no file is named',
    options: { '-F': kind('a separator', /^(?:.{1,3}|[\w :,;|/=.()[\]+-]{1,40})$/) },
    operands: [printsColumns, files],
    filter: true,
    match: String.raw`ss -tln | awk 'NR==1 || /0\.0\.0\.0:/'  df -h | awk '{print $5, $6}'  df | awk 'NR>1 {print $1}'  df -P | awk '$5+0 > 80 {print $6, $5}'
      qm list | awk 'NR>1 && $3 == "stopped" {print $1":"$2}'  ps aux | awk '$3 > 5.0 {print $2}'  qm list | awk '/running/ {print $1}'
      free -m | awk '/^Mem/ {print $3/$2*100}'  ps aux | awk '{sum+=$6} END {print sum/1024}'  df | awk 'NR>1 {printf "%s %s\n", $1, $5}'
      uptime | awk -F'load average:' '{print $2}'  awk '/^c_max/ {print $1, $3/1024/1024}' /proc/spl/kstat/zfs/arcstats  cat /etc/hosts | awk NF
      ps aux | awk '{n[$1]++} END {for (k in n) print n[k], k}'  ps aux | awk '!seen[$11]++'
      qm list | awk 'BEGIN {OFS=","} ($4 > 100 || $3 ~ /run/) {print $1, int($4/1024)}'`,
    notMatch: `df | awk '{print > "/etc/motd"}'  df | awk 'BEGIN{system("id")}'  df | awk '{print}' /etc/shadow  df | awk -f x
      df | awk '{getline x < "/etc/shadow"}'  df | awk '{print | "sh"}'  df | awk '{print "id" | "sh"}'  df | awk '{print $1 > "x"}'
      df | awk '{print $1""> "x"}'  df | awk '{print "id"|"sh"}'  df | awk '{printf "%s", $1 >> "x"}'  df | awk 'END {"id" | getline}'
      df | awk '{print ENVIRON[1]}'  df | awk '{while(1) n++}'  awk '{print $1}'  awk '{print $1}' /etc/shadow  awk '{print}' x=1 /etc/hosts
      awk 1 /etc/hosts  df | awk '{ARGV[1]="/etc/shadow"}'  df | awk '{printf "%99999d", 1}'  df | awk '{for (k in a) a[k k]++}'  df | awk '{s = s s}'`,
  },
  sed: {
    why: 'prints or replaces lines; no command that writes, reads or runs fits',
    flags: '-nEr --quiet --silent --regexp-extended',
    options: { '-e --expression': editsLines },
    operands: ({ has }) => (has('-e', '--expression') ? [files] : [editsLines, files]),
    filter: true,
    match: String.raw`apt list | sed 's/Listing\.\.\.//'  df -h | sed -n '1,5p'  df | sed '1d'  qm list | sed 's/running/up/g'
      journalctl -n 50 | sed -n '/error/p'  df | sed 3q  sed -n '1,40p' /etc/network/interfaces  sed -e '/^#/d' -e '/^$/d' /etc/ssh/sshd_config
      sed -n '/vmbr0/,/^$/p' /etc/network/interfaces  df | sed '$!d;s/ *$//'`,
    notMatch: `df | sed -n 'w /etc/motd'  df | sed '1e id'  df | sed 's/a/b/e'  df | sed 's/a/b/w x'  df | sed -i 's/a/b/' /etc/hosts
      df | sed '1r /etc/shadow'  df | sed -n '1p' /etc/shadow  df | sed -f x  df | sed 's/a/b/;e id'  df | sed 'p;w x'  sed -n '1p'  sed 1d /etc/shadow
      df | sed -e 1d -e 'w x'  df | sed 's/a/b/;w x'  df | sed '1{p;w x'`,
  },
  jq: {
    why: 'picks values out of JSON; the filter names no file, no variable and no module',
    flags: '-rcSMCsej --raw-output --compact-output --sort-keys --monochrome-output --color-output --slurp --exit-status',
    operands: [atMostOne(picksValues), files],
    filter: true,
    match: String.raw`pvesh get /version --output-format json | jq .  pvesh get /version --output-format json | jq -r .version  lsblk -J | jq
      lsblk -J | jq '.blockdevices[0:10]'  lsblk -J | jq -r '.blockdevices[].name'
      pvesh get /nodes --output-format json | jq -r '.[] | select(.status == "online") | .node'
      pvesh get /nodes --output-format json | jq -r '.[] | "\(.node) \(.status)"'
      pvesh get /nodes --output-format json | jq -c '.[] | {node, load: .cpu}'
      pvesh get /nodes --output-format json | jq -r '.[] | [.node, .mem] | @tsv'
      pvesh get /nodes --output-format json | jq '[.[] | select(.cpu > 0.5)] | length'  pvesh get /nodes --output-format json | jq 'map(.mem) | add'
      jq . /etc/pve/.members  pvesh get /nodes --output-format json | jq -r '.[] | select(.status == "online" and (.node | startswith("pve"))) | .node'
      lsblk -J | jq '.blockdevices | sort_by(.size) | .[-3:] | map({name, size})'`,
    notMatch: String.raw`jq .  lsblk -J | jq . /etc/shadow  lsblk -J | jq env  lsblk -J | jq '. | env'  lsblk -J | jq '$ENV.HOME'  lsblk -J | jq '"\(env)"'
      lsblk -J | jq input_filename  lsblk -J | jq 'import "x" as x; .'  lsblk -J | jq 'include "x"; .'  lsblk -J | jq -f /etc/shadow
      lsblk -J | jq -n input  lsblk -J | jq -L /root .  lsblk -J | jq --rawfile a /etc/shadow '$a'  lsblk -J | jq --slurpfile a /etc/x '$a'
      lsblk -J | jq 'range(1000000000)'  lsblk -J | jq 'repeat(.)'  lsblk -J | jq '.name * 1000000'  lsblk -J | jq '. * 1000 | . * 1000'
      lsblk -J | jq -s 'tostring | . * 1000'  lsblk -J | jq '.[] + .[]'  lsblk -J | jq '"\(.[])\(.[])"'  lsblk -J | jq '[.,.,.] | [.,.,.] | [.,.,.]'
      lsblk -J | jq '. + . + . + . + .'  lsblk -J | jq 'test("(a+)+$")'  lsblk -J | jq '..'  lsblk -J | jq -r .a --args x`,
  },
};
