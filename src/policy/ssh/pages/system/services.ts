/** systemd, the journal and mail. Long options must be exact: getopt would take abbreviations (`--cursor-f=` writes a file). */
import { anyNumber, atMostOne, kind, listOf, needs, number, oneOf, perhaps, some, text, time } from '../../kinds.ts';
import { flag, type Page } from '../../page.ts';

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
  list-dependencies, list-automounts, list-machines`.replace(/\s+/g, ' ');

export const services: readonly Page[] = [
  {
    names: ['systemctl'],
    why: 'prints the state of units; other verbs change it, `-H`, `-M`, `--image`, `--root` reach elsewhere, `cat` and all properties show secrets',
    options: {
      '-laqr --no-pager --full --all --quiet --plain --no-legend --failed --no-ask-password --system': flag,
      '-t --type --state': states,
      '-n --lines': lineCount,
      '-o --output': output,
      '--legend': oneOf('`yes` or `no`', 'yes no true false'),
    },
    verbs: {
      [`, ${listing}`]: {
        options: {
          '--recursive --reverse --value --show-types --before --after': flag,
          '--timestamp': oneOf('a form', 'pretty unix us utc'),
        },
        operands: [anyNumber(unit)],
      },
      'is-system-running, get-default': {},
      show: {
        options: { '-pP --property': properties, '--value': flag },
        operands: [anyNumber(unit)],
        check: ({ has }) => (has('-p', '-P', '--property') ? undefined : 'without `-p NAME`; all properties would include the environment'),
      },
    },
    match: `systemctl  systemctl status pveproxy  systemctl --failed  systemctl list-units --type=service --state=running
      systemctl is-active ssh.service  systemctl show -p ActiveState,SubState pveproxy --value  systemctl is-system-running`,
    notMatch: `systemctl restart x  systemctl -H root@x status  systemctl status -M ct  systemctl show x  systemctl show-environment
      systemctl cat x  systemctl edit x  systemctl show -p Environment x  systemctl list-units --now  systemctl daemon-reload
      systemctl is-system-running --wait  systemctl -- restart x  systemctl status --host=root@evil  systemctl set-default x`,
  },
  {
    names: ['systemd-analyze'],
    why: 'prints how long starting took, and what a time means; `verify`, `set-…` and `plot` into files are left out',
    options: { '--no-pager': flag },
    verbs: {
      ', time, blame': {},
      'critical-chain': { operands: [atMostOne(unit)] },
      'calendar, timespan, timestamp': { operands: [some(text, 3)] },
    },
    match: `systemd-analyze  systemd-analyze blame  systemd-analyze critical-chain pve-guests.service  systemd-analyze calendar 'mon..fri 02:00'`,
    notMatch:
      'systemd-analyze set-log-level debug  systemd-analyze -H x blame  systemd-analyze cat-config x  systemd-analyze --root=/x blame',
  },
  {
    names: ['systemd-cgls'],
    why: 'prints control groups',
    options: { '-alkcx --all --full --no-pager': flag, '-u --unit': unit },
    match: 'systemd-cgls --no-pager  systemd-cgls -u pveproxy.service',
    notMatch: 'systemd-cgls -M x  systemd-cgls /etc',
  },
  {
    names: ['systemd-cgtop'],
    why: 'prints control groups by load, once or twice',
    options: {
      '-bmcptrkPi --batch --raw': flag,
      '-n --iterations': oneOf('one or two', '1 2'),
      '--depth': number,
      '-d --delay': oneOf('seconds', '1 2 3'),
    },
    check: needs('-n --iterations', 'which never ends; add `-n 1`'),
    match: 'systemd-cgtop -b -n 1  systemd-cgtop -bmn1  systemd-cgtop -n1 -m --depth=2',
    notMatch: 'systemd-cgtop  systemd-cgtop -b  systemd-cgtop -d 1 -b  systemd-cgtop -n 100',
  },
  {
    names: ['systemd-detect-virt'],
    why: 'prints what the machine runs in',
    options: { '-cvrq --container --vm': flag },
    match: 'systemd-detect-virt  systemd-detect-virt --vm',
    notMatch: 'systemd-detect-virt x  systemd-run id',
  },
  {
    names: ['journalctl'],
    why: 'prints the journal; `-f` never ends, `--vacuum-*`, `--rotate`, `--flush`, `--sync` and `--cursor-file` write, `-D`, `--file`, `--root`, `-M` reach elsewhere',
    options: {
      '-kraxqemNl --dmesg --reverse --all --catalog --quiet --no-pager --pager-end --merge --no-tail --show-cursor --fields --header': flag,
      '--disk-usage --list-boots --utc --no-hostname --no-full --full --verify --truncate-newline --user --system --version': flag,
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
    notMatch: `journalctl -f  journalctl -fu ssh  journalctl --follow  journalctl --vacuum-size=1K  journalctl --vacuum-s=1K
      journalctl --rotate  journalctl --cursor-f=/root/x  journalctl --file=/etc/shadow  journalctl -D /mnt  journalctl --root=/mnt
      journalctl /etc/shadow  journalctl -M ct  journalctl --sync  journalctl --flush  journalctl --verify-key=x  journalctl -i /x`,
  },
  {
    names: ['mailq', 'postqueue'],
    why: 'lists mail that waits; `-f`, `-i` and `-s` send it',
    options: { '-pj': flag },
    check: ({ has }) => (has('-p') && has('-j') ? 'with `-p` and `-j`' : undefined),
    match: 'mailq  postqueue -p  postqueue -j',
    notMatch: 'postqueue -f  postqueue -s x  postqueue -c /x -p  mailq -bp  sendmail -q',
  },
];
