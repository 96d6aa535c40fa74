/**
 * The seccomp filter as the classic BPF program that `bwrap --seccomp` loads: what namespaces and a bare root leave open. Source:
 * `seccomp(2)`, `linux/filter.h`, `linux/seccomp.h`. Everything is allowed but what is named.
 */
import { type Architecture, absentCalls, checkedCalls, machines, refusedCalls, unsupportedCalls } from './syscall-numbers.ts';

export interface SeccompOptions {
  readonly architecture: Architecture;
  /** The network namespace is the host's: then no socket may be of the kind that reaches the host's own programs. */
  readonly network: boolean;
}

const load = 0x20; // BPF_LD | BPF_W | BPF_ABS
const jumpEqual = 0x15; // BPF_JMP | BPF_JEQ | BPF_K
const jumpAtLeast = 0x35; // BPF_JMP | BPF_JGE | BPF_K
const jumpAnySet = 0x45; // BPF_JMP | BPF_JSET | BPF_K
const giveBack = 0x06; // BPF_RET | BPF_K

const allow = 0x7fff0000;
const killProcess = 0x80000000;
const refuse = 0x00050000 | 1; // SECCOMP_RET_ERRNO, EPERM
const absent = 0x00050000 | 38; // SECCOMP_RET_ERRNO, ENOSYS
const unsupported = 0x00050000 | 95; // SECCOMP_RET_ERRNO, EOPNOTSUPP

// Offsets in `struct seccomp_data`; of 64-bit arguments the low half, little-endian on both machines.
const offsetOfCall = 0;
const offsetOfArchitecture = 4;
const offsetOfArgument = (index: number) => 16 + 8 * index;

interface Instruction {
  readonly code: number;
  /** Instructions to skip when true and when false. */
  readonly whenTrue?: number;
  readonly whenFalse?: number;
  readonly value: number;
}

const answer = (value: number): Instruction => ({ code: giveBack, value });
const loadFrom = (offset: number): Instruction => ({ code: load, value: offset });
const argument = (index: number) => loadFrom(offsetOfArgument(index));
/** `body` when the loaded word is `value`. A body must end in an answer, or the next rule would compare an argument. */
const when = (value: number, body: readonly Instruction[]): readonly Instruction[] => [
  { code: jumpEqual, value, whenFalse: body.length },
  ...body,
];
const whenAnySet = (bits: number, body: readonly Instruction[]): readonly Instruction[] => [
  { code: jumpAnySet, value: bits, whenFalse: body.length },
  ...body,
];

const setIdBits = 0o6000;
const createFlags = 0o100 | 0x400000; // O_CREAT, __O_TMPFILE
// CLONE_NEWTIME shares its bit with the exit signal's and is for clone3 and unshare only.
const namespaceFlags = 0x00020000 | 0x02000000 | 0x04000000 | 0x08000000 | 0x10000000 | 0x20000000 | 0x40000000;
const [unix, inet, inet6, netlink] = [1, 2, 10, 16];
// Both put characters into a terminal's input queue.
const terminalInjection = [0x5412 /* TIOCSTI */, 0x541c /* TIOCLINUX */];

type CheckedCall = keyof typeof checkedCalls;

const made = new Map<string, Buffer>();

/** @returns the program's bytes, 8 an instruction */
export function seccompFilter({ architecture, network }: SeccompOptions): Buffer {
  const key = `${architecture} ${network}`;
  const program = made.get(key) ?? programOf({ architecture, network });
  made.set(key, program);
  return program;
}

function programOf(options: SeccompOptions): Buffer {
  const machine = machines[options.architecture];
  const number = (pair: readonly (number | undefined)[]) => pair[machine.column];
  const rules = [
    ...Object.values(refusedCalls).map((pair) => [number(pair), [answer(refuse)]] as const),
    ...Object.values(absentCalls).map((pair) => [number(pair), [answer(absent)]] as const),
    ...Object.values(unsupportedCalls).map((pair) => [number(pair), [answer(unsupported)]] as const),
    ...Object.entries(argumentChecks(options.network)).map(([name, body]) => [number(checkedCalls[name as CheckedCall]), body] as const),
  ];
  return assemble([
    loadFrom(offsetOfArchitecture),
    // A 32-bit program speaks with other numbers.
    { code: jumpEqual, value: machine.auditArch, whenTrue: 1 },
    answer(killProcess),
    loadFrom(offsetOfCall),
    ...(machine.foreignFrom === undefined ? [] : [{ code: jumpAtLeast, value: machine.foreignFrom, whenFalse: 1 }, answer(killProcess)]),
    ...rules.flatMap(([call, body]) => (call === undefined ? [] : when(call, body))),
    answer(allow),
  ]);
}

function argumentChecks(network: boolean): Readonly<Record<CheckedCall, readonly Instruction[]>> {
  const setId = (mode: number) => [argument(mode), ...whenAnySet(setIdBits, [answer(refuse)]), answer(allow)];
  const created = (flags: number, mode: number) => {
    const body = setId(mode);
    return [argument(flags), ...whenAnySet(createFlags, body), answer(allow)];
  };
  return {
    clone: [argument(0), ...whenAnySet(namespaceFlags, [answer(refuse)]), answer(allow)],
    // SECURITY: the sandbox's user is the host's user, root included: a set-id file in the workspace would be worth something outside.
    open: created(1, 2),
    openat: created(2, 3),
    creat: setId(1),
    chmod: setId(1),
    fchmod: setId(1),
    fchmodat: setId(2),
    fchmodat2: setId(2),
    mknod: setId(1),
    mknodat: setId(2),
    socket: socketCheck(network ? [inet, inet6] : [unix, inet, inet6]),
    socketpair: socketCheck([unix]),
    ioctl: [argument(1), ...terminalInjection.flatMap((request) => when(request, [answer(refuse)])), answer(allow)],
  };
}

/**
 * SECURITY: AF_VSOCK reaches the hypervisor (on WSL the host's programs) whatever the network namespace. With the host's network,
 * AF_UNIX would reach abstract sockets: they belong to the network namespace, not to a directory. Netlink: routing only.
 */
function socketCheck(families: readonly number[]): readonly Instruction[] {
  const route = [argument(2), ...when(0, [answer(allow)]), answer(refuse)];
  return [argument(0), ...families.flatMap((family) => when(family, [answer(allow)])), ...when(netlink, route), answer(refuse)];
}

/** `struct sock_filter { u16 code; u8 jt; u8 jf; u32 k; }` */
function assemble(instructions: readonly Instruction[]): Buffer {
  const program = Buffer.alloc(instructions.length * 8);
  instructions.forEach(({ code, whenTrue = 0, whenFalse = 0, value }, index) => {
    const at = index * 8;
    program.writeUInt16LE(code, at);
    program.writeUInt8(whenTrue, at + 2);
    program.writeUInt8(whenFalse, at + 3);
    program.writeUInt32LE(value >>> 0, at + 4);
  });
  return program;
}
