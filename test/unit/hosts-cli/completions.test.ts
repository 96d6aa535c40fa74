import { execFileSync } from 'node:child_process';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { catalog } from '#app/catalog';
import { knownOptions } from '#hosts/cli/command-line';
import { commands } from '#hosts/cli/command-table';
import { completionsOf, manOf } from '#hosts/cli/completions';

afterEach(() => vi.restoreAllMocks());

function printed(work: () => unknown): string {
  const write = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  work();
  return write.mock.calls.map(([text]) => String(text)).join('');
}

describe('completions', () => {
  const script = () => printed(() => completionsOf(commands)(['bash'], {}));

  /** What a bash that has them offers after `line`, whose last word is being typed. */
  function offered(line: string): readonly string[] {
    const words = line.split(' ');
    const ask = `COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _banksman; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const out = execFileSync('bash', ['--norc', '-c', `${script()}\n${ask}`, 'bash', ...words], {
      encoding: 'utf8',
      cwd: import.meta.dirname,
    });
    return out.split('\n').filter((word) => word !== '');
  }

  it.each<[string, readonly string[]]>([
    ['banksman ', commands.map(({ name }) => name)],
    ['banksman appr', ['approvals', 'approvers']],
    ['banksman approvals ', ['list', 'show', 'approve', 'deny', 'revoke', 'watch']],
    ['banksman --state /tmp approvals s', ['show']],
    ['banksman approvals deny --me', ['--message']],
    ['banksman approvals deny --co', ['--config']],
    ['banksman approvals deny --message ', []],
    ['banksman call ', catalog.map(({ name }) => name)],
    ['banksman policy explain get_v', ['get_vms']],
    ['banksman tools --format ', ['json', 'mcp', 'ollama']],
    ['banksman level set ', ['relaxed', 'balanced', 'strict']],
    ['banksman policy explain get_vms ', []],
    ['banksman doctor ', []],
    ['banksman doctor --config completions.t', ['completions.test.ts']],
    ['banksman nosuch ', []],
  ])('after `%s`', (line, words) => {
    expect(offered(line)).toEqual(words);
  });

  it('are for bash alone, and say so', () => {
    expect(() => completionsOf(commands)(['tcsh'], {})).toThrow('there are completions for `bash`, not for `tcsh`');
  });
});

describe('the manual page', () => {
  it('has every command and every option, and no line that asks for anything but its macros', () => {
    const page = printed(() => manOf(commands)([], {}));
    for (const { name } of commands) expect(page).toContain(`\n.SS ${name.replaceAll('-', '\\-')}\n`);
    for (const option of Object.keys(knownOptions)) expect(page).toContain(`\n.B \\-\\-${option.replaceAll('-', '\\-')}\n`);
    expect(page).toMatch(/^[\n -~]*$/);
    const macros = page.split('\n').flatMap((line) => /^[.'](\S*)/.exec(line)?.[1] ?? []);
    expect(new Set(macros)).toEqual(new Set(['TH', 'SH', 'SS', 'PP', 'TP', 'B', 'I', 'br']));
  });
});
