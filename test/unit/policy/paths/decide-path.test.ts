/** What a person is asked before a file tool writes: by the table that judges what commands changed. */
import { describe, expect, it } from 'vitest';
import type { PathFact, Segments } from '#kernel/ports/path-facts';
import { controlRows } from '#policy/effects/control-places';
import { decidePath } from '#policy/paths/decide-path';

const at = (fact: (path: Segments) => PathFact) => ({
  ground: { roots: ['/srv/ws'], platform: 'posix' as const },
  facts: { look: fact, names: () => undefined },
  obeyed: () => ['scripts/hooks'],
});
const file = at((path) => ({ kind: 'file', path, size: 1 }));
const missing = at((path) => ({ kind: 'missing', path }));

describe('writing a file', () => {
  it.each([
    ['.github/copilot/settings.json', 'GitHub Copilot'],
    ['.qwen/settings.json', 'an agent'],
    ['opencode.json', 'an agent'],
    ['.clinerules/x.md', 'an agent'],
    ['.kilocode/mcp.json', 'an agent'],
    ['.factory/hooks.json', 'an agent'],
    ['.amp/settings.json', 'an agent'],
    ['deep/.agents/x.md', 'an agent'],
    ['.github/workflows/ci.yml', 'the forge'],
    ['.git/index', 'git alone writes'],
    ['a/.GIT/config', 'git'],
    ['scripts/hooks/pre-commit', 'the configuration of a repository names it'],
    ['new/.git', 'git'],
  ])('%s asks, and says why, whether or not it is there', (path, why) => {
    for (const view of [file, missing])
      expect(decidePath(path, 'write', view)).toMatchObject({ effect: 'ask', code: 'CONTROL_FILE', reason: expect.stringContaining(why) });
    expect(decidePath(path, 'read', file).effect).toBe('allow');
  });

  it('asks about each place of the table', () => {
    const places = controlRows.flatMap((row) => row.places.map((place) => place.replace('/**', '/x').replaceAll('*', 'x')));
    for (const path of places) expect(decidePath(path, 'write', missing).effect, path).toBe('ask');
  });

  it('asks about what a link leads to', () => {
    const linked = at(() => ({ kind: 'file', path: ['.vscode', 'tasks.json'], size: 1 }));
    expect(decidePath('notes.txt', 'write', linked)).toMatchObject({ code: 'CONTROL_FILE' });
  });

  it.each(['src/a.ts', 'package.json', '.gitignore', 'Makefile', 'scripts/build.js', 'node_modules/x/.vscode/settings.json'])(
    '%s does not',
    (path) => {
      for (const view of [file, missing]) expect(decidePath(path, 'write', view).effect).toBe('allow');
    },
  );
});
