/** systemd: units and the journal. Long options must be exact: getopt would take abbreviations (`--cursor-f=` writes a file). */
import type { ProgramRule, Takes } from '../../program-rule.ts';
import { kind, listOf, oneOf, timeText, wholeNumber } from '../../value-kinds.ts';

const unit = kind('the name of a unit', /^[A-Za-z0-9_*?[\]][A-Za-z0-9:_.@\\*?[\]-]{0,255}$/);
const unitStates = kind('states with commas', /^[a-z-]{1,30}(?:,[a-z-]{1,30}){0,10}$/);
const lineCount = kind('a number of lines', /^(?:\d{1,7}|all)$/);
const outputMode = oneOf(
  'an output format',
  ...['short', 'short-full', 'short-iso', 'short-iso-precise', 'short-precise', 'short-monotonic', 'short-unix', 'verbose', 'json', 'json-pretty', 'json-sse', 'json-seq', 'cat', 'with-unit', 'export'],
);
/** Not `Environment`, `EnvironmentFiles`, `ExecStart` and the like: secrets stand there. */
const harmlessProperty = oneOf(
  'a property that holds no secrets',
  ...['ActiveState', 'SubState', 'LoadState', 'UnitFileState', 'MainPID', 'NRestarts', 'Result', 'ExecMainStatus', 'ExecMainCode', 'ExecMainStartTimestamp', 'ExecMainExitTimestamp'],
  ...['ActiveEnterTimestamp', 'ActiveExitTimestamp', 'InactiveEnterTimestamp', 'StateChangeTimestamp', 'MemoryCurrent', 'MemoryPeak', 'CPUUsageNSec', 'TasksCurrent', 'Description', 'Id', 'Names'],
  ...['FragmentPath', 'Type', 'Restart', 'After', 'Before', 'Requires', 'Wants', 'WantedBy', 'RequiredBy', 'ControlGroup', 'Slice', 'StatusText', 'NextElapseUSecRealtime', 'LastTriggerUSec'],
);
const harmlessProperties = listOf(harmlessProperty, 'properties that hold no secrets');
const identifier = kind('an identifier', /^[A-Za-z0-9_.@:/-]{1,100}$/);
const priority = kind('a priority or range of them', /^(?:[0-7]|emerg|alert|crit|err|warning|notice|info|debug)(?:\.\.(?:[0-7]|emerg|alert|crit|err|warning|notice|info|debug))?$/);
const bootId = kind('a boot', /^(?:[+-]?\d{1,4}|all|[0-9a-f]{32}(?:[+-]\d{1,4})?)$/);

const systemctlFlags: Readonly<Record<string, Takes>> = {
  '--no-pager': null, '--full': null, '--all': null, '--quiet': null, '--plain': null, '--no-legend': null, '--failed': null, '--recursive': null, '--reverse': null, '--value': null,
  '--legend': oneOf('`yes` or `no`', 'yes', 'no', 'true', 'false'), '--type': unitStates, '--state': unitStates, '--lines': lineCount, '--output': outputMode, '--no-ask-password': null, '--system': null,
};
const listingVerbs = ['status', 'is-active', 'is-enabled', 'is-failed', 'list-units', 'list-unit-files', 'list-timers', 'list-sockets', 'list-paths', 'list-jobs', 'list-dependencies', 'list-automounts'];

