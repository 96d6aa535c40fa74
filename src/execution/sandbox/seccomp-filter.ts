/**
 * The seccomp filter as the classic BPF program that `bwrap --seccomp` loads: what namespaces and a bare root leave open. Source:
 * `seccomp(2)`, `linux/filter.h`, `linux/seccomp.h`. Everything is allowed but what is named.
 */

export interface SeccompOptions {
  readonly architecture: Architecture;
  /** The network namespace is the host's: then no socket may be of the kind that reaches the host's own programs. */
  readonly network: boolean;
  /** The set-group-id bit may be set: what the command changes is judged, and a file with it held. */
  readonly groupId?: boolean | undefined;
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

const setUserId = 0o4000;
const setGroupId = 0o2000;
const createFlags = 0o100 | 0x400000; // O_CREAT, __O_TMPFILE
// CLONE_NEWTIME shares its bit with the exit signal's and is for clone3 and unshare only.
const namespaceFlags = 0x00020000 | 0x02000000 | 0x04000000 | 0x08000000 | 0x10000000 | 0x20000000 | 0x40000000;
// FALLOC_FL_PUNCH_HOLE, FALLOC_FL_COLLAPSE_RANGE, FALLOC_FL_INSERT_RANGE: the kernel takes none of them with a mode that allocates.
const withoutAllocation = 0x02 | 0x08 | 0x20;
const [unix, inet, inet6, netlink] = [1, 2, 10, 16];
// Both put characters into a terminal's input queue.
const terminalInjection = [0x5412 /* TIOCSTI */, 0x541c /* TIOCLINUX */];

type CheckedCall = keyof typeof checkedCalls;

const made = new Map<string, Buffer>();

/** @returns the program's bytes, 8 an instruction */
export function seccompFilter({ architecture, network, groupId = false }: SeccompOptions): Buffer {
  const key = `${architecture} ${network} ${groupId}`;
  const program = made.get(key) ?? programOf({ architecture, network, groupId });
  made.set(key, program);
  return program;
}

function programOf(options: SeccompOptions): Buffer {
  const machine = machines[options.architecture];
  const number = (pair: readonly (number | undefined)[]) => pair[machine.column];
  const rules = [
    ...Object.values(refusedCalls).map((pair) => [number(pair), [answer(refuse)]] as const),
    ...Object.values(absentCalls).map((pair) => [number(pair), [answer(absent)]] as const),
    ...Object.entries(argumentChecks(options)).map(([name, body]) => [number(checkedCalls[name as CheckedCall]), body] as const),
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

function argumentChecks({ network, groupId }: SeccompOptions): Readonly<Record<CheckedCall, readonly Instruction[]>> {
  const setIdBits = groupId ? setUserId : setUserId | setGroupId;
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
    // SECURITY: an allocation takes gigabytes of the disk in an instant, before anybody looks. Answered as by a file system that has none:
    // `posix_fallocate(3)` writes instead, and is held by the limits on files and on the disk. What gives room back or moves it is harmless.
    fallocate: [argument(1), ...whenAnySet(withoutAllocation, [answer(allow)]), answer(unsupported)],
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

/**
 * System call numbers of the machines that the filter is built for. Source: Linux 6.x `arch/x86/entry/syscalls/syscall_64.tbl` and
 * `include/uapi/asm-generic/unistd.h` (arm64). `undefined`: this machine has no such call.
 */

interface Machine {
  /** `AUDIT_ARCH_*` of `linux/audit.h`. */
  readonly auditArch: number;
  /** Column of the table below. */
  readonly column: 0 | 1;
  /** Calls from this number on belong to another ABI (x32) that would walk round the filter. */
  readonly foreignFrom?: number;
}

export type Architecture = 'x64' | 'arm64';

export const machines: Readonly<Record<Architecture, Machine>> = {
  x64: { auditArch: 0xc000003e, column: 0, foreignFrom: 0x40000000 },
  arm64: { auditArch: 0xc00000b7, column: 1 },
};

type Numbers = readonly [x64: number | undefined, arm64: number | undefined];

/** Refused whatever their arguments. */
export const refusedCalls: Readonly<Record<string, Numbers>> = {
  // Into other processes. Not ptrace: debuggers and leak checkers need it, it reaches the sandbox's own processes only, and a tracer cannot get
  // a call past this filter (Linux 4.8, `seccomp(2)`).
  process_vm_readv: [310, 270],
  process_vm_writev: [311, 271],
  process_madvise: [440, 440],
  kcmp: [312, 272],
  pidfd_getfd: [438, 438],
  perf_event_open: [298, 241],
  // Large parts of the kernel that a build does not need.
  bpf: [321, 280],
  userfaultfd: [323, 282],
  io_uring_setup: [425, 425],
  io_uring_enter: [426, 426],
  io_uring_register: [427, 427],
  keyctl: [250, 219],
  add_key: [248, 217],
  request_key: [249, 218],
  modify_ldt: [154, undefined],
  uselib: [134, undefined],
  fanotify_init: [300, 262],
  // The mount tree and namespaces.
  mount: [165, 40],
  umount2: [166, 39],
  pivot_root: [155, 41],
  chroot: [161, 51],
  fsopen: [430, 430],
  fsconfig: [431, 431],
  fsmount: [432, 432],
  fspick: [433, 433],
  move_mount: [429, 429],
  open_tree: [428, 428],
  open_tree_attr: [467, 467],
  mount_setattr: [442, 442],
  unshare: [272, 97],
  setns: [308, 268],
  open_by_handle_at: [304, 265],
  // The machine.
  kexec_load: [246, 104],
  kexec_file_load: [320, 294],
  init_module: [175, 105],
  finit_module: [313, 273],
  delete_module: [176, 106],
  acct: [163, 89],
  swapon: [167, 224],
  swapoff: [168, 225],
  reboot: [169, 142],
  quotactl: [179, 60],
  quotactl_fd: [443, 443],
  syslog: [103, 116],
  settimeofday: [164, 170],
  clock_settime: [227, 112],
  adjtimex: [159, 171],
  clock_adjtime: [305, 266],
  vhangup: [153, 58],
  iopl: [172, undefined],
  ioperm: [173, undefined],
};

/** Their arguments are behind a pointer, where a filter cannot look: "not there", so that callers use the older call. */
export const absentCalls: Readonly<Record<string, Numbers>> = {
  clone3: [435, 435],
  openat2: [437, 437],
};

/** Refused with some arguments. */
export const checkedCalls = {
  clone: [56, 220],
  open: [2, undefined],
  openat: [257, 56],
  creat: [85, undefined],
  chmod: [90, undefined],
  fchmod: [91, 52],
  fchmodat: [268, 53],
  fchmodat2: [452, 452],
  mknod: [133, undefined],
  mknodat: [259, 33],
  socket: [41, 198],
  socketpair: [53, 199],
  ioctl: [16, 29],
  fallocate: [285, 47],
} as const satisfies Readonly<Record<string, Numbers>>;
