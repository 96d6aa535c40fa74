import { describe, expect, it } from 'vitest';
import { type Architecture, absentCalls, checkedCalls, machines, refusedCalls, seccompFilter } from '#execution/sandbox/seccomp-filter';
import { runFilter } from './run-filter.ts';

const allowed = 0x7fff0000;
const refused = 0x00050001;
const absent = 0x00050026;
const killed = 0x80000000;

const architectures: readonly Architecture[] = ['x64', 'arm64'];

describe.each(architectures)('the system call filter on %s', (architecture) => {
  const { auditArch, column } = machines[architecture];
  const answer = (number: number, args: readonly number[] = [], network = false) =>
    runFilter(seccompFilter({ architecture, network }), { number, architecture: auditArch, args });
  const numberOf = (name: keyof typeof checkedCalls) => checkedCalls[name][column];
  const check = (name: keyof typeof checkedCalls, args: readonly number[], network = false) => {
    const number = numberOf(name);
    return number === undefined ? undefined : answer(number, args, network);
  };

  it('refuses every call of the list', () => {
    const numbers = Object.values(refusedCalls).flatMap((pair) => pair[column] ?? []);
    expect(numbers.length).toBeGreaterThan(40);
    expect(numbers.filter((number) => answer(number) !== refused)).toEqual([]);
  });

  it('has calls whose arguments it cannot see look absent', () => {
    for (const numbers of Object.values(absentCalls)) expect(answer(numbers[column]!)).toBe(absent);
  });

  it('answers as a file system that cannot take room in advance, and lets it be given back', () => {
    // Plain, keep size, zero range, unshare.
    for (const mode of [0, 0x01, 0x10, 0x11, 0x40]) expect(check('fallocate', [3, mode, 0, 1])).toBe(0x0005005f);
    // Punch hole (always with keep size), collapse, insert.
    for (const mode of [0x03, 0x08, 0x20]) expect(check('fallocate', [3, mode, 0, 1])).toBe(allowed);
  });

  it('allows the calls that every program makes', () => {
    const named = new Set(
      [...Object.values(refusedCalls), ...Object.values(absentCalls), ...Object.values(checkedCalls)].map((pair) => pair[column]),
    );
    const others = Array.from({ length: 470 }, (_, number) => number).filter((number) => !named.has(number));
    expect(others.filter((number) => answer(number) !== allowed)).toEqual([]);
  });

  it('ends a program that speaks another ABI', () => {
    const filter = seccompFilter({ architecture, network: false });
    // i386 and 32-bit ARM.
    for (const other of [0x40000003, 0x40000028]) expect(runFilter(filter, { number: 20, architecture: other })).toBe(killed);
    // x32; arm64 has no such calls, and the kernel answers for itself.
    expect(answer(0x40000000 + 41, [40])).toBe(architecture === 'x64' ? killed : allowed);
  });

  it('lets processes and threads be made, but no namespace', () => {
    expect(check('clone', [0x01200011])).toBe(allowed);
    expect(check('clone', [0x003d0f00])).toBe(allowed);
    for (const flag of [0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000])
      expect(check('clone', [flag | 17])).toBe(refused);
  });

  it('lets files have every mode but set-id', () => {
    for (const mode of [0o777, 0o1777, 0o644]) {
      expect(check('fchmod', [3, mode])).toBe(allowed);
      expect(check('fchmodat', [-100, 0, mode])).toBe(allowed);
    }
    for (const mode of [0o4755, 0o2755, 0o6000]) {
      for (const [name, args] of [
        ['chmod', [0, mode]],
        ['fchmod', [3, mode]],
        ['fchmodat', [-100, 0, mode]],
        ['fchmodat2', [-100, 0, mode, 0]],
        ['mknod', [0, 0o100000 | mode, 0]],
        ['mknodat', [-100, 0, 0o100000 | mode, 0]],
        ['creat', [0, mode]],
        ['open', [0, 0o101, mode]],
        ['openat', [-100, 0, 0o101, mode]],
        ['openat', [-100, 0, 0o20200000 | 1, mode]],
      ] as const)
        expect([name, check(name, args) ?? refused]).toEqual([name, refused]);
    }
  });

  it('lets the set-group-id bit be set over a view, and no other', () => {
    const number = checkedCalls.fchmod[column];
    const program = seccompFilter({ architecture, network: false, groupId: true });
    const over = (mode: number) => runFilter(program, { architecture: auditArch, number, args: [3, mode] });
    expect([0o2775, 0o755, 0o4755, 0o6755].map(over)).toEqual([allowed, allowed, refused, refused]);
  });

  it('does not take the mode for one where nothing is made', () => {
    expect(check('openat', [-100, 0, 0, 0o4755])).toBe(allowed);
    expect(check('openat', [-100, 0, 0o101, 0o644])).toBe(allowed);
  });

  it.each([
    ['unix', 1, 0, true, false],
    ['inet', 2, 0, true, true],
    ['inet6', 10, 0, true, true],
    ['routing netlink', 16, 0, true, true],
    ['audit netlink', 16, 9, false, false],
    ['netfilter netlink', 16, 12, false, false],
    ['packet', 17, 0, false, false],
    ['crypto', 38, 0, false, false],
    ['vsock', 40, 0, false, false],
    ['xdp', 44, 0, false, false],
    ['bluetooth', 31, 0, false, false],
    ['can', 29, 0, false, false],
    ['unspecified', 0, 0, false, false],
  ] as const)('has sockets of family %s without and with a network as it should', (...row) => {
    const [, family, protocol, without, granted] = row;
    expect(check('socket', [family, 1, protocol])).toBe(without ? allowed : refused);
    expect(check('socket', [family, 1, protocol], true)).toBe(granted ? allowed : refused);
  });

  it('lets pairs be made within a program, with a network, too', () => {
    for (const network of [false, true]) {
      expect(check('socketpair', [1, 1, 0], network)).toBe(allowed);
      expect(check('socketpair', [40, 1, 0], network)).toBe(refused);
    }
  });

  it('looks at the half of an argument that the kernel looks at', () => {
    expect(check('socket', [2 ** 32 + 40, 1, 0])).toBe(refused);
    expect(check('ioctl', [0, 2 ** 32 + 0x5412])).toBe(refused);
  });

  it('lets a terminal be asked, but not typed into', () => {
    expect(check('ioctl', [0, 0x5401])).toBe(allowed);
    for (const request of [0x5412, 0x541c]) expect(check('ioctl', [0, request])).toBe(refused);
  });

  it('fits into what the kernel takes', () => {
    expect(seccompFilter({ architecture, network: true }).length / 8).toBeLessThanOrEqual(4_096);
  });
});
