/**
 * Processes, and who holds which file; systemd, the journal and mail. Long options must be exact: getopt would take abbreviations
 * (`--cursor-f=` writes a file).
 */
import { anyNumber, atMostOne, kind, listOf, needs, number, oneOf, perhaps, some, text, time } from '../../kinds.ts';
import type { Call, Kind, Pages } from '../../page.ts';
import { listablePath, listableTree } from '../../places.ts';

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

/** Which options go together, and of which groups one at most, or one at least, stands there. */
const psForms = [
  { may: `${formats} ${choosing} ${selection} ${layout} -T -L -ww --forest`, one: formats, must: '' },
  { may: `${columnForms} ${choosing} ${selection} ${layout} -ww`, one: '', must: columnForms },
  { may: `${bsdForms} ${bsdColumns} -o -p ${layout} --forest`, one: `${bsdForms} ${bsdColumns}`, must: '' },
  { may: '-t -o', one: '', must: '-t' },
].map(({ may, one, must }) => ({ may: may.split(' '), one: one.split(' '), must: must === '' ? [] : must.split(' ') }));

/**
 * SECURITY: procps reads a whole command line again the BSD way when the first reading fails (an unknown user, two formats at once), and
 * then the `e` of `-ef` means "show the environment": `ps -ef -o pid,args` prints secrets. So only forms that cannot fail that way are
 * taken (tried with procps 4.0.2).
 */
function onlyOneReading({ options, operands, has }: Call): string | undefined {
  const given = [...options.keys()];
  const form = psForms.find(
    ({ may, one, must }) =>
      given.every((option) => may.includes(option)) &&
      given.filter((option) => one.includes(option)).length <= 1 &&
      (must.length === 0 || has(...must)),
  );
  if (form === undefined) return 'with options that do not go together; use `ps aux`, `ps -ef` or `ps -eo pid,args`';
  return operands.length > 0 && !has('u', 'l', 'v', 'j', 'f') ? 'with a process id without `-p`' : undefined;
}

