/**
 * A program that tries to get out. It runs inside the very sandbox that commands get and prints one `name=answer` line per attempt:
 * `held`, `escaped` or `untried` (the tool for it is not installed; then the facts about the process must hold). `control` must escape.
 */

export interface CanaryBait {
  /** A file of the host that anybody may read and write, outside the workspace, and what is in it. */
  readonly outside: string;
  readonly secret: string;
  /** The host's `/dev/full`: file system and inode, `5:7`. */
  readonly device: string;
  /** Processes that it may have at once. */
  readonly tasks: number;
  /** Namespaces of this process: `net` → `net:[4026531840]`. */
  readonly namespaces: Readonly<Record<string, string>>;
  /** Printed last, so that output which was cut short is no pass. */
  readonly nonce: string;
  /** Names that may be in the environment. */
  readonly environment: readonly string[];
}

/** Attempts that must be held for the sandbox to count as enforced. */
export const attempts = {
  write_outside: 'a file outside was written',
  read_outside: 'a file outside could be read',
  write_system: 'the system could be written',
  write_kernel: 'settings of the kernel could be written',
  devices: "the host's devices could be changed",
  launcher: "a program of the host's could be changed through /proc",
  remount: 'a read-only mount was made writable',
  network: 'a network was reachable',
  user_namespace: 'a new user namespace was made',
  capabilities: 'capabilities were left',
  no_new_privileges: 'privileges could be gained',
  system_call_filter: 'no system call filter was in force',
  foreign_memory: 'memory of another process could be read by a call',
  vsock: 'a socket to the hypervisor could be made',
  set_id: 'a set-user-id file could be made',
  environment: "the caller's environment was visible",
  processes: "the host's processes were visible",
  namespaces: "a namespace was the host's own",
  process_limit: 'nothing limited the number of processes',
} as const;

export type Attempt = keyof typeof attempts;

// Perl is on nearly every system, and makes system calls by number.
const readMemory = { x64: 310, arm64: 270 };

// oxlint-disable-next-line max-lines-per-function -- one script, an attempt a line
export function canaryScript(bait: CanaryBait, architecture: 'x64' | 'arm64'): string {
  const quote = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;
  const names = bait.environment.join('|');
  return `
say() { echo "$1=$2"; }
held() { if "\${@:2}" >/dev/null 2>&1; then say "$1" escaped; else say "$1" held; fi; }
control() { echo x > control && [[ $(cat control) == x ]] && grep -q x control && chmod 600 control && : > /tmp/control && [[ -r /proc/self/status && -r /proc/1/environ && -r /proc/net/dev ]]; }
held control control
have() { "$1" --version >/dev/null 2>&1; }
write() { echo escaped > "$1"; }
held read_outside grep -q ${quote(bait.secret)} ${quote(bait.outside)}
write ${quote(bait.outside)} >/dev/null 2>&1
say write_outside held # what the host sees of it decides
system() { write /usr/banksman-canary || write /etc/banksman-canary || write /banksman-canary || write /dev/banksman-canary; }
held write_system system
# Opened and not written: where it works it must do no harm.
kernel() { (exec 8>>/proc/sys/kernel/core_pattern) || (exec 8>>/proc/sysrq-trigger); }
held write_kernel kernel
# The mode that it has already: where it works it must do no harm.
devices() { [[ $(stat -c %d:%i /dev/full) == ${quote(bait.device)} ]] && chmod --reference=/dev/full /dev/full || input; }
input() { [[ $(stat -L -c %d /proc/self/fd/0) == ${quote(bait.device.split(':', 1)[0] ?? '')} ]] && chmod --reference=/proc/self/fd/0 /proc/self/fd/0; }
held devices devices
launcher() { local link; for link in /proc/[0-9]*/exe; do chmod --reference="$link" "$link" && return 0; done; return 1; }
held launcher launcher
remount() { mount -o remount,rw,bind /usr || mount -o remount,rw /usr || mount -t tmpfs none /usr; }
if have mount; then held remount remount; else say remount untried; fi
reach() { exec 9<>/dev/tcp/192.0.2.1/9; }
interfaces() { local line; while read -r line; do case $line in lo:*|*'|'*) ;; *:*) [[ $line == sit*:* || $line == tunl*:* || $line == ip6tnl*:* || $line == gre*:* || $line == erspan*:* || $line == ip_vti*:* || $line == ip6_vti*:* || $line == ip6gre*:* ]] || return 0;; esac; done < /proc/net/dev; return 1; }
network() { interfaces || (reach); }
held network network
if have unshare; then held user_namespace unshare -U true; else say user_namespace untried; fi
fact() { local key value; while read -r key value; do [[ $key == "$1:" ]] && { echo "$value"; return; }; done < /proc/self/status; }
nonzero() { [[ "$(fact CapEff)$(fact CapPrm)$(fact CapBnd)$(fact CapInh)$(fact CapAmb)" =~ [1-9a-f] ]]; }
held capabilities nonzero
gains() { [[ $(fact NoNewPrivs) != 1 ]]; }
held no_new_privileges gains
unfiltered() { [[ $(fact Seccomp) != 2 ]]; }
held system_call_filter unfiltered
if have perl; then
held foreign_memory perl -e 'exit(syscall(${readMemory[architecture]}, $$, 0, 0, 0, 0, 0) == 0 ? 0 : 1)'
held vsock perl -e 'exit(socket(my $s, 40, 1, 0) ? 0 : 1)'
else say foreign_memory untried; say vsock untried; fi
setid() { : > /tmp/canary-set-id && chmod 4755 /tmp/canary-set-id; }
held set_id setid
leak() { local entry; while IFS= read -r -d '' entry; do [[ "\${entry%%=*}" =~ ^(${names})$ ]] || return 0; done < "$1"; return 1; }
environment() { leak /proc/self/environ || leak /proc/1/environ; }
held environment environment
foreign() { local count=0 entry; for entry in /proc/[0-9]*; do count=$((count + 1)); done; (( count > 8 )); }
held processes foreign
shared() { ${Object.entries(bait.namespaces)
    .map(([name, inode]) => `[[ $(readlink /proc/self/ns/${name}) == ${quote(inode)} ]]`)
    .join(' || ')}; }
held namespaces shared
# The last one: after it there may be no process left to start. Bash tries for long, and says so at once.
many() { local i; for ((i = 0; i < ${bait.tasks}; i++)); do sleep 60 & done; echo all; }
unlimited() { local line; read -r line < <(many 2>&1); [[ $line == all ]]; }
held process_limit unlimited
echo done=${bait.nonce}
`;
}
