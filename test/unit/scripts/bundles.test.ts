import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { type BuildOptions, build, type Metafile } from 'esbuild';
import { afterEach, describe, expect, test } from 'vitest';
import { bundleFaults } from '../../../scripts/build/bundle-faults.mjs';
import { type Bundle, bundles } from '../../../scripts/build/bundles.mjs';
import { classNameFaults, keepClassNames } from '../../../scripts/build/class-names.mjs';
import { noExamples } from '../../../scripts/build/no-examples.mjs';
import { noNatives } from '../../../scripts/build/no-natives.mjs';
import { packBundle } from '../../../scripts/build/pack-chunks.mjs';
import { thirdPartyNotices } from '../../../scripts/build/third-party-notices.mjs';

const roots: string[] = [];

afterEach(() => {
  for (const root of roots.splice(0)) rmSync(root, { recursive: true, force: true });
});

function project(sources: Readonly<Record<string, string>>): string {
  const root = mkdtempSync(path.join(os.tmpdir(), 'bundles-'));
  roots.push(root);
  for (const [file, text] of Object.entries(sources)) {
    mkdirSync(path.dirname(path.join(root, file)), { recursive: true });
    writeFileSync(path.join(root, file), text);
  }
  return root;
}

/** Bundles `main.ts` of a small project as if it were the bundle `name`. */
async function metafileOf(name: string, sources: Readonly<Record<string, string>>): Promise<Metafile> {
  const { metafile } = await build({
    absWorkingDir: project(sources),
    entryPoints: ['main.ts'],
    outfile: `dist/${name}.cjs`,
    bundle: true,
    platform: 'node',
    external: ['vscode'],
    plugins: [noNatives],
    metafile: true,
    logLevel: 'silent',
  });
  return metafile;
}

function bundle(name: string) {
  const found = bundles.find((entry) => entry.name === name);
  if (found === undefined) throw new Error(`there is no bundle ${name}`);
  return found;
}

describe('what must not be in a bundle', () => {
  test.each<[string, string, Record<string, string>, string]>([
    [
      'the demo in the extension',
      'extension',
      { 'main.ts': "import './src/demo/a';\n", 'src/demo/a.ts': 'console.log(1);\n' },
      'holds src/demo/a.ts',
    ],
    [
      'another host in the extension',
      'extension',
      { 'main.ts': "import './src/hosts/cli/a';\n", 'src/hosts/cli/a.ts': 'console.log(1);\n' },
      'holds src/hosts/cli/a.ts',
    ],
    [
      'the editor host in the command line',
      'cli',
      { 'main.ts': "import './src/hosts/vscode/a';\n", 'src/hosts/vscode/a.ts': 'console.log(1);\n' },
      'holds src/hosts/vscode/a.ts',
    ],
    [
      'the vscode module in the command line',
      'cli',
      { 'main.ts': "import * as vscode from 'vscode';\nconsole.log(vscode);\n" },
      'imports vscode, which is not shipped',
    ],
    [
      'connectors in the worker',
      'store-worker',
      { 'main.ts': "import './src/connectors/a';\n", 'src/connectors/a.ts': 'console.log(1);\n' },
      'holds src/connectors/a.ts',
    ],
    [
      'the demo’s servers in the twin',
      'twin',
      { 'main.ts': "import './src/demo/listener';\n", 'src/demo/listener.ts': 'console.log(1);\n' },
      'holds src/demo/listener.ts',
    ],
    [
      'a browser driver in the extension, lazily too',
      'extension',
      { 'main.ts': "void import('playwright-core');\n", 'node_modules/playwright-core/index.js': 'exports.a = 1;\n' },
      'holds node_modules/playwright-core/index.js',
    ],
  ])('%s', async (_name, name, sources, message) => {
    const faults = bundleFaults(bundle(name), await metafileOf(name, sources), { checkSize: true });
    expect(faults).toEqual([expect.stringContaining(message)]);
  });

  test('too many bytes, unless built for debugging', async () => {
    const metafile = await metafileOf('cli', { 'main.ts': `console.log(${JSON.stringify('x'.repeat(1000))});\n` });
    const small = { ...bundle('cli'), budget: 500 };
    expect(bundleFaults(small, metafile, { checkSize: true })).toEqual([expect.stringContaining('over its budget of 500')]);
    expect(bundleFaults(small, metafile, { checkSize: false })).toEqual([]);
  });

  test('nothing is wrong with built-ins, and with vscode in the extension', async () => {
    const metafile = await metafileOf('extension', { 'main.ts': "import 'vscode';\nimport 'node:sqlite';\nimport 'fs';\n" });
    expect(bundleFaults(bundle('extension'), metafile, { checkSize: true })).toEqual([]);
  });
});

