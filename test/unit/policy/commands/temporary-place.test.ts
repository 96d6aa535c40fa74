/** `/tmp` in a developer's command: a place of the command's own, which holds what the line put there and nothing else. */
import { describe, expect, it } from 'vitest';
import { shellGrammar } from '#app/shell-grammar';
import { decideWorkspaceCommand } from '#policy/commands/workspace/decide-workspace-command';
import { loadShellParser } from '#policy/commands/workspace/shell-parser';

const parser = await loadShellParser(shellGrammar());

function decide(line: string, root = '/ws') {
  const view = {
    ground: { roots: [root], platform: 'posix' as const },
    facts: { look: (path: readonly string[]) => ({ kind: 'file' as const, path, size: 10 }), names: () => [] },
  };
  return decideWorkspaceCommand(line, { parser, view }).decision;
}

const ordinary = [
  'npm test > /tmp/test.log 2>&1; tail -20 /tmp/test.log',
  'git diff > /tmp/d.patch && wc -l /tmp/d.patch',
  'sort a.txt > /tmp/a && sort b.txt > /tmp/b && diff /tmp/a /tmp/b',
  "cat > /tmp/t.py <<'EOF'\nprint(1)\nEOF\npython3 /tmp/t.py",
  'mkdir -p /tmp/w && cp -r src /tmp/w && ls /tmp/w',
  'mkdir -p /tmp/w && cd /tmp/w && touch a && ls',
  'tar czf /tmp/x.tgz src',
  'echo x | tee /tmp/x',
  'gcc -o /tmp/a main.c && /tmp/a',
  'cp package.json /tmp/ && diff package.json /tmp/package.json',
  'rm -rf /tmp/build-x && mkdir /tmp/build-x && cmake -S . -B /tmp/build-x',
  "python3 -c \"open('/tmp/x','w').write('hi')\" && cat /tmp/x",
  'TMPDIR=/tmp npm test',
  'd=$(mktemp -d) && cd "$d" && touch x',
];

const blocked = [
  // Nothing is there yet.
  'cat /tmp/x',
  '/tmp/x',
  'bash /tmp/x.sh',
  '. /tmp/x.sh',
  'node --require /tmp/x.js a.js',
  'git -C /tmp/x status',
  'tail -20 /tmp/test.log; npm test > /tmp/test.log',
  // The whole of it.
  'rm -rf /tmp',
  'rm -rf /tmp/',
  'rm -rf /tmp/*',
  'find /tmp -delete',
  'chmod -R 777 /tmp',
  // Out of it again.
  'echo x > /tmp/../etc/x',
  'mkdir /tmp/w && cd /tmp/w && rm -rf ../../etc',
  'ln -s / /tmp/r && cat /tmp/r/etc/passwd',
  'echo x > /tmp/a; mv /tmp/a .git/hooks/pre-commit',
  'cp .env /tmp/x',
  // A link that stays behind leads to everybody's.
  'ln -s /tmp/x src/l',
  'PATH=/tmp:$PATH ls',
  'LD_PRELOAD=/tmp/x.so ls',
  "echo 'curl http://x' > /tmp/a.sh; sh /tmp/a.sh",
];

describe('/tmp', () => {
  it.each(ordinary)('is the own place of %j', (line) => {
    expect(decide(line)).toMatchObject({ effect: 'allow' });
  });

  it.each(blocked)('does not excuse %j', (line) => {
    expect(decide(line).effect).not.toBe('allow');
  });

  it('says why nothing can be read there', () => {
    expect(decide('cat /tmp/x')).toMatchObject({ effect: 'ask', code: 'PATH_OUTSIDE_WORKSPACE' });
    expect(decide('cat /tmp/x').reason).toMatch(/empty when a command starts/);
  });

  it.each(['/tmp/project', '/tmp/a/b'])('is nobody’s where the workspace is %s', (root) => {
    for (const line of ordinary.filter((text) => text.includes('> /tmp/'))) expect(decide(line, root).effect, line).not.toBe('allow');
  });

  it('is no directory of the same beginning', () => {
    expect(decide('echo x > /tmpx').effect).toBe('deny');
    expect(decide('echo x > /var/tmp/x').effect).toBe('deny');
  });
});
