/** Ways out that were tried by hand and are not a file's or a namespace's matter: descriptors, magic links, sockets of agents, system calls. */
import { spawnSync } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { canSandbox } from './support/bubblewrap.ts';
import { temporaryDirectory } from './support/temporary.ts';
import { openWorkbench } from './support/workbench.ts';

describe.skipIf(!canSandbox)('what a command inherits', () => {
  it('is no descriptor that this process inherited itself: a directory outside is a way out', () => {
    const bench = openWorkbench();
    writeFileSync(path.join(bench.root, 'outside'), 'SECRET');
    const directory = openSync(bench.root, 'r');
    try {
      const child = path.join(import.meta.dirname, 'children/run-and-wait.ts');
      const command = 'ls /proc/self/fd > seen; cat /proc/self/fd/*/outside > read; for f in /proc/1/fd/*; do readlink $f; done > first';
      // As descriptors 3 and 20 without close-on-exec, as a shell's `3<` leaves them.
      const stdio = ['ignore', 'ignore', 'inherit', directory, ...Array<'ignore'>(16).fill('ignore'), directory] as const;
      const run = spawnSync(process.execPath, [child, bench.workspace, bench.state, command], { stdio: [...stdio], timeout: 60_000 });
      expect(run.status).toBe(0);
    } finally {
      closeSync(directory);
    }
    const written = (name: string) => readFileSync(path.join(bench.workspace, name), 'utf8');
    // Three streams, and the directory that `ls` reads.
    expect(written('seen')).toBe('0\n1\n2\n3\n');
    expect(written('read')).toBe('');
    expect(written('first')).not.toContain(bench.root);
  });

  it('is no node of the host’s as standard input', async () => {
    const host = statSync('/dev/null');
    const bench = openWorkbench();
    const result = await bench.run('stat -L -c %d:%i /proc/self/fd/0 /proc/1/fd/0; [[ -c /dev/stdin ]] && echo device; cat | wc -c');
    expect(result.stdout).toMatch(/device\n0\n$/);
    // Who is not root cannot change it.
    expect(process.getuid?.() === 0 && result.stdout.includes(`${host.dev}:${host.ino}`)).toBe(false);
    expect(statSync('/dev/null').mode & 0o777).toBe(0o666);
  });

  it('is no agent’s socket: neither its name nor, where the name is known, the socket', async () => {
    const directory = temporaryDirectory('agents-');
    let connections = 0;
    const reached = (socket: net.Socket) => {
      connections += 1;
      socket.end('REACHED');
    };
    const names = ['SSH_AUTH_SOCK', 'GPG_AGENT_INFO', 'DOCKER_HOST', 'VSCODE_IPC_HOOK_CLI', 'VSCODE_GIT_IPC_HANDLE', 'WAYLAND_DISPLAY'];
    const more = [
      'DBUS_SESSION_BUS_ADDRESS',
      'XAUTHORITY',
      'KRB5CCNAME',
      'XDG_RUNTIME_DIR',
      'ELECTRON_RUN_AS_NODE',
      'REMOTE_CONTAINERS_IPC',
    ];
    const sockets = [...names, ...more].map((name) => [name, path.join(directory, name)] as const);
    const servers = sockets.map(([, file]) => net.createServer(reached).listen(file));
    try {
      const bench = openWorkbench({ environment: { ...process.env, ...Object.fromEntries(sockets), DISPLAY: ':77' } });
      const connect = `perl -MSocket -e 'for (@ARGV) { socket(S,AF_UNIX,SOCK_STREAM,0) or next; connect(S,pack_sockaddr_un($_)) and print <S> }'`;
      const command = `env | grep -E '${[...names, ...more, 'DISPLAY'].join('|')}'; ${connect} ${sockets.map(([, file]) => file).join(' ')}`;
      for (const network of [false, true]) expect((await bench.run(command, { network })).stdout).toBe('');
      expect(connections).toBe(0);
    } finally {
      for (const server of servers) server.close();
    }
  });
});

