import { execFileSync, spawnSync } from 'node:child_process';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { catalog } from '#app/catalog';
import { mcpClients } from '#app/clients/mcp-clients';
import { knownOptions } from '#hosts/cli/command-line';
import { commands } from '#hosts/cli/command-table';
import { completionsOf, manOf } from '#hosts/cli/completions';
import { hookAgents } from '#hosts/hook/agents';

afterEach(() => vi.restoreAllMocks());

function printed(work: () => unknown): string {
  const write = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  work();
  return write.mock.calls.map(([text]) => String(text)).join('');
}

type Shell = 'bash' | 'zsh' | 'fish';

const script = (shell: Shell) => printed(() => completionsOf(commands)([shell], {}));

/** What a shell with these completions offers after `line`, whose last word is being typed, and no other. */
const offeredBy: Readonly<Record<Shell, (line: string) => string>> = {
  bash(line) {
    const ask = `COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _banksman; printf '%s\\n' "\${COMPREPLY[@]}"`;
    // As its COMP_WORDBREAKS take a line apart.
    return inShell('bash', ['--norc', '-c', `${script('bash')}\n${ask}`, 'bash', ...line.split(/ |(?==)|(?<==(?!$))/)]);
  },
  // Its line editor needs a terminal: what hands the words to it prints them here, those that begin as the last word does.
  zsh(line) {
    const editor = `compdef() :
compset() words[CURRENT]=\${words[CURRENT]#*=}
_describe() { local list=$@[-1] one; for one in \${(P)list}; do one=\${one%%:*}; [[ $one == $words[CURRENT]* ]] && print -r -- $one; done; true }
_files() { print -rl -- $words[CURRENT]*(N) }`;
    return inShell('zsh', ['-f', '-c', `${editor}\n${script('zsh')}\nwords=("$@"); CURRENT=$#; _banksman`, 'zsh', ...line.split(' ')]);
  },
  fish(line) {
    return inShell('fish', ['-N', '-c', `${script('fish')}\ncomplete -C "$argv[1]"`, line]).replaceAll(/\t.*/g, '');
  },
};

function inShell(program: Shell, words: readonly string[]): string {
  return execFileSync(program, words, { encoding: 'utf8', cwd: import.meta.dirname });
}

/** fish completes the whole word, the others what is behind its `=`. */
const valuesOf = (shell: Shell, values: readonly string[], option = '--format=') =>
  values.map((value) => (shell === 'fish' ? `${option}${value}` : value));

/** Where the bench could install them, a shell that is not there must fail, not be skipped. */
const isInstalled = (program: Shell) =>
  process.env['BANKSMAN_REQUIRE_SERVERS'] !== undefined || spawnSync(program, ['-c', 'true']).status === 0;

describe.each<Shell>(['bash', 'zsh', 'fish'])('completions for %s', (shell) => {
  it.skipIf(!isInstalled(shell)).each<[string, readonly string[]]>([
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
    ['banksman tools --format=', valuesOf(shell, ['json', 'mcp', 'ollama'])],
    ['banksman tools --format=o', valuesOf(shell, ['ollama'])],
    ['banksman tools --format=mcp --gr', ['--group']],
    ['banksman --state=/tmp approvals s', ['show']],
    ['banksman doctor --config=completions.t', valuesOf(shell, ['completions.test.ts'], '--config=')],
    ['banksman approvals deny --message=', []],
    ['banksman level set ', ['relaxed', 'balanced', 'strict']],
    ['banksman policy explain get_vms ', []],
    ['banksman completions ', ['bash', 'zsh', 'fish']],
    ['banksman doctor ', []],
    ['banksman doctor --config completions.t', ['completions.test.ts']],
    ['banksman nosuch ', []],
    ['banksman hook ', ['install', 'uninstall', 'serve', ...hookAgents.map(({ name }) => name)]],
    ['banksman hook install cop', ['copilot']],
    ['banksman hook uninstall claude-code --pr', ['--project']],
    ['banksman connect ', ['list', ...mcpClients.map(({ id }) => id)]],
    ['banksman connect cursor --pri', ['--print']],
  ])('after `%s`', (line, words) => {
    const offered = offeredBy[shell](line).split('\n');
    // In what order they stand is for the shell to say.
    expect(offered.filter((word) => word !== '').toSorted()).toEqual([...words].toSorted());
  });

  it('say what commands, tools and options are for, where the shell shows that', () => {
    const text = script(shell);
    // As shells quote it: a quotation mark of its own would stand there in another way.
    const summaries = commands.map(({ summary }) => summary.replace(/\.$/, '')).filter((summary) => !summary.includes("'"));
    expect(summaries.filter((summary) => text.includes(summary))).toEqual(shell === 'bash' ? [] : summaries);
  });
});

it('completions are for three shells, which is said', () => {
  expect(() => completionsOf(commands)(['tcsh'], {})).toThrow('there are completions for `bash`, `zsh`, `fish`, not for `tcsh`');
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
