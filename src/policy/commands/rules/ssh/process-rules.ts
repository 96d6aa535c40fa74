/**
 * Processes. SECURITY: procps reads a whole command line again the BSD way when the first reading fails (an unknown user, two formats at
 * once), and then the `e` of `-ef` means "show the environment": `ps -ef -o pid,args` prints secrets. So each rule takes only forms that
 * cannot fail that way (tried with procps 4.0.2).
 */
import type { ProgramRule, ValueKind } from '../../program-rule.ts';
import { kind, listOf, oneOf, wholeNumber } from '../../value-kinds.ts';

const userName = kind(
  'the name or number of a system user',
  // SECURITY: procps reads a command line again the BSD way when a user is unknown; these names are no sequences of BSD options.
  /^(?:\d{1,6}|root|www-data|backup|nobody|daemon|postfix|messagebus|ceph|sshd|_[a-z]{3,30}|systemd-[a-z-]{3,30})$/,
);
const processColumn = oneOf(
  'names of process columns',
  ...['pid', 'ppid', 'pgid', 'sid', 'tid', 'lwp', 'nlwp', 'spid', 'user', 'uid', 'ruser', 'euser', 'group', 'gid', 'comm', 'ucmd', 'ucomm', 'cmd'],
  ...['args', 'command', 'pcpu', '%cpu', 'pmem', '%mem', 'rss', 'rssize', 'vsz', 'vsize', 'size', 'sz', 'start', 'lstart', 'start_time', 'stime', 'etime', 'etimes'],
  ...['time', 'cputime', 'times', 'stat', 'state', 's', 'tty', 'tt', 'tname', 'ni', 'nice', 'pri', 'prio', 'rtprio', 'cls', 'policy', 'class', 'psr', 'wchan'],
  ...['c', 'cp', 'f', 'flags', 'min_flt', 'maj_flt', 'unit', 'slice', 'cgroup', 'machine', 'oom', 'oomadj', 'pss', 'uss', 'numa', 'nwchan', 'fname'],
);
const processColumns = {
  name: 'names of process columns with commas',
  accepts: (value: string) => value.split(',').every((part) => processColumn.accepts(part.replace(/(?:=|:\d{1,3}=?)(?:[A-Z%]{0,20})$/, ''))),
};
const processIds = listOf(wholeNumber, 'process ids with commas');
const sortKeys = kind('columns to sort by', /^[+-]?[a-z_%]{1,20}(?:,[+-]?[a-z_%]{1,20}){0,5}$/);

const sysvForms = ['-e', '-A', '-f', '-F', '-l', '-ly', '-ef', '-Af', '-eF', '-AF', '-el', '-ely', '-ej', '-eH', '-efH', '-ejH', '-eLf', '-efL', '-efww', '-efwww', '-a', '-d'];
const bsdForms = [
  ...['aux', 'auxf', 'auxww', 'auxwww', 'auxwwf', 'auxfww', 'auxw', 'aufx', 'faux', 'auxc', 'ax', 'axu', 'axf', 'axl', 'axj', 'axjf', 'axuf', 'axww'],
  ...['a', 'x', 'u', 'ux', 'uxf', 'au', 'f', 'l', '-aux', '-auxf', '-auxww', '-auxwww'],
];
const shared: Readonly<Record<string, ValueKind | null>> = {
  '--sort': sortKeys,
  '--no-headers': null,
  '--no-heading': null,
  '--headers': null,
  '--cols': wholeNumber,
  '--columns': wholeNumber,
  '--width': wholeNumber,
};
const selection = { '--pid': processIds, '--ppid': processIds };
const programNames = kind('names of programs', /^[A-Za-z0-9_.,:+-]{1,100}$/);

export const processRules: readonly ProgramRule[] = [
  {
    id: 'ssh.ps',
    program: 'ps',
    values: { p: processIds, C: programNames },
    longs: { ...shared, ...selection, '--forest': null },
    words: { '-u': userName, '--user': userName, ...flagWords(sysvForms) },
    exclusive: [sysvForms],
    role: 'source',
    justification: 'prints processes in one of the fixed formats',
    match: ['ps', 'ps -ef', 'ps -ef --forest', 'ps -C pveproxy', 'ps -f -p 1', 'ps -u root', 'ps -ef --sort=-%cpu'],
    notMatch: ['ps -e -u x', 'ps -ef -o pid,args', 'ps -ef -l', 'ps -eT', 'ps -ex', 'ps -ef aux', 'ps e'],
  },
  {
    id: 'ssh.ps-columns',
    program: 'ps',
    values: { o: processColumns, p: processIds, C: programNames },
    longs: { ...shared, ...selection, '--format': processColumns },
    words: { '-u': userName, '--user': userName, '-eo': processColumns, '-Ao': processColumns, ...flagWords(['-e', '-A', '-a', '-ww']) },
    requires: [['-o', '-eo', '-Ao', '--format']],
    role: 'source',
    justification: 'prints chosen columns; the column of environments is not among them',
    match: ['ps -eo pid,comm,%mem --sort=-%mem', 'ps -p 1 -o comm=', 'ps -A -o pid,stat,wchan', 'ps -e --format pid,args'],
    notMatch: ['ps -eo environ', 'ps -o environ -p 1', 'ps -ef -o pid', 'ps -eo pid -f'],
  },
  {
    id: 'ssh.ps-bsd',
    program: 'ps',
    longs: { ...shared, '--forest': null },
    words: { axo: processColumns, axwwo: processColumns, '-axo': processColumns, ...flagWords(bsdForms) },
    exclusive: [[...bsdForms, 'axo', 'axwwo', '-axo']],
    operands: { kind: processIds, max: 3 },
    role: 'source',
    justification: 'prints processes; the BSD letter `e` would print their environments, so only forms without it are taken',
    match: ['ps aux', 'ps auxf', 'ps -aux', 'ps aux --sort=-%mem', 'ps axo pid,comm', 'ps u 1'],
    notMatch: ['ps auxe', 'ps eww', 'ps e', 'ps -auxe', 'ps ae', 'ps aux -u xe', 'ps aux e', 'ps -p 1 e'],
  },
  {
    id: 'ssh.top',
    program: 'top',
    flags: 'bcHiS1',
    values: {
      n: kind('a count from 1 to 3', /^[1-3]$/),
      d: kind('a delay from 0 to 5 seconds', /^[0-5](?:\.\d{1,2})?$/),
      o: kind('a column', /^[+-]?[%A-Za-z+]{1,12}$/),
      p: processIds,
      u: userName,
      E: kind('a scale', /^[kmgtpe]$/),
      e: kind('a scale', /^[kmgtp]$/),
      w: wholeNumber,
    },
    requires: [['-b'], ['-n']],
    role: 'source',
    justification: 'prints processes once or a few times; without `-b -n` it would never end',
    match: ['top -bn1', 'top -b -n 1', 'top -bn1 -o %MEM', 'top -b -n1 -w 200', 'top -bHn1'],
    notMatch: ['top', 'top -b', 'top -n1', 'top -bn100', 'top -bd1'],
  },
];

function flagWords(words: readonly string[]): Readonly<Record<string, null>> {
  return Object.fromEntries(words.map((word) => [word, null]));
}
