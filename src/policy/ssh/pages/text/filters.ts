/** Filters behind `|` that work on standard input only. */
import { columns, kind, number, oneOf, separator, some, unitOfSize } from '../../kinds.ts';
import { flag, type Page } from '../../page.ts';

const sortKey = kind('a sort key', /^\d{1,3}(?:\.\d{1,3})?[bdfgihMnrRV]*(?:,\d{1,3}(?:\.\d{1,3})?[bdfgihMnrRV]*)?$/);
const fieldList = kind('a list of numbers', /^\d{0,4}-?\d{0,4}(?:,\d{0,4}-?\d{0,4}){0,20}$/);
const texts = kind('a text', /^[^\n]{0,40}$/);

export const filters: readonly Page[] = [
  {
    names: ['sort'],
    why: 'sorts standard input; `-o` would write, `--compress-program` would run, `-T` and `--files0-from` name files',
    options: {
      '-bdfghiMnrRsuVz --numeric-sort --reverse --unique --human-numeric-sort --ignore-case --version-sort --general-numeric-sort --stable':
        flag,
      '-k --key': sortKey,
      '-t --field-separator': separator,
      '--sort': oneOf('an order', 'general-numeric human-numeric month numeric random version'),
    },
    filter: true,
    match: 'ps aux | sort -nrk 4  df | sort  ps aux | sort -k3,3nr | head',
    notMatch:
      'df | sort -o /etc/motd  sort /etc/shadow  df | sort --compress-program=x  df | sort --files0-from=/x  df | sort -T /tmp  sort  sort -T /etc /etc/hosts  df | sort -S 1G',
  },
  {
    names: ['uniq'],
    why: 'drops repeated lines of standard input; a second operand would be written',
    options: { '-cdDiuz --count --repeated --unique --ignore-case': flag, '-fsw --skip-fields --skip-chars --check-chars': number },
    filter: true,
    match: 'ps aux | sort | uniq -c  df | uniq -d',
    notMatch: 'df | uniq - /etc/motd  uniq /etc/shadow  uniq /etc/hosts /etc/x',
  },
  {
    names: ['cut'],
    why: 'cuts columns out of standard input',
    options: {
      '-sz --only-delimited --complement': flag,
      '-d --delimiter --output-delimiter': separator,
      '-fcb --fields --characters --bytes': fieldList,
    },
    filter: true,
    match: `ps aux | cut -d ' ' -f 1  df | cut -c 1-40  df | cut -d: -f2-`,
    notMatch: 'cut -d : -f 2 /etc/shadow  df | cut -f 1 /etc/shadow  cut -c1- /etc/shadow',
  },
  {
    names: ['tr'],
    why: 'replaces characters of standard input; its operands are no files',
    options: { '-cCdst': flag },
    operands: [some(kind('a set of characters', /^.{1,100}$/u), 2)],
    filter: true,
    match: `df | tr -s ' '  uptime | tr a-z A-Z  cat /proc/1/status | tr '\\0' ' '`,
    notMatch: 'df | tr  tr a b  tr a b < /etc/shadow',
  },
  {
    names: ['column'],
    why: 'aligns standard input',
    options: {
      '-texnJ --table': flag,
      '-so --separator --output-separator': separator,
      '-N --table-columns': columns,
      '-l --table-columns-limit -c': number,
    },
    filter: true,
    match: `mount | column -t  getent services ssh | column -t  df | column -ts ':'`,
    notMatch: 'column /etc/shadow  df | column -t /etc/shadow  column',
  },
  {
    names: ['fold', 'fmt', 'expand', 'rev'],
    why: 'lays standard input out anew',
    options: { '-s': flag, '-wt --width --tabs': number },
    filter: true,
    match: 'dmesg | fold -w 100  dmesg | fold -s -w 80  df | rev  df | expand',
    notMatch: 'fold  dmesg | fold /etc/shadow  df | rev /etc/shadow  df | fmt /etc/shadow',
  },
  {
    names: ['numfmt'],
    why: 'writes numbers of standard input anew',
    options: {
      '--to --from': oneOf('a scale', 'none auto si iec iec-i'),
      '--field': fieldList,
      '--header': flag,
      '--suffix': texts,
      '-d --delimiter': separator,
      '--to-unit --from-unit': unitOfSize,
    },
    filter: true,
    match: 'cat /sys/block/sda/size | numfmt --to=iec  df | numfmt --field=2 --from-unit=1 --header --to=iec',
    notMatch: 'df | numfmt --format=x y  numfmt 1',
  },
  {
    names: ['seq', 'sleep'],
    why: 'counts, or waits a moment between two looks',
    operands: [some(kind('a number up to 20', /^(?:1?\d|20)(?:\.\d)?$/), 3)],
    match: 'sleep 2 && cat /proc/loadavg  seq 1 5',
    notMatch: 'sleep 1000  seq 1 100000000  sleep infinity  sleep 1d',
  },
];