describe.skipIf(!canSandbox)('what a command reaches through /proc', () => {
  it('is no program of the host, whose mode and times root could change', async () => {
    const bench = openWorkbench();
    // The mode and times that it has: where it works it does no harm.
    const change = 'chmod --reference=$f $f && echo changed; touch -r $f $f && echo touched; exec 5>>$f && echo open';
    const result = await bench.run(
      `for f in /proc/[0-9]*/exe; do ${change}; done; ls -l /proc/1/exe; cat /proc/1/environ | tr '\\0' '\\n'`,
    );
    expect(result.stdout).not.toMatch(/changed|touched|open|bwrap/);
    // The link that `ls` shows: of its attempts something was seen.
    expect(result.stdout).toContain('/proc/1/exe -> ');
  });

  it('is no setting of a process or of the kernel', async () => {
    const files = ['self/oom_score_adj', '1/oom_score_adj', 'self/uid_map', 'self/setgroups', 'self/mem', '1/mem', 'self/attr/current'];
    const kernel = ['kernel/core_pattern', 'kernel/modprobe', 'kernel/pid_max', 'user/max_user_namespaces', 'fs/binfmt_misc/register'];
    const all = [...files, ...kernel.map((name) => `sys/${name}`), 'sysrq-trigger', 'self/timerslack_ns', 'self/clear_refs'];
    const result = await openWorkbench().run(
      `for f in ${all.join(' ')}; do (exec 5<>/proc/$f) && echo $f; done; ls /sys; cat /proc/1/map_files/*`,
    );
    expect(result.stdout).toBe('');
  });
});

// Numbers of x86-64; the filter's own tests cover the other machine. Arguments that would do no harm.
const calls: Readonly<Record<string, string>> = {
  process_vm_readv: '310, 1, 0, 0, 0, 0, 0',
  'unshare of a user namespace': '272, 0x10000000',
  setns: '308, 0, 0',
  io_uring_setup: '425, 8, my $params = "\\0" x 256',
  bpf: '321, 0, my $attr = "\\0" x 64, 48',
  keyctl: '250, 0, -3, 1',
  perf_event_open: '298, my $event = "\\0" x 128, 0, -1, -1, 0',
  userfaultfd: '323, 0',
  mount: '165, my $none = "none", my $at = "/tmp", my $type = "tmpfs", 0, 0',
  fsopen: '430, my $name = "tmpfs", 0',
  open_by_handle_at: '304, -100, my $handle = "\\0" x 64, 0',
  pidfd_getfd: '438, 0, 0, 0',
  fanotify_init: '300, 0, 0',
  kexec_load: '246, 0, 0, 0, 0',
  init_module: '175, 0, 0, my $options = ""',
  'real-time scheduling': '144, 0, 1, my $priority = pack("i", 1)',
  'the kernel log': '103, 3, my $log = "\\0" x 64, 64',
  'mknod of a device': '133, my $node = "node", 020666, 0x105',
};

describe.skipIf(!canSandbox || process.arch !== 'x64' || !existsSync('/usr/bin/perl'))('a system call that a command makes', () => {
  it('is refused where it reaches beyond the sandbox; an ordinary one is not', async () => {
    const attempts = Object.entries(calls).map(([name, args]) => `print "${name}\\n" if syscall(${args}) != -1;`);
    const bench = openWorkbench();
    bench.files({ 'calls.pl': [...attempts, 'print "ordinary\\n" if syscall(39) > 0;'].join('\n') });
    await expect(bench.run('perl calls.pl')).resolves.toMatchObject({ stdout: 'ordinary\n', stderr: '' });
  });

  it('ends the program where it is of the 32-bit kind', async () => {
    // 128 + SIGSYS.
    await expect(openWorkbench().run('perl -e "syscall(0x40000000 + 39)"')).resolves.toMatchObject({ exitCode: 159 });
  });
});