test('native add-ons throw when they are loaded, so that ssh2 goes without', async () => {
  const main =
    "for (const load of [() => require('cpu-features'), () => require('./x.node')]) try { load(); } catch (e) { console.log(e.message); }\n";
  const root = project({ 'main.cjs': main });
  const outfile = path.join(root, 'out.cjs');
  await build({
    absWorkingDir: root,
    entryPoints: ['main.cjs'],
    bundle: true,
    platform: 'node',
    format: 'cjs',
    plugins: [noNatives],
    outfile,
  });
  const said = execFileSync(process.execPath, [outfile], { encoding: 'utf8' });
  expect(said).toBe('cpu-features is a native add-on and left out on purpose\n./x.node is a native add-on and left out on purpose\n');
});

describe('names of classes', () => {
  const error = 'exports.E = class LongName extends Error { get name() { return this.constructor.name; } };\n';
  const main = "for (const p of ['a', 'b']) console.log(new (p === 'a' ? require('redis-errors') : require('others')).E().name.length);\n";
  const sources = { 'main.cjs': main, 'node_modules/redis-errors/index.js': error, 'node_modules/others/index.js': error };

  test('are kept where they are looked at, and nowhere else', async () => {
    const root = project(sources);
    const outfile = path.join(root, 'out.cjs');
    await build({
      absWorkingDir: root,
      entryPoints: ['main.cjs'],
      bundle: true,
      platform: 'node',
      minify: true,
      plugins: [keepClassNames],
      outfile,
    });
    const lengths = execFileSync(process.execPath, [outfile], { encoding: 'utf8' }).trim().split('\n').map(Number);
    expect(lengths[0]).toBe('LongName'.length);
    expect(lengths[1]).toBeLessThan(3);
  });

  test('must not be looked at by packages nobody has thought about, or by our own code', async () => {
    const root = project({
      ...sources,
      'src/a.ts': 'export const a = (b: object) => b.constructor.name;\n',
      'b.ts': "export * from './src/a.ts';\n",
    });
    const { metafile } = await build({
      absWorkingDir: root,
      entryPoints: ['main.cjs', 'b.ts'],
      bundle: true,
      platform: 'node',
      metafile: true,
      write: false,
      outdir: 'dist',
    });
    const said = ' looks at the name of a class, which minifying takes away; see scripts/build/class-names.mjs';
    expect(classNameFaults(root, metafile)).toEqual([`node_modules/others/index.js${said}`, `src/a.ts${said}`]);
  });
});

test('the notices hold each bundled package once, with its licence', async () => {
  const root = project({
    'main.ts': "import 'a';\nimport '@s/b';\nimport '@s/b/two';\n",
    'node_modules/a/package.json': JSON.stringify({ name: 'a', version: '1.0.0', license: 'MIT' }),
    'node_modules/a/index.js': 'console.log(1);\n',
    'node_modules/a/LICENSE.md': 'Permission is hereby granted\n',
    'node_modules/@s/b/package.json': JSON.stringify({ name: '@s/b', version: '2.0.0', licenses: [{ type: 'ISC' }] }),
    'node_modules/@s/b/index.js': 'console.log(2);\n',
    'node_modules/@s/b/two.js': 'console.log(3);\n',
    'node_modules/unused/package.json': JSON.stringify({ name: 'unused', version: '1.0.0' }),
  });
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: ['main.ts'],
    bundle: true,
    platform: 'node',
    metafile: true,
    write: false,
    outdir: 'dist',
  });
  const text = thirdPartyNotices(root, [metafile, metafile]);
  expect(text).toContain('a 1.0.0 (MIT)\n\nPermission is hereby granted');
  expect(text).toContain('@s/b 2.0.0 (ISC)\n\nno licence file in the package');
  expect(text.match(/^@s\/b /gm)).toHaveLength(1);
  expect(text).not.toContain('unused');
});