const repeatsOnce = kind('a count from 1 to 3', /^[1-3]$/);
const openFile: Kind = {
  name: 'an absolute path that holds no secrets, `+D DIRECTORY` or `+L1`',
  accepts: (value) => /^\+(?:L1|[dD])$/.test(value) || (listablePath.accepts(value) && !/[*?[]/.test(value)),
};

const unit = kind('the name of a unit', /^[A-Za-z0-9_*?[\]][A-Za-z0-9:_.@\\*?[\]-]{0,255}$/);
const states = kind('states with commas', /^[a-z-]{1,30}(?:,[a-z-]{1,30}){0,10}$/);
const lineCount = kind('a number of lines', /^(?:\d{1,7}|all)$/);
const output = oneOf(
  'an output format',
  `short short-full short-iso short-iso-precise short-precise short-monotonic short-unix verbose json json-pretty json-sse json-seq cat
  with-unit export`,
);
/** Not `Environment`, `EnvironmentFiles`, `ExecStart` and the like: secrets stand there. */
const properties = listOf(
  oneOf(
    'a property that holds no secrets',
    `ActiveState SubState LoadState UnitFileState MainPID NRestarts Result ExecMainStatus ExecMainCode ExecMainStartTimestamp
    ExecMainExitTimestamp ActiveEnterTimestamp ActiveExitTimestamp InactiveEnterTimestamp InactiveExitTimestamp StateChangeTimestamp
    MemoryCurrent MemoryPeak MemoryMax MemoryHigh MemoryAvailable CPUUsageNSec CPUQuotaPerSecUSec TasksCurrent TasksMax Description Id Names
    FragmentPath DropInPaths Type Restart RestartUSec After Before Requires Wants WantedBy RequiredBy BindsTo PartOf Conflicts ControlGroup
    Slice StatusText NextElapseUSecRealtime LastTriggerUSec TimeoutStartUSec TimeoutStopUSec LimitNOFILE OOMPolicy IOReadBytes IOWriteBytes
    TriggeredBy Triggers ConditionResult AssertResult NeedDaemonReload User Group`,
  ),
);
const priority = '(?:[0-7]|emerg|alert|crit|err|error|warning|notice|info|debug)';
const field = kind('a field', /^[A-Z_]{1,60}$/);
const boot = kind('a boot', /^(?:[+-]?\d{1,4}|all|[0-9a-f]{32}(?:[+-]\d{1,4})?)$/);
const pattern = kind('a pattern', /^[^\n]{1,200}$/);
const listing = `status, is-active, is-enabled, is-failed, list-units, list-unit-files, list-timers, list-sockets, list-paths, list-jobs,
  list-dependencies, list-automounts, list-machines`;

export const processes: Pages = {
  ps: {
    why: 'prints processes; forms that would print their environment are left out',
    style: 'words',
    flags: `${formats.replace(/ -fu -fp -fC/, '')} ${choosing} ${bsdForms} -T -L -ww --forest --no-headers --no-heading --headers`,
    options: {
      '--sort': sortKeys,
      '--cols --columns --width': number,
      '-p -q --pid --ppid -fp': processIds,
      '-C -fC': programs,
      '-u -U --user -fu': account,
      '-t': terminal,
      [`${columnForms} ${bsdColumns}`]: processColumns,
    },
    operands: [anyNumber(processIds, 3)],
    check: onlyOneReading,
    match: `ps  ps -ef  ps -ef --forest  ps aux  ps -aux  ps aux --sort=-%mem  ps -C pveproxy  ps -f -p 1  ps -u root  ps -fu root  ps u 1
      ps -eo pid,comm,%mem --sort=-%mem  ps -p 1 -o comm=  ps -A -o pid,stat,wchan  ps axo pid,comm  ps ax -o pid,ni,cmd  ps -t pts/0`,
    notMatch: `ps e  ps auxe  ps eww  ps -auxe  ps ae  ps aux e  ps -e -u x  ps -ef -o pid,args  ps -ef -l  ps -eT  ps -ex  ps -ef aux  ps -eo environ
      ps -o environ -p 1  ps ax -o environ  ps ax -opid  ps aux -u xe  ps -p 1 e  ps -e -t pts/0  ps -p=1  ps -fu x`,
  },
  top: {
    why: 'prints processes once or a few times; without `-b -n` it would never end',
    flags: '-bcHiS1',
    options: {
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
    notMatch: 'top  top -b  top -n1  top -bn100  top -bd1  top -bn999999',
  },
  'pgrep pidof pwdx': {
    why: 'finds processes by name; `pkill` would end them, `-F` reads a file',
    flags: '-aAcflinovwxsq --list-name --list-full --full --count --newest --oldest --exact --ignore-case',
    options: { '-u --euid': account, '-P -t': number, '-d': kind('a separator', /^.{1,3}$/) },
    operands: [some(kind('a name or pattern', /^[A-Za-z0-9_.:/+ ^$|()*-]{1,100}$/), 4)],
    match: 'pgrep -a kvm  pgrep -fl corosync  pidof corosync  pwdx 1',
    notMatch: 'pgrep --signal TERM kvm  pgrep -F /etc/shadow x  pgrep kvm | xargs kill  pgrep',
  },
  pstree: {
    why: 'prints processes as a tree',
    flags: '-paAlnuUshHTtcgG --show-pids --arguments --ascii --long --numeric-sort',
    operands: [atMostOne(kind('a process id or user', /^(?:\d{1,9}|[a-z_][a-z0-9_-]{0,30})$/))],
    match: 'pstree -p  pstree -ap 1  pstree',
    notMatch: 'pstree -p 1 2  pstree --help=x',
  },
  lsof: {
    why: 'lists open files and ports; `-r` never ends, `-D` writes',
    flags: '-nPtUlRaVO',
    options: {
      '-i': perhaps(
        kind('a protocol, address or port', /^(?:[46])?(?:TCP|UDP|tcp|udp)?(?:@\[?[0-9a-fA-F.:]{2,45}\]?)?(?::[0-9a-z,-]{1,40})?$/),
      ),
      '-s': perhaps(kind('a state', /^(?:TCP|UDP):\^?[A-Z_]{2,15}$/)),
      '-p': processIds,
      '-u': account,
      '-c': kind('the start of a name', /^[A-Za-z0-9_.-]{1,40}$/),
    },
    operands: [anyNumber(openFile, 4)],
    check: ({ operands }) =>
      !operands.some((word) => /^\+[dD]$/.test(word)) || operands.every((word) => /^\+[dD]$/.test(word) || listableTree.accepts(word))
        ? undefined
        : 'with `+D` of a place that holds homes or keys',
    match: 'lsof -nP -iTCP -sTCP:LISTEN  lsof -i :8006  lsof +L1  lsof -p 1  lsof /var/lib/vz  lsof +D /var/lib/vz/dump',
    notMatch: 'lsof -r 5  lsof +D /root  lsof -D b/etc/x  lsof /root/.ssh/id_rsa  lsof -k /etc/shadow  lsof -p 1 +D /root',
  },
  fuser: {
    why: 'lists who uses a file or port; `-k` ends them',
    flags: '-vmauc --verbose --mount --all --user',
    options: { '-n --namespace': oneOf('a kind', 'file tcp udp') },
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
  systemctl: {
    why: 'prints the state of units; other verbs change it, `-H`, `-M`, `--image`, `--root` reach elsewhere, all properties show secrets, of `cat` a person is asked',
    flags: '-laqr --no-pager --full --all --quiet --plain --no-legend --failed --no-ask-password --system',
    options: {
      '-t --type --state': states,
      '-n --lines': lineCount,
      '-o --output': output,
      '--legend': oneOf('`yes` or `no`', 'yes no true false'),
    },
    verbs: {
      [`, ${listing}`]: {
        flags: '--recursive --reverse --value --show-types --before --after',
        options: { '--timestamp': oneOf('a form', 'pretty unix us utc') },
        operands: [anyNumber(unit)],
      },
      'is-system-running, get-default': {},
      cat: { operands: [some(unit, 4)], check: () => ({ ask: 'settings of a unit may hold passwords' }) },
      show: {
        flags: '--value',
        options: { '-pP --property': properties },
        operands: [anyNumber(unit)],
        check: ({ has }) => (has('-p', '-P', '--property') ? undefined : 'without `-p NAME`; all properties would include the environment'),
      },
    },
    match: `systemctl  systemctl status pveproxy  systemctl --failed  systemctl list-units --type=service --state=running
      systemctl is-active ssh.service  systemctl show -p ActiveState,SubState pveproxy --value  systemctl is-system-running  systemctl cat pveproxy`,
    notMatch: `systemctl restart x  systemctl -H root@x status  systemctl status -M ct  systemctl show x  systemctl show-environment  systemctl edit x
      systemctl show -p Environment x  systemctl list-units --now  systemctl daemon-reload  systemctl is-system-running --wait  systemctl -- restart x
      systemctl status --host=root@evil  systemctl set-default x`,
  },
  'systemd-analyze': {
    why: 'prints how long starting took, and what a time means; `verify`, `set-…` and `plot` into files are left out',
    flags: '--no-pager',
    verbs: {
      ', time, blame': {},
      'critical-chain': { operands: [atMostOne(unit)] },
      'calendar, timespan, timestamp': { operands: [some(text, 3)] },
    },
    match: `systemd-analyze  systemd-analyze blame  systemd-analyze critical-chain pve-guests.service  systemd-analyze calendar 'mon..fri 02:00'`,
    notMatch: `systemd-analyze set-log-level debug  systemd-analyze -H x blame  systemd-analyze cat-config x  systemd-analyze --root=/x blame`,
  },
  'systemd-cgls': {
    why: 'prints control groups',
    flags: '-alkcx --all --full --no-pager',
    options: { '-u --unit': unit },
    operands: [anyNumber(unit, 4)],
    match: 'systemd-cgls --no-pager qemu.slice  systemd-cgls -u pveproxy.service',
    notMatch: 'systemd-cgls -M x  systemd-cgls /etc',
  },
  'systemd-cgtop': {
    why: 'prints control groups by load, once or twice',
    flags: '-bmcptrkPi --batch --raw',
    options: { '-n --iterations': oneOf('one or two', '1 2'), '--depth': number, '-d --delay': oneOf('seconds', '1 2 3') },
    check: needs('-n --iterations', 'which never ends; add `-n 1`'),
    match: 'systemd-cgtop -b -n 1  systemd-cgtop -bmn1  systemd-cgtop -n1 -m --depth=2',
    notMatch: 'systemd-cgtop  systemd-cgtop -b  systemd-cgtop -d 1 -b  systemd-cgtop -n 100',
  },
  'systemd-detect-virt': {
    why: 'prints what the machine runs in',
    flags: '-cvrq --container --vm',
    match: 'systemd-detect-virt  systemd-detect-virt --vm',
    notMatch: 'systemd-detect-virt x',
  },
  journalctl: {
    why: 'prints the journal; `-f` never ends, `--vacuum-*`, `--rotate`, `--flush`, `--sync` and `--cursor-file` write, `-D`, `--file`, `--root`, `-M` reach elsewhere',
    flags: `-kraxqemNl --dmesg --reverse --all --catalog --quiet --no-pager --pager-end --merge --no-tail --show-cursor --fields
      --header --disk-usage --list-boots --utc --no-hostname --no-full --full --verify --truncate-newline --user --system
      --version`,
    options: {
      '-u --unit --user-unit': unit,
      '-p --priority': kind('a priority or range of them', new RegExp(`^${priority}(?:\\.\\.${priority})?$`)),
      '-S --since -U --until': time,
      '-t --identifier -T --exclude-identifier': kind('an identifier', /^[A-Za-z0-9_.@:/-]{1,100}$/),
      '-o --output': output,
      '-g --grep': pattern,
      '-F --field': field,
      '--output-fields': listOf(field),
      '--facility': kind('facilities', /^[a-z0-9,]{1,60}$/),
      '--case-sensitive': { optional: oneOf('`true` or `false`', 'true false yes no') },
      '-n --lines': perhaps(kind('a number of lines', /^(?:\+?\d{1,7}|all)$/)),
      '-b --boot': perhaps(boot),
    },
    // A field and its value, or `+` between alternatives. A path would be looked at.
    operands: [anyNumber(kind('a match such as `_PID=1`', /^(?:[A-Z_][A-Z0-9_]{0,60}=[^\n]{0,200}|\+)$/), 8)],
    match: `journalctl -u pveproxy --since "1 hour ago" --no-pager  journalctl -k -n 100  journalctl -b -1 -p err  journalctl _PID=1 -n 10
      journalctl --disk-usage  journalctl -xe  journalctl _TRANSPORT=kernel + _COMM=sshd  journalctl -u ssh --since '2026-01-01 00:00:00'`,
    notMatch: `journalctl -f  journalctl -fu ssh  journalctl --follow  journalctl --vacuum-size=1K  journalctl --vacuum-s=1K  journalctl --rotate
      journalctl --cursor-f=/root/x  journalctl --file=/etc/shadow  journalctl -D /mnt  journalctl --root=/mnt  journalctl /etc/shadow  journalctl -M ct
      journalctl --sync  journalctl --flush  journalctl --verify-key=x  journalctl -i /x`,
  },
  'fail2ban-client': {
    why: 'prints jails and who is banned; other commands change them',
    verbs: { 'status, ping, version, banned': { operands: [anyNumber(kind('a jail', /^[A-Za-z0-9_.-]{1,60}$/), 1)] } },
    match: 'fail2ban-client status  fail2ban-client status sshd',
    notMatch: 'fail2ban-client unban --all  fail2ban-client reload  fail2ban-client -s /x status  fail2ban-client',
  },
  'coredumpctl busctl': {
    why: 'lists crashes or services of the bus; other verbs print memory or call',
    flags: '--no-pager --no-legend -r -q',
    verbs: { list: {} },
    match: 'coredumpctl list  busctl list --no-pager',
    notMatch: 'coredumpctl dump  coredumpctl gdb x  coredumpctl info  busctl call a b c d  busctl monitor  busctl -H x list',
  },
  'mailq postqueue': {
    why: 'lists mail that waits; `-f`, `-i` and `-s` send it',
    flags: '-pj',
    check: ({ has }) => (has('-p') && has('-j') ? 'with `-p` and `-j`' : undefined),
    match: 'mailq  postqueue -p  postqueue -j',
    notMatch: 'postqueue -f  postqueue -s x  postqueue -c /x -p  mailq -bp',
  },
};
