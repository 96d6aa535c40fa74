/** Command lines by the thousand: from a grammar that knows the interesting words, and by mutating lines that are known. Seeded. */

/** A small generator (mulberry32): the same seed gives the same lines. */
export function createRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let value = Math.imul(state ^ (state >>> 15), 1 | state);
    value = (value + Math.imul(value ^ (value >>> 7), 61 | value)) ^ value;
    return ((value ^ (value >>> 14)) >>> 0) / 4_294_967_296;
  };
}

const programs: Readonly<Record<'readonly_bash' | 'ssh', readonly string[]>> = {
  readonly_bash: ['ls', 'cat', 'grep', 'find', 'wc', 'head', 'tail', 'sort', 'sed', 'cd', 'echo', 'tee', 'xargs', 'rm'],
  ssh: ['hostname', 'date', 'df', 'free', 'ls', 'cat', 'grep', 'ps', 'top', 'lsblk', 'uptime', 'who', 'last', 'dmesg', 'ss', 'ip', 'head', 'tail', 'wc', 'sort', 'cut', 'uniq', 'tr', 'systemctl', 'journalctl', 'pvesh', 'vmstat', 'uname'],
};
const operands: Readonly<Record<'readonly_bash' | 'ssh', readonly string[]>> = {
  readonly_bash: [
    ...['.', 'src', 'file.txt', 'README.md', 'a.txt', 'src/*.ts', '*.md', '*', '.*', '.e*', 'link_in', 'link_in/index.ts', 'link_out', 'link_out/secret.txt', 'link_out_file', 'link_*', 'link_root/etc/shadow', 'link_proc/environ'],
    ...['.env', '.env*', 'config/*', 'config/id_rsa', 'certs/server.pem', '..', '../outside/secret.txt', '/ws/file.txt', '/ws/../outside/secret.txt', '/outside/secret.txt', '/etc/shadow', 'fifo', 'sock', '-rf', '-- -rf', '"dir with space"/*'],
    ...["'a;b.txt'", "'$HOME.txt'", 'ünï.txt', '-', 'src/deep/link_up/outside/*', '*/../../outside/*', '[a-z]*.txt', '?????.txt', 'src/../file.txt', 'nonexistent', '/dev/null', '/proc/self/environ', '~', '$HOME', '-newer .env', 'big.bin'],
  ],
  ssh: [
    ...['/sys/class/net/lo/address', '/sys/class/net/*/address', '/sys/../etc/shadow', '/proc/meminfo', '/proc/loadavg', '/proc/self/environ', '/proc/1/environ', '/etc/hosts', '/etc/shadow', '/etc/pve/storage.cfg', '/root/.ssh/id_rsa', '/var/log'],
    ...['/', '/etc', '/root', '/home/*/.ssh', '/sys/kernel/*/tracing/trace_pipe', '/dev/sda', 'status', 'show', 'get', 'addr', 'link', 'route', 'flush', 'x', '+%F', '1', '5', '"1 hour ago"', '/nodes', '/cluster/status', '/access/users', '*', '-', '--'],
  ],
};
const options: readonly string[] = [
  ...['-l', '-a', '-la', '-R', '-L', '-n', '-n 3', '-n3', '-c 10', '-f', '-F', '-r', '-rn', '-i', '-v', '-e x', '-E', '-P', '-o', '-h', '-H', '-s', '-d', '-t', '-u', '-w', '-z', '-0', '-20', '-1', '-m1', '-A2', '-q', '-x', '-T', '-k 2', '-ef', '-eo pid,args', 'aux', 'auxe', 'e', '-bn1'],
  ...['--all', '--color=never', '--color', '--recursive', '--include=*.ts', "--include='.env'", '--exclude=x', '--exclude-from=a.txt', '--file=a.txt', '--files0-from=a.txt', '--follow', '--lines=2', '--full-time', '--help', '--version', '--', '--sort=size', '--output=x', '--no-pager'],
  ...['-name x', "-name '*.ts'", '-type f', '-maxdepth 1', '-delete', '-exec cat {} \\;', '-exec cat {} +', '-print', '-print0', "-printf '%p'", '-fprint x', '-ls', '-newer a.txt', '-o', '!', '\\(', '\\)', '-size +1k', '-empty', '-prune', '-quit', '-follow', '-samefile file.txt'],
];
const patterns: readonly string[] = ['x', 'SECRET', "'a b'", '"KEY"', '.', "''", "'$HOME'", 'a*', '[a-z]', "'\\d'", '-e x', '-- -x', 'main$', '"it\'s"'];
const joints: readonly string[] = [' | ', ' && ', ' || ', '; ', ' |& ', ' & ', '\n', ' |', '&&', ' 2>/dev/null | ', ' 2>&1 | '];
const tails: readonly string[] = ['', '', '', '', ' 2>/dev/null', ' 2>&1', ' > out', ' >> a.txt', ' < a.txt', ' &', ' # x', ' > /dev/null', ' 2>err', ' <<< x'];
const noises: readonly string[] = ["''", '""', '\\', '"', "'", '$', '`', '$(id)', '${x}', '{a,b}', '*', '?', '[a]', '~', '#', '!', ';', '&', '|', '>', '<', '(', ')', '\n', '\t', '\r', ' ', '  ', '\u00a0', '\u200b', '\u202e', '=', '--', '-', '/', '..', '../', '.env', '-f', '-delete', ' .env ', ' ../outside/secret.txt ', "$'\\x2e'"];

export interface LineGenerator {
  grammatical(): string;
  mutated(): string;
}

export function createLineGenerator(surface: 'readonly_bash' | 'ssh', known: readonly string[], random: () => number): LineGenerator {
  const below = (limit: number) => Math.floor(random() * limit);
  const pick = <T>(items: readonly T[]): T => items[below(items.length)] as T;
  const some = (most: number, make: () => string) => Array.from({ length: below(most + 1) }, make);

  const command = () => {
    const program = pick(programs[surface]);
    const words = [program, ...some(2, () => pick(options))];
    if (program === 'grep') words.push(pick(patterns));
    words.push(...some(2, () => pick(operands[surface])), ...some(1, () => pick(options)));
    return words.join(' ') + pick(tails);
  };
  const mutate = (line: string): string => {
    const at = below(line.length + 1);
    const words = line.split(' ');
    const where = below(words.length);
    const ways: readonly (() => string)[] = [
      () => line.slice(0, at) + pick(noises) + line.slice(at),
      () => line.slice(0, at) + line.slice(at + 1 + below(3)),
      () => words.toSpliced(where, 0, pick(options)).join(' '),
      () => words.toSpliced(where, 1, pick(operands[surface])).join(' '),
      () => words.toSpliced(where, 1).join(' '),
      () => words.toSpliced(where, 1, `'${words[where] ?? ''}'`).join(' '),
      () => words.toSpliced(where, 1, `"${words[where] ?? ''}"`).join(' '),
      () => line + pick(joints) + pick(known),
      () => line + pick(tails),
    ];
    return pick(ways)();
  };
  return {
    grammatical: () => [command(), ...some(2, command)].reduce((line, next) => line + pick(joints) + next),
    mutated: () => Array.from({ length: 1 + below(3) }).reduce<string>((line) => mutate(line), pick(known)),
  };
}