describe('examples of rules', () => {
  test('are left out, and nothing else is', async () => {
    const rule =
      "{ id: 'a', match: ['ls -l', `df`], notMatch: String.raw`rm \\x`, options: ['match'], nested: { match: text, notMatch: [1] } }";
    const root = project({
      'src/policy/rules.ts': `const text: string = 'kept'; export const rule = ${rule}; export const found = 'x'.match(/notMatch:/);`,
      'src/tools/other.ts': "export const other = { notMatch: ['stays'], match: ['too'] };",
      'main.ts':
        "import { rule } from './src/policy/rules.ts'; import { other } from './src/tools/other.ts'; console.log(JSON.stringify([rule, other]));",
    });
    const outfile = path.join(root, 'out.cjs');
    await build({ absWorkingDir: root, entryPoints: ['main.ts'], outfile, bundle: true, platform: 'node', plugins: [noExamples] });
    expect(JSON.parse(execFileSync(process.execPath, [outfile], { encoding: 'utf8' }))).toEqual([
      { id: 'a', options: ['match'], nested: { match: 'kept', notMatch: [1] } },
      { notMatch: ['stays'], match: ['too'] },
    ]);
  });
});

describe('a packed bundle', () => {
  const packed = { name: 'packed', entry: 'main.ts', target: 'node20' };

  async function packedIn(
    sources: Readonly<Record<string, string>>,
    minify = true,
  ): Promise<{ readonly file: string; readonly metafile: Metafile }> {
    const root = project(sources);
    const options = {
      absWorkingDir: root,
      entryPoints: ['main.ts'],
      bundle: true,
      platform: 'node' as const,
      minify,
      logLevel: 'silent',
    } satisfies BuildOptions;
    const { code, metafile } = await packBundle(packed, options);
    const file = path.join(root, 'alone.cjs');
    writeFileSync(file, code);
    return { file, metafile };
  }

  const run = (file: string, ...args: string[]) => execFileSync(process.execPath, [file, ...args], { encoding: 'utf8' });

  const sources = {
    'main.ts': `#!/usr/bin/env node
import { shared } from './shared';
console.log('main', shared.count);
if (process.argv[2] !== undefined) void import('./later').then(({ later }) => later());
`,
    'shared.ts': 'export const shared = { count: 1 };\nexport const text = String.raw`*/ \u00fc \u2028 \u{1f6a7} \\n`;\n',
    'later.ts': `import { shared, text } from './shared';
console.log('later is loaded');
shared.count += 1;
export const later = () => console.log(shared.count, JSON.stringify(text), /a*/.source, '*/', __filename.endsWith('alone.cjs'));
`,
  };

  test.each([true, false])('runs alone, and loads a part when it is asked for (minified: %s)', async (minify) => {
    const { file } = await packedIn(sources, minify);
    expect(run(file)).toBe('main 1\n');
    expect(run(file, 'more')).toBe(`main 1\nlater is loaded\n2 ${JSON.stringify('*/ \u00fc \u2028 \u{1f6a7} \\n')} a* */ true\n`);
  });

  test('goes on with its own parts where another version has taken its place', async () => {
    const { file } = await packedIn({
      'main.ts': "import { writeFileSync } from 'node:fs';\nwriteFileSync(__filename, 'gone');\nvoid import('./later');\n",
      'later.ts': "console.log('still here');\n",
    });
    expect(run(file)).toBe('still here\n');
  });

  test('gives what is imported later its names, CommonJS too', async () => {
    const { file } = await packedIn({
      'main.ts': `async function main() {
  const { named } = await import('./later.cjs');
  console.log(named, (await import('./typed.cjs')).default.named);
}
void main();
`,
      'later.cjs': 'exports.named = 1;\n',
      'typed.cjs': "Object.defineProperty(exports, '__esModule', { value: true });\nexports.named = 2;\nexports.default = exports;\n",
    });
    expect(run(file)).toBe('1 2\n');
  });

  test('names what is loaded always without need', async () => {
    const { metafile } = await packedIn({
      ...sources,
      'main.ts': "import './later';\nvoid import('./lazy');\n",
      'lazy.ts': 'console.log(1);\n',
    });
    const faultsOf = (loads: NonNullable<Bundle['loads']>) =>
      bundleFaults({ ...bundle('cli'), ...packed, forbidden: [], loads }, metafile, { checkSize: true });
    const fault = 'packed: main.ts always loads later.ts; import it where it is used, or allow it in scripts/build/bundles.mjs';
    expect(faultsOf([{ from: /^main\.ts$/, only: [/^main\.ts$/, /^shared\.ts$/] }])).toEqual([fault]);
    expect(faultsOf([{ from: /^main\.ts$/, never: [/^later\.ts$/, /^lazy\.ts$/] }])).toEqual([fault]);
    expect(faultsOf([{ from: /^lazy\.ts$/, only: [/^lazy\.ts$/] }])).toEqual([]);
  });
});
