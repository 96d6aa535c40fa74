/** Each page carries the lines that it must allow and must not; here they are tried, and what a refusal says. */
import { describe, expect, it } from 'vitest';
import { decideSshCommand } from '../../../../src/policy/ssh/decide-ssh-command.ts';
import type { Page } from '../../../../src/policy/ssh/page.ts';
import { sshPages } from '../../../../src/policy/ssh/pages/index.ts';

const examples = (text: string): readonly string[] => text.split(/\n\s*| {2,}/).filter((line) => line !== '');
const effect = (line: string) => decideSshCommand(line).decision.effect;
const reason = (line: string) => decideSshCommand(line).decision.reason;

describe('a page', () => {
  it('names programs that no other page names', () => {
    const names = sshPages.flatMap(([programs]) => programs);
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
    expect(names.filter((name) => !/^(?:[A-Za-z0-9][A-Za-z0-9_-]*|\[)$/.test(name))).toEqual([]);
  });

  it.each(sshPages.map(([names, page]): [string, Page] => [names.join(' '), page]))('%s', (_names, { match, notMatch, why }) => {
    expect(why.length).toBeGreaterThan(10);
    expect(examples(match).length).toBeGreaterThan(0);
    expect(examples(notMatch).length).toBeGreaterThan(0);
    expect(examples(match).filter((line) => effect(line) === 'deny')).toEqual([]);
    expect(examples(notMatch).filter((line) => effect(line) !== 'deny')).toEqual([]);
  });

  it('takes no option that it does not name', () => {
    const open = sshPages
      .flatMap(([names]) => names)
      .filter((name) => [`${name} --zzz-unknown`, `${name} -o/etc/x`, `${name} zzz-verb --zzz`].some((line) => effect(line) === 'allow'));
    expect(open).toEqual(['echo', 'printf', 'true'].filter((name) => open.includes(name)));
  });
});

describe('a person is asked', () => {
  it.each([
    ['ping -c 3 10.0.0.2', 'ping -c 3 10.0.0.2'],
    ['ceph config dump', 'ceph config dump'],
    ['find / -xdev -size +1G', 'find / -xdev -size +1G'],
    ['pvereport | head', 'pvereport | head'],
  ])('before %s', (line, canonical) => {
    expect(decideSshCommand(line)).toMatchObject({ decision: { effect: 'ask', code: 'confirmation_required' }, canonical });
  });

  it('also where the words would be taken no notice of', () => {
    expect(effect('pvereport --help')).toBe('deny');
    expect(effect('qm --help')).toBe('allow');
    expect(effect('df | grep --version')).toBe('deny');
  });

  it('but not of a line that is refused anyway', () => {
    expect(effect('ping -c 3 10.0.0.2; reboot')).toBe('deny');
  });
});

describe('a refusal', () => {
  it.each([
    ['systemctl restart pveproxy', 'use the tool restart_service'],
    ['qm stop 100', 'use the tools for guests'],
    ['journalctl -f', 'read the last lines with `-n 100`'],
    ['sudo uptime', 'leave it out'],
    ['for d in a; do echo x; done', 'joined by `;`'],
    ['vmstat 1', 'add a count'],
    ['top', 'without `-b -n 1`'],
    ['dmesg -H', 'add `--nopager`'],
    ['systemctl show x', 'the environment'],
    ['pveum user add x', '`pveum user list`'],
    ['du -a /', 'without `-s` or `-d 1`'],
  ])('of %s says what to do instead', (line, words) => {
    expect(reason(line)).toContain(words);
  });

  it('says the place, and never the whole command', () => {
    const line = `cat /etc/hosts /etc/${'x'.repeat(300)}`;
    expect(reason(line)).toMatch(/^refused at character 16: `\/etc\/x/);
    expect(reason(line).length).toBeLessThan(400);
    expect(reason('zpool destroy rpool')).toMatch(/at character 7: .*`status`, `list`/);
  });
});

describe('what stands between commands', () => {
  it.each([
    ['uptime; df -h', 'uptime; df -h'],
    ["echo  '== disks' &&  lsblk 2>/dev/null", "echo '== disks' && lsblk 2>/dev/null"],
    ['systemctl is-active x || echo down', 'systemctl is-active x || echo down'],
    ['ls /sys/class/net/*/address', 'ls /sys/class/net/*/address'],
    ['df | grep a*', "df | grep 'a*'"],
  ])('%s', (line, canonical) => {
    expect(decideSshCommand(line)).toMatchObject({ decision: { effect: 'allow' }, canonical });
  });

  it.each([
    'uptime;',
    'uptime & df',
    'uptime |& cat',
    'uptime > /dev/null',
    'cat < /etc/hosts',
    'df |',
    'uptime\ndf',
    'ls /e*/hosts',
    'cat /etc/*.conf',
    'cat /proc/*/environ',
  ])('refuses %j', (line) => {
    expect(effect(line)).toBe('deny');
  });
});

describe('places', () => {
  it.each([
    ['/var/log/syslog', true],
    ['/var/log/*.log', true],
    ['/var/log/pve/tasks/active', true],
    ['/var/log', false],
    ['/var/log/', false],
    ['/var/log/btmp', false],
    ['/var/log/bt*', false],
    ['/var/log/*', false],
    ['/var/log/../../etc/shadow', false],
    ['/var/log/./syslog', false],
    ['/etc/modprobe.d/*.conf', true],
    ['/etc/modprobe.d/.x', false],
    ['/etc/pve/qemu-server/*.conf', true],
    ['/etc/pve/qemu-server/*', false],
    ['/etc/pve/nodes/*/lxc/1?1.conf', true],
    ['/etc/pve/nodes/*/pve-ssl.key', false],
    ['/etc/pve/nodes/*/*', false],
    ['/etc/pve/sdn/*.cfg', false],
    ['/etc/sh*', false],
    ['/etc/systemd/*.conf', true],
    ['/proc/[0-9]*/status', true],
    ['/proc/*/environ', false],
    ['/proc/*/*', false],
    ['/proc/self/root/etc/hosts', false],
    ['/proc/sys/net/ipv6/conf/*/stable_secret', false],
    ['/proc/sys/net/ipv6/conf/*/*', false],
    ['/sys/class/net/*/address', true],
    ['/sys/kernel/*/tracing/trace_pipe', false],
    ['/sys/bus/pci/devices/*/config', false],
    [`/var/log/${'*a'.repeat(40)}`, false],
  ])('%s', (place, readable) => {
    expect(effect(`cat ${place}`)).toBe(readable ? 'allow' : 'deny');
  });
});
