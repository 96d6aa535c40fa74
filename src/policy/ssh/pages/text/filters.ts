/** Filters of lines and columns: standard input, or the same files as `cat`. */
import { anyNumber, atMostOne, columns, kind, number, oneOf, separator, some, unitOfSize } from '../../kinds.ts';
import type { Form, Pages } from '../../page.ts';
import { readableFile } from '../../places.ts';

const sortKey = kind('a sort key', /^\d{1,3}(?:\.\d{1,3})?[bdfgihMnrRV]*(?:,\d{1,3}(?:\.\d{1,3})?[bdfgihMnrRV]*)?$/);
const fieldList = kind('a list of numbers', /^\d{0,4}-?\d{0,4}(?:,\d{0,4}-?\d{0,4}){0,20}$/);
const texts = kind('a text', /^[^\n]{0,40}$/);

/** Standard input, or files. */
export const ofLines: Form = { operands: [anyNumber(readableFile, 8)], filter: true };

export const filters: Pages = {
  sort: {
    why: 'sorts lines; `-o` would write, `--compress-program` would run, `-T` and `--files0-from` name files',
    flags: `-bdfghiMnrRsuVz --numeric-sort --reverse --unique --human-numeric-sort --ignore-case --version-sort
      --general-numeric-sort --stable`,
    options: {
      '-k --key': sortKey,
      '-t --field-separator': separator,
      '--sort': oneOf('an order', 'general-numeric human-numeric month numeric random version'),
    },
    ...ofLines,
    match: 'ps aux | sort -nrk 4  df | sort  ps aux | sort -k3,3nr | head  sort /etc/hosts',
    notMatch: `df | sort -o /etc/motd  sort /etc/shadow  df | sort --compress-program=x  df | sort --files0-from=/x  df | sort -T /tmp  sort
      sort -T /etc /etc/hosts  df | sort -S 1G`,
  },
  uniq: {
    why: 'drops repeated lines; a second operand would be written',
    flags: '-cdDiuz --count --repeated --unique --ignore-case',
    options: { '-fsw --skip-fields --skip-chars --check-chars': number },
    operands: [atMostOne(readableFile)],
    filter: true,
    match: 'ps aux | sort | uniq -c  df | uniq -d  uniq /etc/hosts',
    notMatch: 'df | uniq - /etc/motd  uniq /etc/shadow  uniq /etc/hosts /etc/x',
  },
  cut: {
    why: 'cuts columns out',
    flags: '-sz --only-delimited --complement',
    options: { '-d --delimiter --output-delimiter': separator, '-fcb --fields --characters --bytes': fieldList },
    ...ofLines,
    match: `cut -d: -f1 /etc/group  ps aux | cut -d ' ' -f 1  df | cut -c 1-40  df | cut -d: -f2-`,
    notMatch: 'cut -d : -f 2 /etc/shadow  df | cut -f 1 /etc/shadow  cut -c1- /etc/shadow',
  },
  paste: {
    why: 'joins lines',
    flags: '-sz --serial',
    options: { '-d --delimiters': kind('separators', /^.{1,6}$/) },
    operands: [anyNumber(oneOf('`-`', '-'), 8), anyNumber(readableFile, 8)],
    filter: true,
    match: 'ls /sys/class/net | paste -sd,  df | paste - -  paste /etc/hostname /etc/timezone',
    notMatch: 'paste /etc/shadow  df | paste - /etc/hosts  paste -',
  },
  tr: {
    why: 'replaces characters of standard input; its operands are no files',
    flags: '-cCdst',
    operands: [some(kind('a set of characters', /^.{1,100}$/u), 2)],
    filter: true,
    match: `df | tr -s ' '  uptime | tr a-z A-Z  cat /proc/1/status | tr '\\0' ' '`,
    notMatch: 'df | tr  tr a b  tr a b < /etc/shadow',
  },
  column: {
    why: 'aligns columns',
    flags: '-texnJ --table',
    options: { '-so --separator --output-separator': separator, '-N --table-columns': columns, '-l --table-columns-limit -c': number },
    ...ofLines,
    match: `column -t /proc/mounts  mount | column -t  getent services ssh | column -t  df | column -ts ':'`,
    notMatch: 'column /etc/shadow  df | column -t /etc/shadow  column',
  },
  'fold fmt expand rev': {
    why: 'lays lines out anew',
    flags: '-s',
    options: { '-wt --width --tabs': number },
    ...ofLines,
    match: 'fold -w 100 /var/log/syslog  dmesg | fold -w 100  dmesg | fold -s -w 80  df | rev  df | expand',
    notMatch: 'fold  dmesg | fold /etc/shadow  df | rev /etc/shadow  df | fmt /etc/shadow',
  },
  numfmt: {
    why: 'writes numbers of standard input anew',
    flags: '--header',
    options: {
      '--to --from': oneOf('a scale', 'none auto si iec iec-i'),
      '--field': fieldList,
      '--suffix': texts,
      '-d --delimiter': separator,
      '--to-unit --from-unit': unitOfSize,
    },
    filter: true,
    match: 'cat /sys/block/sda/size | numfmt --to=iec  df | numfmt --field=2 --from-unit=1 --header --to=iec',
    notMatch: 'df | numfmt --format=x y  numfmt 1',
  },
  'seq sleep': {
    why: 'counts, or waits a moment between two looks',
    operands: [some(kind('a number up to 20', /^(?:1?\d|20)(?:\.\d)?$/), 3)],
    match: 'sleep 2 && cat /proc/loadavg  seq 1 5',
    notMatch: 'sleep 1000  seq 1 100000000  sleep infinity  sleep 1d',
  },
};
