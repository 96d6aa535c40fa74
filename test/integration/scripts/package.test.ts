import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { createVSIX } from '@vscode/vsce';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { packageFaults } from '../../../scripts/package/package-faults.ts';
import { type ZipEntry, zipEntries } from '../../../scripts/package/zip-entries.ts';

const repository = path.resolve(import.meta.dirname, '../../..');
const files = {
  'package.json': JSON.stringify({
    name: 'fixture',
    publisher: 'fixture',
    version: '1.0.0',
    license: 'Apache-2.0',
    repository: { type: 'git', url: 'https://example.org/fixture.git' },
    engines: { vscode: '^1.125.0' },
    main: './dist/extension.cjs',
    activationEvents: ['onStartupFinished'],
    bin: { fixture: './dist/cli.cjs' },
  }),
  'package.nls.json': '{}',
  'README.md': '# Fixture\n\nA fixture.\n',
  'CHANGELOG.md': '# Changelog\n',
  LICENSE: 'Apache-2.0\n',
  'dist/extension.cjs': 'exports.activate = () => undefined;\n',
  'dist/replay-worker.cjs': '// replay\n',
  'dist/store-worker.cjs': '// worker\n',
  'dist/twin.cjs': '// twin\n',
  'dist/sinks.cjs': '// sinks\n',
  'dist/german.cjs': '// german\n',
  'dist/cli.cjs': '#!/usr/bin/env node\n',
  'dist/cli.cjs.map': '{}',
  'dist/metafile.json': '{}',
  'dist/THIRD-PARTY-NOTICES.txt': 'notices\n',
  'media/icon.svg': '<svg/>',
  'src/app/app.ts': 'export const app = 1;\n',
  'test/a.test.ts': '',
  '.cache/token': 'x',
  '.ci/run': '',
  'biome.json': '{}',
  'node_modules/zod/index.js': '',
};

let root = '';
let entries: readonly ZipEntry[] = [];

beforeAll(async () => {
  root = mkdtempSync(path.join(os.tmpdir(), 'package-'));
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(root, file)), { recursive: true });
    writeFileSync(path.join(root, file), text);
  }
  for (const file of ['.vscodeignore', '.npmignore']) cpSync(path.join(repository, file), path.join(root, file));
  await createVSIX({ cwd: root, packagePath: path.join(root, 'x.vsix'), dependencies: false });
  entries = zipEntries(path.join(root, 'x.vsix'));
});

afterAll(() => rmSync(root, { recursive: true, force: true }));

describe('the .vsix', () => {
  test('holds what .vscodeignore names and nothing else', () => {
    expect(entries.map(({ name }) => name).toSorted()).toEqual([
      '[Content_Types].xml',
      'extension.vsixmanifest',
      'extension/LICENSE.txt',
      'extension/changelog.md',
      'extension/dist/THIRD-PARTY-NOTICES.txt',
      'extension/dist/cli.cjs',
      'extension/dist/extension.cjs',
      'extension/dist/german.cjs',
      'extension/dist/replay-worker.cjs',
      'extension/dist/sinks.cjs',
      'extension/dist/store-worker.cjs',
      'extension/dist/twin.cjs',
      'extension/media/icon.svg',
      'extension/package.json',
      'extension/package.nls.json',
      'extension/readme.md',
    ]);
    expect(packageFaults(entries)).toEqual([]);
  });

  test('its entries have their sizes', () => {
    expect(entries.find(({ name }) => name === 'extension/dist/extension.cjs')?.size).toBe(files['dist/extension.cjs'].length);
  });

  test.each([
    'extension/src/app/app.ts',
    'extension/dist/cli.cjs.map',
    'extension/node_modules/zod/index.js',
    'extension/.env',
    'extension/media/key.pem',
  ])('%s in it is a fault', (name) => {
    expect(packageFaults([...entries, { name, packed: 1, size: 1 }])).toEqual([`${name} must not be in the package (.vscodeignore)`]);
  });

  test('a missing bundle is a fault', () => {
    expect(packageFaults(entries.filter(({ name }) => !name.endsWith('store-worker.cjs')))).toEqual([
      'extension/dist/store-worker.cjs is missing',
    ]);
  });

  test('too many files are a fault', () => {
    const icons = Array.from({ length: 60 }, (_none, index) => ({ name: `extension/media/${index}.svg`, packed: 1, size: 1 }));
    expect(packageFaults([...entries, ...icons])).toEqual(['76 files are more than 60']);
  });

  test('what is no archive is refused', () => {
    expect(() => zipEntries(path.join(root, 'package.json'))).toThrow('is not a zip archive');
  });
});

test('the npm package is the command line alone', () => {
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';
  const answer = execFileSync(npm, ['pack', '--dry-run', '--json', '--ignore-scripts'], {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const [packed] = JSON.parse(answer);
  expect(packed.files.map((file: { path: string }) => file.path).toSorted()).toEqual([
    'CHANGELOG.md',
    'LICENSE',
    'README.md',
    'dist/THIRD-PARTY-NOTICES.txt',
    'dist/cli.cjs',
    'dist/german.cjs',
    'dist/sinks.cjs',
    'dist/store-worker.cjs',
    'package.json',
  ]);
});
