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
  if (program === 'npm')
    return name === 'run' && /^[a-z]/.test(rest[0] ?? '') && !Object.hasOwn(packageJson.scripts, rest[0] ?? '')
      ? 'no such script'
      : undefined;
  if (program !== 'banksman' || !/^[a-z]/.test(name)) return undefined;
  const command = commands.find((one) => one.name === name);
  if (command === undefined) return 'no such command';
  const before = rest.includes('--') ? rest.slice(0, rest.indexOf('--')) : rest;
  const stray = before.flatMap((word) => /^--([a-z-]+)/.exec(word)?.[1] ?? []).find((option) => !optionsOf(command).has(option));
  if (stray !== undefined) return `takes no --${stray}`;
  const verbs = new Set(command.usage.flatMap((usage) => /^\S+ ([a-z|-]+)(?: |$)/.exec(usage)?.[1]?.split('|') ?? []));
  const takesOther = command.usage.some((usage) => /^\S+ (?:[A-Z]|\[[a-z])/.test(usage));
  const wrong = (before[0] ?? '').split('|').find((verb) => /^[a-z-]+$/.test(verb) && !verb.startsWith('-') && !verbs.has(verb));
  return verbs.size > 0 && wrong !== undefined && !takesOther ? `has no ${wrong}` : undefined;
}

it.each(pages)('%s names no command that there is not', (page) => {
  expect(namedIn(page).flatMap((line) => (flawOf(line) === undefined ? [] : [`${line}: ${flawOf(line)}`]))).toEqual([]);
});

it('finds them, and what is wrong with one', () => {
  expect(pages.flatMap(namedIn).filter((line) => /^(?:banksman|npm) /.test(line)).length).toBeGreaterThan(250);
  const wrong = ['banksman aprovals list', 'banksman approvals lst', 'banksman top --jsn', 'npm run tset', 'banksman runs list|shwo'];
  expect(wrong.map(flawOf)).toEqual(['no such command', 'has no lst', 'takes no --jsn', 'no such script', 'has no shwo']);
});
