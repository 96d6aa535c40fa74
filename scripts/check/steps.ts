/** The steps of the check, as data: what each runs, and from what its result follows. */
import type { Scope } from './green.ts';

export interface CheckStep extends Scope {
  readonly name: string;
  /** Program and arguments; programs of `node_modules/.bin` by name. */
  readonly command: readonly [string, ...string[]];
  /** What it looks at when it looks at all. */
  readonly all: readonly string[];
}

const isCode = (file: string) => /\.(?:[cm]?[jt]s|jsonc?)$/.test(file);
const isLinted = (file: string) => /^(?:src|scripts|test)\/.*\.[cm]?[jt]s$|^(?:esbuild\.mjs|vitest\.config\.ts)$/.test(file);
const isUnitTest = (file: string) => /^test\/unit\/.*\.test\.ts$/.test(file);
const anything = () => true;

/** The longest first, so that the short ones fill the gaps; where one was measured here, that counts. */
export const steps: readonly CheckStep[] = [
  {
    name: 'test',
    command: ['vitest', 'run', '--project', 'unit', '--silent=passed-only'],
    all: [],
    reads: anything,
    each: { files: isUnitTest, by: 'closure' },
    machine: (text) => text.includes('node:child_process'),
    whole: (text) => /\bimport\.meta\b|\bprocess\.cwd\b|\b__dirname\b|\bglobSync\b/.test(text),
  },
  {
    name: 'lint',
    command: ['oxlint', '--type-aware', '--deny-warnings', '--format=unix'],
    all: ['src', 'scripts', 'test', 'esbuild.mjs', 'vitest.config.ts'],
    reads: isCode,
    // Its rules ask for types, and these come by imports.
    each: { files: isLinted, by: 'closure' },
  },
  {
    name: 'format',
    command: [
      'biome',
      'check',
      '--error-on-warnings',
      '--no-errors-on-unmatched',
      '--reporter=concise',
      '--max-diagnostics=100',
      '--diagnostic-level=warn',
    ],
    all: ['.'],
    reads: isCode,
    // None of its rules looks into another file.
    each: { files: isCode, by: 'content' },
  },
  { name: 'deadcode', command: ['knip', '--no-progress'], all: [], reads: (file) => !file.endsWith('.md') },
  { name: 'architecture', command: ['node', 'scripts/architecture.ts'], all: [], reads: (file) => /^(?:src|scripts)\//.test(file) },
  { name: 'types', command: ['tsc', '--noEmit', '--pretty', 'false', '-p', '.'], all: [], reads: isCode },
  { name: 'generated', command: ['node', 'scripts/generate.ts', '--check'], all: [], reads: anything },
  { name: 'texts', command: ['node', 'scripts/check-texts.ts'], all: [], reads: isCode },
  { name: 'links', command: ['node', 'scripts/check-links.ts'], all: [], reads: anything },
];
