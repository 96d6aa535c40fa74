/** Every command that a page names, in a block or in its text, is one that there is: its verb and its options, too. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { optionsOf } from '#hosts/cli/command-line';
import { commands } from '#hosts/cli/command-table';
import packageJson from '../../../package.json' with { type: 'json' };

const root = path.join(import.meta.dirname, '../../..');
const pages = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', ...readdirSync(path.join(root, 'docs')).map((name) => `docs/${name}`)].filter(
  (name) => name.endsWith('.md'),
);

/** Whole lines of blocks for a shell, and what stands in backticks outside blocks. */
function namedIn(page: string): readonly string[] {
  const text = readFileSync(path.join(root, page), 'utf8');
  const blocks = Array.from(text.matchAll(/^```(?:sh|console)\n([\s\S]*?)^```$/gm), ([, block = '']) => block);
  const lines = blocks.flatMap((block) => block.split('\n')).map((line) => line.replace(/^[$#] /, '').replace(/ {2,}#.*/, ''));
  const spans = Array.from(text.replaceAll(/^```[\s\S]*?^```$/gm, '').matchAll(/`([^`\n]+)`/g), ([, span = '']) => span);
  return [...lines, ...spans].flatMap((line) => line.split(/ && | \| | ; |; /)).map((line) => line.trim().replace(/^sudo /, ''));
}

/** What is wrong with it; undefined: nothing. */
function flawOf(line: string): string | undefined {
  const [program, name = '', ...rest] = line.replaceAll(/'[^']*'|"[^"]*"/g, 'TEXT').split(/\s+/);
  if (!/^[a-z]/.test(name)) return undefined;
  if (program === 'npm') return name === 'run' ? scriptFlaw(rest[0] ?? '') : undefined;
  return program === 'banksman' ? commandFlaw(name, rest.includes('--') ? rest.slice(0, rest.indexOf('--')) : rest) : undefined;
}

function scriptFlaw(script: string): string | undefined {
  return !/^[a-z]/.test(script) || Object.hasOwn(packageJson.scripts, script) ? undefined : 'no such script';
}

function commandFlaw(name: string, rest: readonly string[]): string | undefined {
  const command = commands.find((one) => one.name === name);
  if (command === undefined) return 'no such command';
  const stray = rest.flatMap((word) => /^--([a-z-]+)/.exec(word)?.[1] ?? []).find((option) => !optionsOf(command).has(option));
  return stray === undefined ? verbFlaw(command.usage, rest[0] ?? '') : `takes no --${stray}`;
}

function verbFlaw(usage: readonly string[], said: string): string | undefined {
  const verbs = new Set(usage.flatMap((line) => /^\S+ ([a-z|-]+)(?: |$)/.exec(line)?.[1]?.split('|') ?? []));
  const takesOther = usage.some((line) => /^\S+ (?:[A-Z]|\[[a-z])/.test(line));
  if (verbs.size === 0 || takesOther) return undefined;
  const wrong = said.split('|').find((verb) => /^[a-z][a-z-]*$/.test(verb) && !verbs.has(verb));
  return wrong === undefined ? undefined : `has no ${wrong}`;
}

it.each(pages)('%s names no command that there is not', (page) => {
  expect(namedIn(page).flatMap((line) => (flawOf(line) === undefined ? [] : [`${line}: ${flawOf(line)}`]))).toEqual([]);
});

it('finds them, and what is wrong with one', () => {
  expect(pages.flatMap(namedIn).filter((line) => /^(?:banksman|npm) /.test(line)).length).toBeGreaterThan(250);
  const wrong = ['banksman aprovals list', 'banksman approvals lst', 'banksman top --jsn', 'npm run tset', 'banksman runs list|shwo'];
  expect(wrong.map(flawOf)).toEqual(['no such command', 'has no lst', 'takes no --jsn', 'no such script', 'has no shwo']);
});