export const serviceRules: readonly ProgramRule[] = [
  {
    id: 'ssh.systemctl',
    program: 'systemctl',
    verbs: [[], ...listingVerbs.map((verb) => [verb])],
    flags: 'laqr',
    values: { t: unitStates, n: lineCount, o: outputMode },
    longs: systemctlFlags,
    operands: { kind: unit, max: 16 },
    role: 'source',
    justification: 'prints the state of units; other verbs change it, `-H`, `-M`, `--image`, `--root` reach elsewhere',
    match: ['systemctl status pveproxy', 'systemctl --no-pager status pvedaemon', 'systemctl status -n 50 x', 'systemctl is-active ssh.service', 'systemctl list-units --failed', 'systemctl list-units --type=service --state=running', "systemctl list-units 'pve*'"],
    notMatch: ['systemctl restart x', 'systemctl -H root@x status', 'systemctl status -M ct', 'systemctl status --image=/x y', 'systemctl show-environment', 'systemctl cat x', 'systemctl edit x', 'systemctl kill x', 'systemctl list-units --now', 'systemctl isolate rescue.target'],
  },
  {
    id: 'ssh.systemctl-word',
    program: 'systemctl',
    verbs: [['is-system-running'], ['get-default']],
    longs: { '--no-pager': null, '--quiet': null },
    role: 'source',
    justification: 'prints one word',
    match: ['systemctl is-system-running', 'systemctl get-default'],
    notMatch: ['systemctl set-default rescue.target', 'systemctl is-system-running --wait'],
  },
  {
    id: 'ssh.systemctl-show',
    program: 'systemctl',
    verbs: [['show']],
    values: { p: harmlessProperties, P: harmlessProperties },
    longs: { '--property': harmlessProperties, '--value': null, '--no-pager': null },
    operands: { kind: unit, max: 16 },
    requires: [['-p', '-P', '--property']],
    role: 'source',
    justification: 'prints named properties; all of them would include the environment of a service',
    match: ['systemctl show -p ActiveState pveproxy', 'systemctl show pveproxy --property=ActiveState,SubState --value'],
    notMatch: ['systemctl show pveproxy', 'systemctl show -p Environment pveproxy', 'systemctl show'],
  },
  {
    id: 'ssh.journalctl',
    program: 'journalctl',
    flags: 'kraxqemN',
    values: { u: unit, p: priority, S: timeText, U: timeText, t: identifier, o: outputMode, F: kind('a field', /^[A-Z_]{1,60}$/), g: kind('a pattern', /^[^\n]{1,200}$/) },
    longs: {
      '--unit': unit, '--dmesg': null, '--reverse': null, '--since': timeText, '--until': timeText, '--priority': priority, '--identifier': identifier, '--output': outputMode, '--no-pager': null,
      '--pager-end': null, '--all': null, '--catalog': null, '--quiet': null, '--disk-usage': null, '--list-boots': null, '--utc': null, '--no-hostname': null, '--no-full': null, '--full': null,
      '--fields': null, '--header': null, '--merge': null, '--no-tail': null, '--system': null, '--case-sensitive': oneOf('`true` or `false`', 'true', 'false'), '--grep': kind('a pattern', /^[^\n]{1,200}$/),
      '--field': kind('a field', /^[A-Z_]{1,60}$/), '--output-fields': kind('fields with commas', /^[A-Z_]{1,60}(?:,[A-Z_]{1,60}){0,20}$/), '--facility': kind('facilities', /^[a-z0-9,]{1,60}$/), '--version': null,
    },
    optional: {
      '-n': { kind: lineCount, separate: true },
      '--lines': { kind: lineCount, separate: true },
      '-b': { kind: bootId, separate: true },
      '--boot': { kind: bootId, separate: true },
    },
    operands: { kind: kind('a match such as `_PID=1`', /^[A-Z_][A-Z0-9_]{0,60}=[^\n]{0,200}$/), max: 8 },
    role: 'source',
    justification: 'prints the journal; `-f` never ends, `--vacuum-*`, `--rotate`, `--flush`, `--sync` and `--cursor-file` write, `-D`, `--file`, `--root`, `-M` reach elsewhere',
    match: ['journalctl -u pveproxy --since "1 hour ago" --no-pager', 'journalctl -k -n 100', 'journalctl -n100 -u ssh', 'journalctl -b -1 -p err', 'journalctl _PID=1 -n 10', 'journalctl --disk-usage', 'journalctl -xe', "journalctl -u ssh --since '2026-01-01 00:00:00'"],
    notMatch: ['journalctl -f', 'journalctl -fu ssh', 'journalctl --vacuum-size=1K', 'journalctl --vacuum-s=1K', 'journalctl --rotate', 'journalctl --cursor-file=/root/x', 'journalctl --cursor-f=/root/x', 'journalctl --file=/etc/shadow', 'journalctl -D /mnt', 'journalctl --root=/mnt', 'journalctl /usr/bin/x', 'journalctl --follow', 'journalctl -M ct'],
  },
];
