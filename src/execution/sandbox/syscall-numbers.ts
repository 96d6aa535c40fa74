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

/**
 * Answered as by a file system that cannot do it. SECURITY: `fallocate` takes gigabytes of the disk in an instant, before anybody looks;
 * `posix_fallocate(3)` writes instead, and is held by the limits on files and on the disk.
 */
export const unsupportedCalls: Readonly<Record<string, Numbers>> = {
  fallocate: [285, 47],
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
} as const satisfies Readonly<Record<string, Numbers>>;
