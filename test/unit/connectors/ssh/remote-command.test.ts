import { execFileSync, spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { exitCodeOfSignal, nodeLimitSeconds, quoteShell, wasTimedOut, wrapCommand } from '#connectors/ssh/remote-command';

describe('nodeLimitSeconds', () => {
  it.each([
    [30_000, 27],
    [29_700, 27],
    [29_000, 26],
    [10_000, 7],
    [4_000, 1],
    [3_000, 1],
    [500, 1],
    [-5, 1],
  ])('of %d ms left: %d s', (left, seconds) => {
    expect(nodeLimitSeconds(left)).toBe(seconds);
  });
});

describe('wrapCommand', () => {
  it('is one shell command under `timeout`, in English, without input', () => {
    expect(wrapCommand('df -h | sort', 27)).toBe("LC_ALL=C exec timeout -k 2 27 sh -c 'df -h | sort' </dev/null");
  });

  it('does not let a command out of its quotes', () => {
    expect(wrapCommand("'; reboot #", 1)).toBe(String.raw`LC_ALL=C exec timeout -k 2 1 sh -c ''\''; reboot #' </dev/null`);
  });

  it.each([
    ['hostname', "'hostname'"],
    ['df -h', "'df' '-h'"],
    ['systemctl restart -- pveproxy.service', "'systemctl' 'restart' '--' 'pveproxy.service'"],
    ['/usr/bin/x86_64-linux-gnu-strings --radix=d a@b%c+d:e,f', "'/usr/bin/x86_64-linux-gnu-strings' '--radix=d' 'a@b%c+d:e,f'"],
  ])('needs no shell for a program with plain words: %s', (command, words) => {
    expect(wrapCommand(command, 27)).toBe(`LC_ALL=C exec timeout -k 2 27 ${words} </dev/null`);
  });

  it.each([
    'a|b',
    'a;b',
    'a&',
    'a>b',
    'a<b',
    'a $b',
    'a `b`',
    'a "b"',
    "a 'b'",
    'a\\b',
    'a *',
    'a ?',
    'a [b]',
    'a {b,c}',
    'a ~',
    'a #b',
    'a (b)',
    'a ^b',
    'a\tb',
    'a\nb',
    'a  b',
    ' a',
    'a ',
    '',
    'a é',
    'A=1 b',
    'A=1',
    'a =b',
    '-v a',
    '! a',
    '[ a ]',
    ': a',
    '. a',
    'echo a',
    'time a',
    'if a',
    'cd /',
    'exec a',
    'command -v a',
    'kill -l',
    'pwd',
    'type a',
    'ulimit -a',
  ])('leaves all else to the shell: %j', (command) => {
    expect(wrapCommand(command, 27)).toBe(`LC_ALL=C exec timeout -k 2 27 sh -c ${quoteShell(command)} </dev/null`);
  });

  it('leaves to a shell whatever the shells here do themselves', () => {
    const ownWords = execFileSync('bash', ['-c', 'compgen -b; compgen -k'], { encoding: 'utf8' }).trim().split('\n');
    expect(ownWords).toContain('wait');
    for (const word of ownWords) expect(wrapCommand(`${word} a`, 27)).toContain(' sh -c ');
  });

  it.each(['sh', 'bash'])('gives a real %s the program, its words and its exit code', (shell) => {
    const run = (command: string, seconds = 27) => {
      const line = wrapCommand(command, seconds);
      expect(line).not.toContain('sh -c');
      const { stdout, status } = spawnSync(shell, ['-c', line], { encoding: 'utf8', input: 'never read' });
      return [stdout, status];
    };
    expect(run('env -i A=b,c/d:e@f%g+h.i- env')).toEqual(['A=b,c/d:e@f%g+h.i-\n', 0]);
    expect(run('printenv LC_ALL')).toEqual(['C\n', 0]);
    expect(run('cat')).toEqual(['', 0]);
    expect(run('expr 1 - 1')).toEqual(['0\n', 1]);
    expect(run('no-such-program-here')).toEqual(['', 127]);
    expect(run('sleep 60', 1)).toEqual(['', 124]);
  });
});

describe('exitCodeOfSignal', () => {
  it('is what a shell says of a command that the signal ended', () => {
    for (const name of ['HUP', 'INT', 'QUIT', 'ILL', 'ABRT', 'FPE', 'KILL', 'USR1', 'SEGV', 'USR2', 'PIPE', 'ALRM', 'TERM']) {
      const { status } = spawnSync('sh', ['-c', `(ulimit -c 0; exec sh -c 'kill -${name} $$'); exit $?`], { stdio: 'ignore' });
      expect([name, exitCodeOfSignal(`SIG${name}`)]).toEqual([name, status]);
      expect(exitCodeOfSignal(name)).toBe(status);
    }
  });

  it.each(['', 'SIG', 'SIGSYS@openssh.com', 'constructor', '9'])('is nothing for %j', (name) => {
    expect(exitCodeOfSignal(name)).toBeUndefined();
  });
});

describe('wasTimedOut', () => {
  it.each([
    [124, 27_000, true],
    [137, 29_100, true],
    [124, 26_950, true],
    [124, 26_000, false],
    [137, 10, false],
    [0, 28_000, false],
    [1, 28_000, false],
    [undefined, 28_000, false],
  ])('exit code %s after %d ms of 27 s: %s', (code, elapsed, expected) => {
    expect(wasTimedOut(code, elapsed, 27)).toBe(expected);
  });
});
