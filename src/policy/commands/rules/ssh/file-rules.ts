/** Reading and listing files of a node, and the filters behind `|`. */
import type { ProgramRule } from '../../program-rule.ts';
import { colourChoice, kind, oneOf, searchPattern, sizeUnit, wholeNumber } from '../../value-kinds.ts';
import { catOptions, grepOptions, headOptions, patternGiven, wcOptions } from '../filter-options.ts';
import { listablePath, readableFile } from './node-paths.ts';

const timeStyle = oneOf('a time style', 'full-iso', 'long-iso', 'iso', 'locale');
const sortWord = oneOf('a sort order', 'none', 'size', 'time', 'version', 'extension');
const sortKey = kind('a sort key', /^\d{1,3}(?:\.\d{1,3})?[bdfgihMnrRV]*(?:,\d{1,3}(?:\.\d{1,3})?[bdfgihMnrRV]*)?$/);
const character = kind('one character', /^.$/u);
const fieldList = kind('a list of numbers', /^\d{0,4}-?\d{0,4}(?:,\d{0,4}-?\d{0,4}){0,20}$/);

export const fileRules: readonly ProgramRule[] = [
  {
    id: 'ssh.ls',
    program: 'ls',
    flags: 'aAbBcCdfFgGhiklmnNopqQrsStuUvxX1Z',
    values: { I: searchPattern, w: wholeNumber },
    longs: {
      '--all': null, '--almost-all': null, '--directory': null, '--full-time': null, '--human-readable': null, '--si': null, '--inode': null, '--numeric-uid-gid': null, '--no-group': null, '--reverse': null, '--size': null,
      '--group-directories-first': null, '--classify': null, '--file-type': null, '--time-style': timeStyle, '--sort': sortWord, '--block-size': sizeUnit, '--ignore': searchPattern, '--hide': searchPattern, '--time': oneOf('a time', 'atime', 'access', 'use', 'ctime', 'status', 'birth', 'mtime'),
    },
    optional: { '--color': { kind: colourChoice } },
    operands: { kind: listablePath, max: 32 },
    role: 'source',
    justification: 'lists names and attributes; without `-R`, which could walk everything, and `-L`',
    match: ['ls', 'ls -lh /var/lib/vz/dump', 'ls -lt /etc/pve/nodes', 'ls --full-time /var/lib/vz/template/iso', 'ls -la /etc/pve/qemu-server /etc/pve/lxc'],
    notMatch: ['ls -R /', 'ls /etc/pve/priv', 'ls /proc/1/root', 'ls ../x', 'ls /root/.ssh', 'ls -l /proc/self/fd', 'ls --dired-x'],
  },
  {
    id: 'ssh.cat',
    program: 'cat',
    ...catOptions,
    operands: { kind: readableFile, min: 1, max: 32 },
    role: 'source',
    justification: 'prints files of sysfs and a few of procfs and /etc',
    match: ['cat /sys/class/thermal/thermal_zone*/temp 2>/dev/null', 'cat /proc/meminfo', 'cat -n /etc/hosts', 'cat /etc/pve/storage.cfg', 'cat /sys/devices/system/cpu/online'],
    notMatch: ['cat /etc/shadow', 'cat /sys/../etc/shadow', 'cat //sys/x/y', 'cat /proc/1/environ', 'cat /sys/kernel/debug/tracing/trace_pipe', 'cat /sys/*/*/tracing/trace_pipe', 'cat', 'cat -', 'cat /system/secret', 'cat /etc/pve/storage.cfg/../priv/x'],
  },
  {
    id: 'ssh.grep',
    program: 'grep',
    ...grepOptions,
    first: { kind: searchPattern, unless: patternGiven },
    operands: { kind: readableFile, max: 32 },
    role: 'filter',
    justification: 'searches standard input, or the same files as cat',
    match: ['grep MemFree /proc/meminfo', "grep -m1 'model name' /proc/cpuinfo", 'grep . /sys/class/thermal/thermal_zone0/temp', 'ps aux | grep pveproxy', 'df -h | grep -v tmpfs'],
    notMatch: ['grep root /etc/shadow', 'uptime | grep -f /etc/shadow', 'ls | grep -r root /etc', 'grep -R x /sys/class', 'grep x', 'uptime | grep x /proc/meminfo', 'grep --file=/etc/shadow x'],
  },
  ...(['head', 'tail'] as const).map(
    (program): ProgramRule => ({
      id: `ssh.${program}`,
      program,
      ...headOptions,
      operands: { kind: readableFile, max: 8 },
      role: 'filter',
      justification: `prints the ${program === 'head' ? 'first' : 'last'} lines of standard input, or of the same files as cat`,
      match: [`lsblk | ${program} -n 5`, `ps aux | ${program} -20`, `${program} -n 3 /proc/meminfo`, `df | ${program}`],
      notMatch: [`${program} -n 1 /etc/shadow`, `df | ${program} -n 1 /etc/pve/priv/authkey.key`, `${program}`, `${program} -f /proc/meminfo`, `df | ${program} --follow`],
    }),
  ),
  {
    id: 'ssh.wc',
    program: 'wc',
    ...wcOptions,
    operands: { kind: readableFile, max: 8 },
    role: 'filter',
    justification: 'counts standard input, or the same files as cat',
    match: ['ps aux | wc -l', 'wc -l /proc/cpuinfo'],
    notMatch: ['df -h | wc --files0-from=/etc/shadow', 'wc -l /etc/shadow', 'wc'],
  },
  {
    id: 'ssh.sort',
    program: 'sort',
    flags: 'bdfghiMnrRsuVz',
    values: { k: sortKey, t: character },
    longs: { '--numeric-sort': null, '--reverse': null, '--unique': null, '--human-numeric-sort': null, '--key': sortKey, '--field-separator': character, '--ignore-case': null, '--version-sort': null, '--general-numeric-sort': null, '--stable': null },
    role: 'filter',
    justification: 'sorts standard input; `-o` would write, `--compress-program` would run, `-T` and `--files0-from` name files',
    match: ['ps aux | sort -nrk 4', 'df | sort', 'ps aux | sort -k3,3nr | head'],
    notMatch: ['df | sort -o /etc/motd', 'sort /etc/shadow', 'df | sort --compress-program=x', 'df | sort --files0-from=/etc/shadow', 'df | sort -T /tmp', 'sort'],
  },
  {
    id: 'ssh.uniq',
    program: 'uniq',
    flags: 'cdDiuz',
    values: { f: wholeNumber, s: wholeNumber, w: wholeNumber },
    longs: { '--count': null, '--repeated': null, '--unique': null, '--ignore-case': null },
    role: 'filter',
    justification: 'drops repeated lines of standard input; a second operand would be written',
    match: ['ps aux | sort | uniq -c'],
    notMatch: ['df | uniq - /etc/motd', 'uniq /etc/shadow'],
  },
  {
    id: 'ssh.cut',
    program: 'cut',
    flags: 'sz',
    values: { d: character, f: fieldList, c: fieldList, b: fieldList },
    longs: { '--delimiter': character, '--fields': fieldList, '--characters': fieldList, '--only-delimited': null, '--complement': null, '--output-delimiter': character },
    role: 'filter',
    justification: 'cuts columns out of standard input',
    match: ["ps aux | cut -d ' ' -f 1", 'df | cut -c 1-40'],
    notMatch: ['cut -d : -f 2 /etc/shadow', 'df | cut -f 1 /etc/shadow', 'cut -f 1'],
  },
  {
    id: 'ssh.tr',
    program: 'tr',
    flags: 'cCdst',
    operands: { kind: kind('a set of characters', /^.{1,100}$/u), min: 1, max: 2 },
    role: 'filter',
    justification: 'replaces characters of standard input; its operands are no files',
    match: ["df | tr -s ' '", 'uptime | tr a-z A-Z'],
    notMatch: ['df | tr', 'tr a b'],
  },
  {
    id: 'ssh.column',
    program: 'column',
    flags: 't',
    values: { s: character },
    role: 'filter',
    justification: 'aligns standard input',
    match: ['df | column -t'],
    notMatch: ['column /etc/shadow', 'df | column -t /etc/shadow'],
  },
];
