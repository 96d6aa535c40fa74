/** The linters' configuration itself: a rule that nobody sees fire may be off. */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';

const repository = path.resolve(import.meta.dirname, '../../..');
const bin = path.join(repository, 'node_modules', '.bin');

const tooManyLines = `export function f(): number {\n${'  void 0;\n'.repeat(50)}  return 1;\n}\n`;
const tooComplex = `export function f(a: number): number {\n${[1, 2, 3, 4, 5, 6, 7, 8, 9, 10].map((n) => `  if (a === ${n}) return ${n * 2};\n`).join('')}  return 0;\n}\n`;

/** File, its text, and the rule that must name it. */
const oxlintCases: readonly (readonly [string, string, string])[] = [
  ['floating', 'async function f(): Promise<void> {}\nexport function g(): void {\n  f();\n}\n', 'no-floating-promises'],
  [
    'thenable',
    'const t: PromiseLike<number> = Promise.resolve(1);\nexport function g(): void {\n  t.then((n) => n + 1);\n}\n',
    'no-floating-promises',
  ],
  ['misused', 'export function g(list: number[]): void {\n  list.forEach(async (n) => Promise.resolve(n));\n}\n', 'no-misused-promises'],
  [
    'switch',
    "export function f(a: 'x' | 'y'): void {\n  switch (a) {\n    case 'x':\n      break;\n  }\n}\n",
    'switch-exhaustiveness-check',
  ],
  ['any', 'export const a: any = 1;\n', 'no-explicit-any'],
  ['lines', '// line\n'.repeat(401), 'max-lines'],
  ['function-lines', tooManyLines, 'max-lines-per-function'],
  ['params', 'export const f = (a: number, b: number, c: number, d: number, e: number) => a + b + c + d + e;\n', 'max-params'],
  ['complexity', tooComplex, 'complexity'],
  ['default', 'export default 1;\n', 'no-default-export'],
  ['require', "export const fs = require('node:fs');\n", 'no-require-imports'],
  ['builtin', "export const fs = process.getBuiltinModule('node:fs');\n", 'no-restricted-properties'],
  ['policy/process', 'export const a = process.pid;\n', 'no-restricted-globals'],
  ['policy/timer', 'export const a = () => setTimeout(() => undefined, 1);\n', 'no-restricted-globals'],
  ['audit/now', 'export const a = Date.now();\n', 'no-restricted-properties'],
  ['redaction/random', 'export const a = Math.random();\n', 'no-restricted-properties'],
  ['policy/global', 'export const a = globalThis.fetch;\n', 'no-restricted-properties'],
];

const biomeCases: readonly (readonly [string, string, string])[] = [
  ['zod-named', "import { z } from 'zod';\nexport const a = z.string();\n", 'noRestrictedImports'],
  ['zod-default', "import z from 'zod';\nexport const a = z.string();\n", 'noRestrictedImports'],
  ['Upper', 'export const a = 1;\n', 'useFilenamingConvention'],
  ['quotes', 'export const a = "x";\n', 'format'],
  ['order', "import { b } from 'node:path';\nimport { a } from 'node:fs';\n\nexport const c = [a, b];\n", 'organizeImports'],
  ['unused', "import { a } from 'node:fs';\n\nexport const c = 1;\n", 'noUnusedImports'],
  ['console', "export const f = () => console.log('x');\n", 'noConsole'],
  ['policy/clock', 'export const a = new Date();\n', 'pure folder'],
];

const clean: Readonly<Record<string, string>> = {
  'zod-namespace': "import * as z from 'zod';\n\nexport const a = z.string();\n",
  'audit/date': 'export const a = (now: number) => new Date(now).toISOString();\n',
};

let root = '';

beforeAll(() => {
  root = mkdtempSync(path.join(os.tmpdir(), 'lint-'));
  for (const file of ['biome.json', '.oxlintrc.json', 'tsconfig.json', 'scripts/lint'])
    cpSync(path.join(repository, file), path.join(root, file), { recursive: true });
  symlinkSync(path.join(repository, 'node_modules'), path.join(root, 'node_modules'), 'junction');
  // Biome asks for git's ignore file.
  writeFileSync(path.join(root, '.gitignore'), 'node_modules\n');
  const all = [...oxlintCases, ...biomeCases, ...Object.entries(clean)];
  for (const [name, text] of all) {
    mkdirSync(path.dirname(path.join(root, 'src', name)), { recursive: true });
    writeFileSync(path.join(root, 'src', `${name}.ts`), text ?? '');
  }
});

afterAll(() => rmSync(root, { recursive: true, force: true }));

function run(program: string, args: readonly string[]): readonly string[] {
  const { stdout, stderr } = spawnSync(path.join(bin, program), args, { cwd: root, encoding: 'utf8', shell: process.platform === 'win32' });
  return `${stdout}\n${stderr}`.split('\n');
}

test('each rule of oxlint fires', () => {
  const lines = run('oxlint', ['--type-aware', '--format=unix', 'src']);
  for (const [name, , rule] of oxlintCases)
    expect(lines).toContainEqual(expect.stringMatching(new RegExp(`^src/${name}\\.ts:.*\\(${rule}\\)`)));
  for (const name of Object.keys(clean)) expect(lines).not.toContainEqual(expect.stringContaining(`src/${name}.ts`));
});

test('each rule of Biome fires', () => {
  const lines = run('biome', ['check', '--reporter=concise', '--max-diagnostics=none', 'src']);
  for (const [name, , rule] of biomeCases) expect(lines).toContainEqual(expect.stringMatching(new RegExp(`src/${name}\\.ts:.*${rule}`)));
  for (const name of Object.keys(clean)) expect(lines).not.toContainEqual(expect.stringContaining(`src/${name}.ts`));
});
