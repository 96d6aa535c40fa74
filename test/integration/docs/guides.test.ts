/** `docs/guides.md`, followed to the letter in a copy of the sources: what comes of it passes the checks and its own tests. */
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';

vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

const repository = path.resolve(import.meta.dirname, '../../..');
/** The project without what is installed, built or measured. */
const copied = [
  ...['src', 'scripts', 'test', 'media', 'docs', 'README.md', 'package.json', 'package.nls.json', 'package.nls.de.json'],
  ...['tsconfig.json', 'vitest.config.ts', 'esbuild.mjs', 'biome.json', '.oxlintrc.json', 'knip.jsonc', '.gitignore'],
];

/** One block of the page: what it does to which file. */
interface Step {
  readonly file: string;
  readonly text: string;
  /** A whole line that is there once. Absent: the file is new. */
  readonly at?: { readonly where: 'after' | 'instead of'; readonly line: string };
}

interface Guide {
  readonly title: string;
  readonly steps: readonly Step[];
}

const page = readFileSync(path.join(repository, 'docs/guides.md'), 'utf8');
const place = /(?:\*\*(?<made>[^*\n]+)\*\* \(new\)|`(?<file>[^`\n]+)`, (?<where>after|instead of) `(?<line>[^\n]+)`)/;
const block = new RegExp(`${place.source}:\\n\\n\`\`\`(?:ts|jsonc)\\n(?<text>[\\s\\S]*?)^\`\`\`$`, 'gm');

const guides: readonly Guide[] = page
  .split(/^## /m)
  .slice(1)
  .map((section) => ({ title: section.split('\n', 1)[0] ?? '', steps: [...section.matchAll(block)].map(stepOf) }));

function stepOf({ groups }: RegExpExecArray): Step {
  const { made, file = '', text = '', where, line = '' } = groups ?? {};
  return made === undefined ? { file, text, at: { where: where === 'after' ? where : 'instead of', line } } : { file: made, text };
}

/** @throws {Error} where the page is stale: what it puts somewhere is there already, or the line that it names is not there once */
function follow(root: string, { file, text, at }: Step): void {
  const target = path.join(root, file);
  if (at === undefined) {
    if (existsSync(target)) throw new Error(`${file} is there already`);
    mkdirSync(path.dirname(target), { recursive: true });
    writeFileSync(target, text);
    return;
  }
  const lines = readFileSync(target, 'utf8').split('\n');
  const index = lines.indexOf(at.line);
  if (index < 0 || lines.indexOf(at.line, index + 1) >= 0) throw new Error(`${file} does not have once: ${at.line}`);
  const added = text.replace(/\n$/, '').split('\n');
  writeFileSync(target, lines.toSpliced(at.where === 'after' ? index + 1 : index, at.where === 'after' ? 0 : 1, ...added).join('\n'));
}

const isTest = (file: string) => file.startsWith('test/');
const filesOf = ({ steps }: Guide) => [...new Set(steps.map(({ file }) => file))];

describe('a guide', () => {
  it('has each of its blocks in a place', () => {
    const fences = page.match(/^```(?:ts|jsonc)$/gm) ?? [];
    expect(guides.map(({ title }) => title)).toEqual(['Add a tool', 'Add a page of rules', 'Add a store', 'Add a host']);
    expect(guides.flatMap(({ steps }) => steps)).toHaveLength(fences.length);
  });

  it.each(guides.map((guide) => [guide.title, guide] as const))('takes three files at most, and its test: %s', (_title, guide) => {
    const files = filesOf(guide);
    expect(files.filter((file) => !isTest(file)).length).toBeGreaterThan(0);
    expect(files.filter((file) => !isTest(file)).length).toBeLessThanOrEqual(3);
    expect(files.filter(isTest).length).toBeLessThanOrEqual(1);
  });
});

describe('who follows all of them', () => {
  let root = '';
  const changed = guides.flatMap(filesOf);
  const run = (...[program, ...args]: readonly [string, ...string[]]) => {
    const found = path.join(root, 'node_modules', '.bin', program);
    const { CI: _ci, VITEST: _vitest, ...env } = process.env;
    const options = { cwd: root, env, encoding: 'utf8', shell: process.platform === 'win32' } as const;
    const { status, stdout, stderr } = spawnSync(existsSync(found) ? found : program, args, options);
    return status === 0 ? 'ok' : `${program} ${args.join(' ')}: ${status}\n${stdout}\n${stderr}`;
  };

  beforeAll(() => {
    root = mkdtempSync(path.join(os.tmpdir(), 'guides-'));
    for (const name of copied) cpSync(path.join(repository, name), path.join(root, name), { recursive: true });
    symlinkSync(path.join(repository, 'node_modules'), path.join(root, 'node_modules'), 'junction');
    for (const guide of guides) for (const step of guide.steps) follow(root, step);
  });
  afterAll(() => rmSync(root, { recursive: true, force: true }));

  it('has generated files that name what was added, and are up to date', () => {
    expect(run(process.execPath, 'scripts/generate.ts')).toBe('ok');
    expect(run(process.execPath, 'scripts/generate.ts', '--check')).toBe('ok');
    expect(readFileSync(path.join(root, 'docs/tools.md'), 'utf8')).toContain('### get_ha_rules');
  });

  it('keeps to types, format and lint, has no dead code, and keeps to the import table and to texts in both languages', () => {
    const sources = changed.filter((file) => file.endsWith('.ts'));
    expect(run('tsc', '--noEmit', '--pretty', 'false', '-p', '.')).toBe('ok');
    expect(run('biome', 'check', '--error-on-warnings', ...changed)).toBe('ok');
    expect(run('oxlint', '--type-aware', '--deny-warnings', ...sources)).toBe('ok');
    expect(run('knip', '--no-progress')).toBe('ok');
    expect(run(process.execPath, 'scripts/architecture.ts')).toBe('ok');
    expect(run(process.execPath, 'scripts/check-texts.ts')).toBe('ok');
  });

  it('passes the tests of the guides, and those that every tool, page, store and command is held to', () => {
    const own = (kind: string) => changed.filter((file) => file.startsWith(`test/${kind}/`));
    const everyones = ['app/catalog', 'app/config', 'policy/ssh', 'hosts-cli/command', 'hosts-cli/completions', 'hosts/vscode/contributes'];
    expect(run('vitest', 'run', '--project', 'unit', ...own('unit'), ...everyones.map((folder) => `test/unit/${folder}`))).toBe('ok');
    expect(run('vitest', 'run', '--project', 'integration', ...own('integration'))).toBe('ok');
  });
});
