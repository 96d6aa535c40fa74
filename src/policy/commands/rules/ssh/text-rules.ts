/** Filters behind `|` that are small languages: of each only what prints lines and columns of standard input. */
import type { ProgramRule } from '../../program-rule.ts';
import { kind, wholeNumber } from '../../value-kinds.ts';
import { jsonRule } from './json-rule.ts';

const number = '\\d{1,9}(?:\\.\\d{1,3})?';
/** A column, or a total that the program keeps. SECURITY: none of these names is a function of awk. */
const field = '(?:\\$(?:\\d{1,2}|NF|\\(NF-\\d\\))|NR|NF|sum|total|count|max|min|[snct])';
const text = '"(?:[^"\\\\]|\\\\[nt]){0,40}"';
const pattern = '/[\\w .:%^$|()*+?\\[\\]-]{1,40}/';
const test = `(?:${field}(?: ?\\+ ?0)? ?(?:[<>=!]=|[<>]) ?(?:${number}|${text})|(?:${field} ?!?~ ?)?${pattern})`;
const value = `(?:${field}(?: ?[-+*/%] ?(?:${field}|${number})){0,3}|${text}|${number})`;
/** A comma, a blank, or the quote mark of a text that is put next to a value. */
const between = '(?: *, *| +|(?=")|(?<="))';
const statement = `(?:printf?(?: *${value}(?:${between}${value}){0,12})?|(?:sum|total|count|max|min|[snct]) ?(?:\\+\\+|\\+?= ?${value}))`;
const block = `\\{ *${statement}(?: *; *${statement}){0,3} *;? *\\}`;
const clause = `(?:${test}(?: ?(?:&&|\\|\\|) ?${test}){0,3} *(?:${block})?|${block}|END *${block})`;
/** A small part of awk: tests of fields, sums of them, and what is printed. */
const printsColumns = kind('an awk program that only prints columns', new RegExp(`^(?=.{0,120}$) *${clause}(?: *;? *${clause}){0,2} *$`));

/** Lines by number or pattern (`1,5p`, `/x/d`), and a replacement (`s/a/b/g`). SECURITY: none of the letters `w`, `r`, `e` can stand as a command. */
const editsLines = kind(
  'lines to print, or a replacement without options that write or run',
  /^(?:(?:\d{1,6}|\$|\/[^/\\\n]{1,60}\/)(?:,(?:\d{1,6}|\$|\/[^/\\\n]{1,60}\/))?[pd]|\d{1,6}q|s([/|#,])(?:(?!\1)[^\\\n]){1,60}\1(?:(?!\1)[^\\\n]){0,60}\1g?)$/,
);

export const textRules: readonly ProgramRule[] = [
  jsonRule,
  {
    id: 'ssh.awk',
    program: 'awk',
    values: { F: kind('a separator', /^(?:.{1,3}|[\w :,;|/=.()[\]+-]{1,40})$/) },
    operands: { kind: printsColumns, min: 1, max: 1 },
    role: 'filter',
    justification: 'prints columns and sums of standard input; only comparisons, sums and `print`, so nothing runs and no file is named',
    match: [
      "df -h | awk '{print $5, $6}'",
      "df | awk 'NR>1 {print $1}'",
      "df -P | awk '$5+0 > 80 {print $6, $5}'",
      'qm list | awk \'NR>1 && $3 == "stopped" {print $1":"$2}\'',
      "ps aux | awk '$3 > 5.0 {print $2}'",
      "qm list | awk '/running/ {print $1}'",
      "free -m | awk '/^Mem/ {print $3/$2*100}'",
      "ps aux | awk '{sum+=$6} END {print sum/1024}'",
      'df | awk \'NR>1 {printf "%s %s\\n", $1, $5}\'',
      "uptime | awk -F'load average:' '{print $2}'",
    ],
    notMatch: [
      'df | awk \'{print > "/etc/motd"}\'',
      'df | awk \'BEGIN{system("id")}\'',
      "df | awk '{print}' /etc/shadow",
      'df | awk -f x',
      'df | awk \'{getline x < "/etc/shadow"}\'',
      'df | awk \'{print | "sh"}\'',
      'df | awk \'{print "id" | "sh"}\'',
      'df | awk \'{print $1 > "x"}\'',
      'df | awk \'{print $1""> "x"}\'',
      'df | awk \'{print "id"|"sh"}\'',
      'df | awk \'{printf "%s", $1 >> "x"}\'',
      'df | awk \'END {"id" | getline}\'',
      "df | awk '{print ENVIRON[1]}'",
      "df | awk '{while(1) n++}'",
      "awk '{print $1}'",
    ],
  },
  {
    id: 'ssh.sed',
    program: 'sed',
    flags: 'nE',
    operands: { kind: editsLines, min: 1, max: 1 },
    role: 'filter',
    justification: 'prints or replaces lines of standard input; no command that writes, reads or runs fits',
    match: [
      "df -h | sed -n '1,5p'",
      "df | sed '1d'",
      "qm list | sed 's/running/up/g'",
      "journalctl -n 50 | sed -n '/error/p'",
      'df | sed 3q',
    ],
    notMatch: [
      "df | sed -n 'w /etc/motd'",
      "df | sed '1e id'",
      "df | sed 's/a/b/e'",
      "df | sed 's/a/b/w x'",
      "df | sed -i 's/a/b/' /etc/hosts",
      "df | sed '1r /etc/shadow'",
      "df | sed -n '1p' /etc/shadow",
      'df | sed -f x',
      "df | sed 's/a/b/;e id'",
      "df | sed 'p;w x'",
      "sed -n '1p'",
      "df | sed -e '1p'",
    ],
  },
  ...(['nl', 'tac', 'rev'] as const).map(
    (program): ProgramRule => ({
      id: `ssh.${program}`,
      program,
      role: 'filter',
      justification: 'prints standard input with numbers, or turned round',
      match: [`df -h | ${program}`],
      notMatch: [program, `df | ${program} /etc/shadow`, `df | ${program} -x`],
    }),
  ),
  {
    id: 'ssh.fold',
    program: 'fold',
    flags: 's',
    values: { w: wholeNumber },
    role: 'filter',
    justification: 'breaks long lines of standard input',
    match: ['dmesg | fold -w 100', 'dmesg | fold -s -w 80'],
    notMatch: ['fold', 'dmesg | fold /etc/shadow'],
  },
];
