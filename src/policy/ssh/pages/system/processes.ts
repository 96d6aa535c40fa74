/** Processes, and who holds which file. */
import { anyNumber, atMostOne, kind, listOf, number, oneOf, perhaps, some } from '../../kinds.ts';
import { type Call, flag, type Kind, type Options, type Page } from '../../page.ts';
import { listablePath } from '../../places.ts';

const processIds = listOf(number);
const account = kind(
  'the name or number of a system user',
  // SECURITY: procps reads a command line again the BSD way when a user is unknown; these names are no sequences of BSD options.
  /^(?:\d{1,6}|root|www-data|backup|nobody|daemon|postfix|messagebus|ceph|sshd|_[a-z]{3,30}|systemd-[a-z-]{3,30})$/,
);
const programs = kind('names of programs', /^[A-Za-z0-9_.,:+-]{1,100}$/);
const terminal = kind('a terminal such as `pts/0`', /^(?:pts\/\d{1,3}|tty(?:S)?\d{1,2})$/);
const sortKeys = kind('columns to sort by', /^[+-]?[a-z_%]{1,20}(?:,[+-]?[a-z_%]{1,20}){0,5}$/);

/** Not `environ`. */
const column = oneOf(
  'names of process columns without `environ`',
  `pid ppid pgid sid tid lwp nlwp spid user uid ruser euser group gid comm ucmd ucomm cmd args command pcpu %cpu pmem %mem rss rssize vsz
  vsize size sz start lstart start_time stime etime etimes time cputime times stat state s tty tt tname ni nice pri prio rtprio cls policy
  class psr wchan c cp f flags min_flt maj_flt unit slice cgroup machine oom oomadj pss uss numa nwchan fname drs trs thcount label`,
);
const processColumns: Kind = {
  name: `${column.name}, with commas`,
  accepts: (value) => value.split(',').every((part) => column.accepts(part.replace(/(?:=|:\d{1,3}=?)(?:[A-Z%]{0,20})$/, ''))),
};

const formats = '-f -F -l -ly -ef -Af -eF -AF -el -ely -ej -eH -efH -ejH -eLf -efL -efww -efwww -eM -eZ -aef -fe -le -ejf -fu -fp -fC';
const choosing = '-e -A -a -d';
const bsdForms = `aux auxf auxww auxwww auxwwf auxfww auxw aufx faux auxc ax axu axf axl axj axjf axuf axw axww a x u ux uxf au f l r T j v
  -aux -auxf -faux -auxww -auxwww`.replace(/\s+/g, ' ');
const bsdColumns = 'axo xao axwwo -axo';
const columnForms = '-o -eo -Ao --format';
const selection = '-p -q -C -u -U --user --pid --ppid';
const layout = '--sort --no-headers --no-heading --headers --cols --columns --width';

const psOptions: Options = {
  [`${formats.replace(/ -fu -fp -fC/, '')} ${choosing} ${bsdForms} -T -L -ww --forest --no-headers --no-heading --headers`]: flag,
  '--sort': sortKeys,
  '--cols --columns --width': number,
  '-p -q --pid --ppid -fp': processIds,
  '-C -fC': programs,
  '-u -U --user -fu': account,
  '-t': terminal,
  [`${columnForms} ${bsdColumns}`]: processColumns,
};

/** Which options go together, and of which groups one at most, or one at least, stands there. */
const psForms = [
  { may: `${formats} ${choosing} ${selection} ${layout} -T -L -ww --forest`, atMostOne: formats, needs: '' },
  { may: `${columnForms} ${choosing} ${selection} ${layout} -ww`, atMostOne: '', needs: columnForms },
  { may: `${bsdForms} ${bsdColumns} -o -p ${layout} --forest`, atMostOne: `${bsdForms} ${bsdColumns}`, needs: '' },
  { may: '-t -o', atMostOne: '', needs: '-t' },
].map(({ may, atMostOne: one, needs }) => ({ may: may.split(' '), one: one.split(' '), needs: needs === '' ? [] : needs.split(' ') }));

/**
 * SECURITY: procps reads a whole command line again the BSD way when the first reading fails (an unknown user, two formats at once), and
 * then the `e` of `-ef` means "show the environment": `ps -ef -o pid,args` prints secrets. So only forms that cannot fail that way are
 * taken (tried with procps 4.0.2).
 */
function onlyOneReading({ options, operands, has }: Call): string | undefined {
  const given = [...options.keys()];
  const form = psForms.find(
    ({ may, one, needs }) =>
      given.every((option) => may.includes(option)) &&
      given.filter((option) => one.includes(option)).length <= 1 &&
      (needs.length === 0 || has(...needs)),
  );
  if (form === undefined) return 'with options that do not go together; use `ps aux`, `ps -ef` or `ps -eo pid,args`';
  return operands.length > 0 && !has('u', 'l', 'v', 'j', 'f') ? 'with a process id without `-p`' : undefined;
}

const repeatsOnce = kind('a count from 1 to 3', /^[1-3]$/);
const openFile: Kind = {
  name: 'an absolute path that holds no secrets, or `+L1`',
  accepts: (value) => value === '+L1' || (listablePath.accepts(value) && !/[*?[]/.test(value)),
};

export const processes: readonly Page[] = [
  {
    names: ['ps'],
    why: 'prints processes; forms that would print their environment are left out',
    style: 'words',
    options: psOptions,
    operands: [anyNumber(processIds, 3)],
    check: onlyOneReading,
    match: `ps  ps -ef  ps -ef --forest  ps aux  ps -aux  ps aux --sort=-%mem  ps -C pveproxy  ps -f -p 1  ps -u root  ps -fu root  ps u 1
      ps -eo pid,comm,%mem --sort=-%mem  ps -p 1 -o comm=  ps -A -o pid,stat,wchan  ps axo pid,comm  ps ax -o pid,ni,cmd  ps -t pts/0`,
    notMatch: `ps e  ps auxe  ps eww  ps -auxe  ps ae  ps aux e  ps -e -u x  ps -ef -o pid,args  ps -ef -l  ps -eT  ps -ex  ps -ef aux
      ps -eo environ  ps -o environ -p 1  ps ax -o environ  ps ax -opid  ps aux -u xe  ps -p 1 e  ps -e -t pts/0  ps -p=1  ps -fu x`,
  },
  {
    names: ['top'],
    why: 'prints processes once or a few times; without `-b -n` it would never end',
    options: {
      '-bcHiS1': flag,
      '-n': repeatsOnce,
      '-d': kind('a delay from 0 to 5 seconds', /^[0-5](?:\.\d{1,2})?$/),
      '-o': kind('a column', /^[+-]?[%A-Za-z+]{1,12}$/),
      '-p': processIds,
      '-uU': account,
      '-Ee': kind('a scale', /^[kmgtpe]$/),
      '-w': perhaps(number),
    },
    check: ({ has }) => (has('-b') && has('-n') ? undefined : 'without `-b -n 1`, which never ends'),
    match: 'top -bn1  top -b -n 1  top -bn1 -o %MEM  top -b -n1 -w 200  top -bHn1  top -b -n 1 -w',
    notMatch: 'top  top -b  top -n1  top -bn100  top -bd1  top -bn999999  htop  atop',
  },
  {
    names: ['pgrep', 'pidof', 'pwdx'],
    why: 'finds processes by name; `pkill` would end them, `-F` reads a file',
    options: {
      '-aAcflinovwxsq --list-name --list-full --full --count --newest --oldest --exact --ignore-case': flag,
      '-u --euid': account,
      '-P -t': number,
      '-d': kind('a separator', /^.{1,3}$/),
    },
    operands: [some(kind('a name or pattern', /^[A-Za-z0-9_.:/+ ^$|()*-]{1,100}$/), 4)],
    match: 'pgrep -a kvm  pgrep -fl corosync  pidof corosync  pwdx 1',
    notMatch: 'pgrep --signal TERM kvm  pgrep -F /etc/shadow x  pkill kvm  pgrep kvm | xargs kill  pgrep',
  },
  {
    names: ['pstree'],
    why: 'prints processes as a tree',
    options: { '-paAlnuUshHTtcgG --show-pids --arguments --ascii --long --numeric-sort': flag },
    operands: [atMostOne(kind('a process id or user', /^(?:\d{1,9}|[a-z_][a-z0-9_-]{0,30})$/))],
    match: 'pstree -p  pstree -ap 1  pstree',
    notMatch: 'pstree -p 1 2  pstree --help=x',
  },
  {
    names: ['lsof'],
    why: 'lists open files and ports; `-r` never ends, `-D` writes, `+D` walks trees',
    options: {
      '-nPtUlRaVO': flag,
      '-i': perhaps(
        kind('a protocol, address or port', /^(?:[46])?(?:TCP|UDP|tcp|udp)?(?:@\[?[0-9a-fA-F.:]{2,45}\]?)?(?::[0-9a-z,-]{1,40})?$/),
      ),
      '-s': { optional: kind('a state', /^(?:TCP|UDP):\^?[A-Z_]{2,15}$/) },
      '-p': processIds,
      '-u': account,
      '-c': kind('the start of a name', /^[A-Za-z0-9_.-]{1,40}$/),
    },
    operands: [anyNumber(openFile, 4)],
    match: 'lsof -nP -iTCP -sTCP:LISTEN  lsof -i :8006  lsof +L1  lsof -p 1  lsof /var/lib/vz',
    notMatch: 'lsof -r 5  lsof +D /root  lsof -D b/etc/x  lsof /root/.ssh/id_rsa  lsof -k /etc/shadow  lsof -p 1 +D /root',
  },
  {
    names: ['fuser'],
    why: 'lists who uses a file or port; `-k` ends them',
    options: { '-vmauc --verbose --mount --all --user': flag, '-n --namespace': oneOf('a kind', 'file tcp udp') },
    operands: [
      some(
        {
          ...listablePath,
          name: 'a path or port',
          accepts: (value) => /^\d{1,5}(?:\/(?:tcp|udp))?$/.test(value) || listablePath.accepts(value),
        },
        8,
      ),
    ],
    match: 'fuser -v /var/lib/vz  fuser -v 8006/tcp  fuser -vm /mnt/pve/nas',
    notMatch: 'fuser -k /var/lib/vz  fuser -ki 8006/tcp  fuser -M -k x  fuser /root/.ssh/x',
  },
];
