import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterEach, describe, expect, test } from 'vitest';
import { readImportGraph } from '../../../scripts/architecture/import-graph.ts';
import { drawImportMap, readRoomImports, shownCount } from '../../../scripts/architecture/import-map.ts';
import { fileExceptions, importTable, lazyFiles } from '../../../scripts/architecture/table.ts';
import { violationsOf } from '../../../scripts/architecture/violations.ts';

const repository = path.resolve(import.meta.dirname, '../../..');
const roots: string[] = [];

afterEach(() => {
  for (const root of roots.splice(0)) rmSync(root, { recursive: true, force: true });
});

/** A project on disk with these files in `src`, beside a kernel file that can be imported. */
function project(sources: Readonly<Record<string, string>>): string {
  const root = mkdtempSync(path.join(os.tmpdir(), 'architecture-'));
  roots.push(root);
  const folders = ['kernel', 'policy', 'execution', 'tools', 'connectors', 'app', 'demo', 'hosts', 'surprise'];
  const imports = Object.fromEntries(folders.map((folder) => [`#${folder}/*`, `./src/${folder}/*.ts`]));
  writeFileSync(path.join(root, 'package.json'), JSON.stringify({ name: 'fixture', type: 'module', imports }));
  for (const [file, text] of Object.entries({ 'kernel/word.ts': 'export const word = 1;\n', ...sources })) {
    mkdirSync(path.dirname(path.join(root, 'src', file)), { recursive: true });
    writeFileSync(path.join(root, 'src', file), text);
  }
  return root;
}

async function violations(sources: Readonly<Record<string, string>>): Promise<readonly string[]> {
  return violationsOf(await readImportGraph(project(sources)), { folders: importTable, exceptions: fileExceptions, lazyFiles });
}

describe('what the table allows passes', () => {
  test.each<[string, Record<string, string>]>([
    ['a stage that imports the kernel', { 'policy/a.ts': "import { word } from '#kernel/word';\nexport const a = word;\n" }],
    [
      'the demo, lazily, by way of app',
      {
        'demo/d.ts': 'export const d = 1;\n',
        'app/demo.ts': "export * from '#demo/d';\n",
        'hosts/cli/a.ts': "export const a = () => import('#app/demo');\n",
      },
    ],
    ['processes in execution', { 'execution/a.ts': "export { spawn } from 'node:child_process';\n" }],
    ['zod in a tool', { 'tools/support/a.ts': "import * as z from 'zod';\nexport const a = z.string();\n" }],
    ['vscode in its host', { 'hosts/vscode/a.ts': "import * as vscode from 'vscode';\nexport const a = vscode.window;\n" }],
    [
      'the texts of the editor, on the page',
      {
        '../media/l10n/bundle.l10n.de.json': '{}',
        'hosts/page/german.ts': "export { default as texts } from '../../../media/l10n/bundle.l10n.de.json' with { type: 'json' };\n",
      },
    ],
    ['a file with an exception of its own', { 'hosts/cli/newer-node.ts': "export { spawnSync } from 'node:child_process';\n" }],
    [
      'a comment about import()',
      { 'policy/a.ts': '/**\n * Loaded by import(…).\n */\n// createRequire is not used.\nexport const a = 1;\n' },
    ],
    [
      'the tools of one family in a file',
      {
        'tools/cluster/power.ts':
          "export const stopVm = defineTool({ name: 'stop_vm' });\nexport const startVm = defineTool({\n  name: 'start_vm',\n});\n",
      },
    ],
  ])('%s', async (_name, sources) => {
    expect(await violations(sources)).toEqual([]);
  });
});

describe('what it does not allow is found', () => {
  test.each<[string, Record<string, string>, string]>([
    [
      'data outside of src',
      { '../media/x.json': '{}', 'policy/a.ts': "export { default as x } from '../../media/x.json' with { type: 'json' };\n" },
      'it is in no folder that the table lists',
    ],
    [
      'a stage that imports another',
      { 'policy/a.ts': "export * from '#execution/x';\n", 'execution/x.ts': 'export const x = 1;\n' },
      'policy may import kernel',
    ],
    [
      'a type-only import',
      { 'policy/a.ts': "import type { X } from '#execution/x';\nexport type Y = X;\n", 'execution/x.ts': 'export type X = 1;\n' },
      'policy may import kernel',
    ],
    [
      'the kernel that imports a host',
      { 'kernel/a.ts': "export * from '#hosts/cli/x';\n", 'hosts/cli/x.ts': 'export const x = 1;\n' },
      'kernel may import none',
    ],
    [
      'one host that imports another',
      { 'hosts/cli/a.ts': "export * from '#hosts/mcp/x';\n", 'hosts/mcp/x.ts': 'export const x = 1;\n' },
      'hosts/cli may import kernel, app',
    ],
    ['a file system in a pure folder', { 'policy/a.ts': "export { readFileSync } from 'node:fs';\n" }, 'must not import node:fs'],
    ['a file system by require', { 'policy/a.ts': "export const fs = require('node:fs');\n" }, 'must not import node:fs'],
    [
      'a file system by import()',
      { 'policy/a.ts': "export const fs = () => import('node:fs/promises');\n" },
      'must not import node:fs/promises',
    ],
    ['a file system by process', { 'policy/a.ts': "export const fs = process.getBuiltinModule('node:fs');\n" }, '`getBuiltinModule` hides'],
    ['a computed import()', { 'policy/a.ts': 'export const fs = (name: string) => import(name);\n' }, '`import(` hides'],
    [
      'a computed import() in a generator',
      {
        'policy/a.ts':
          'export const a = {\n  *all(name: string) {\n    yield import(name);\n  },\n  *one(name: string) { yield import(name); },\n};\n',
      },
      '`import(` hides',
    ],
    [
      'a computed require',
      { 'hosts/cli/newer-node.ts': "import { createRequire } from 'node:module';\nexport const r = createRequire('/');\n" },
      '`createRequire` hides',
    ],
    [
      'processes outside execution',
      { 'connectors/a.ts': "export { spawn } from 'node:child_process';\n" },
      'must not import node:child_process',
    ],
    [
      'an https client whose agent the editor would replace',
      { 'connectors/a.ts': "export { request } from 'node:https';\n" },
      'must not import node:https',
    ],
    ['sqlite outside stores', { 'app/a.ts': "export { DatabaseSync } from 'node:sqlite';\n" }, 'must not import node:sqlite'],
    ['ssh2 outside connectors and demo', { 'app/a.ts': "export { Client } from 'ssh2';\n" }, 'must not import the package ssh2'],
    ['undici in the demo', { 'demo/a.ts': "export { fetch } from 'undici';\n" }, 'must not import the package undici'],
    [
      'vscode outside its host',
      { 'app/a.ts': "import type * as vscode from 'vscode';\nexport type A = vscode.Uri;\n" },
      'must not import the package vscode',
    ],
    [
      'the MCP SDK outside its host',
      { 'app/a.ts': "export * from '@modelcontextprotocol/sdk/types.js';\n" },
      'must not import the package @modelcontextprotocol',
    ],
    [
      'a package that only begins like an allowed one',
      { 'tools/support/a.ts': "export * from 'zod-to-json-schema';\n" },
      'must not import the package zod-to',
    ],
    ['a built-in without its prefix', { 'execution/a.ts': "export { spawn } from 'child_process';\n" }, 'write `node:child_process`'],
    [
      'the demo, eagerly',
      { 'app/demo.ts': 'export const d = 1;\n', 'hosts/cli/a.ts': "export * from '#app/demo';\n" },
      'must import #app/demo by `await import(…)`',
    ],
    [
      'the demo from elsewhere in app',
      { 'app/a.ts': "export const a = () => import('#demo/d');\n", 'demo/d.ts': 'export const d = 1;\n' },
      'must not import #demo/d',
    ],
    ['a folder that nobody listed', { 'surprise/a.ts': 'export const a = 1;\n' }, 'that scripts/architecture/table.ts does not list'],
    ['a file in src itself', { 'a.ts': 'export const a = 1;\n' }, 'that scripts/architecture/table.ts does not list'],
    [
      'a JavaScript file in an unlisted folder',
      { 'surprise/a.mjs': 'export const a = 1;\n' },
      'that scripts/architecture/table.ts does not list',
    ],
    [
      'another kind of source file',
      { 'policy/a.cts': "export { spawn } from 'node:child_process';\n" },
      'must not import node:child_process',
    ],
    ['a host that nobody listed', { 'hosts/web/a.ts': 'export const a = 1;\n' }, 'that scripts/architecture/table.ts does not list'],
    ['an import of nothing', { 'policy/a.ts': "export * from '#kernel/nothing';\n" }, 'does not exist'],
    ['a way out of src', { 'kernel/a.ts': "export * from '../../outside.ts';\n" }, 'does not exist'],
    ['a relative import across folders', { 'policy/a.ts': "export * from '../kernel/word.ts';\n" }, 'write `#kernel/…`'],
    ['a subpath import inside a folder', { 'kernel/a.ts': "export * from '#kernel/word';\n" }, 'write a relative import'],
    ['a cycle', { 'policy/a.ts': "export * from './b.ts';\n", 'policy/b.ts': "export * from './a.ts';\n" }, 'cycle: '],
    [
      'a tool that is not exported',
      { 'tools/cluster/power.ts': "const stopVm = defineTool({ name: 'stop_vm' });\nexport const all = [stopVm];\n" },
      'must export the tool `stop_vm` as `stopVm`',
    ],
    [
      'a tool under another name',
      { 'tools/cluster/power.ts': "export const stopVm = defineTool({ name: 'kill_vm' });\n" },
      'must export the tool `kill_vm` as `killVm`',
    ],
    [
      'a tool without its name at the top',
      { 'tools/cluster/a.ts': "export const a = defineTool({ name: 'a' });\nexport const b = defineTool({ title: 'b', name: 'b' });\n" },
      'must begin the tool `b` with its name',
    ],
    ['a tool outside the catalog', { 'app/a.ts': 'export const a = defineTool({});\n' }, 'declares a tool outside'],
  ])('%s', async (_name, sources, message) => {
    expect(await violations(sources)).toEqual([expect.stringContaining(message)]);
  });
});

describe('a graph that does not match the disk is not believed', () => {
  test('no sources at all', async () => {
    const root = project({});
    rmSync(path.join(root, 'src'), { recursive: true });
    await expect(readImportGraph(root)).rejects.toThrow('no source file');
  });

  test('a file that the parser gives up on', async () => {
    const root = project({ 'policy/a.ts': "import { spawn } from 'node:child_process';\nexport const a = = spawn;\n" });
    await expect(readImportGraph(root)).rejects.toThrow('Syntax Error');
  });

  test('an import that plain text shows and the cruiser does not (here: text in a template)', async () => {
    const root = project({ 'policy/a.ts': "export const a = `\nimport { spawn } from 'node:child_process';\n`;\n" });
    await expect(readImportGraph(root)).rejects.toThrow('missed the import of node:child_process in src/policy/a.ts');
  });

  test('a file that the cruiser skips', async () => {
    const root = project({ 'policy/node_modules/a.ts': "import { spawn } from 'node:child_process';\nexport const a = spawn;\n" });
    await expect(readImportGraph(root)).rejects.toThrow('did not see src/policy/node_modules/a.ts');
  });
});

describe('the map', () => {
  test('has an arrow for what is imported, lazily too, and none for what a comment names', () => {
    const root = project({
      'policy/a.ts': "import { word } from '#kernel/word';\nimport type { b } from './b.ts';\nexport const a: typeof b = word;\n",
      'policy/b.ts': "// As import('#demo/d') does.\nexport const b = 1;\n",
      'app/a.ts':
        "export * from '#kernel/word';\n/** Once by each name: `import('#demo/d')`. */\nexport const a = () => import('#policy/a');\n",
      'demo/d.ts': 'export const d = 1;\n',
    });
    const imports = readRoomImports(root);
    const arrows = [...imports].flatMap(([room, others]) => [...others].map(([other, count]) => `${room} ${other} ${count}`));
    expect(arrows.toSorted()).toEqual(['app kernel 1', 'app policy 1', 'policy kernel 1']);
    const map = drawImportMap(imports);
    expect(map.match(/marker-end/g)).toHaveLength(3);
    const rooms = Array.from(map.matchAll(/class="name">(\w+)</g), ([, room = '']) => room);
    expect(rooms.toSorted()).toEqual(['app', 'demo', 'kernel', 'policy']);
  });

  test('cannot be drawn of a circle, or with an arrow to nothing', () => {
    const to = (...others: readonly string[]) => new Map(others.map((other) => [other, 1]));
    const circle = new Map([
      ['app', to('policy')],
      ['policy', to('app')],
    ]);
    expect(() => drawImportMap(circle)).toThrow('rooms import each other: app, policy, app');
    expect(() => drawImportMap(new Map([['app', to('nothing')]]))).toThrow('there is no folder nothing');
  });

  test.each([
    [1, '1'],
    [9, '9'],
    [10, '~10'],
    [34, '~30'],
    [96, '~100'],
    [415, '~400'],
  ])('says %d as %s', (count, shown) => {
    expect(shownCount(count)).toBe(shown);
  });
});

describe('the text search', () => {
  test('an import that the cruiser sees and the map would not show', async () => {
    const root = project({ 'policy/a.ts': "export const a = 1; export { word } from '#kernel/word';\n" });
    await expect(readImportGraph(root)).rejects.toThrow('the text search missed the import of #kernel/word in src/policy/a.ts');
  });
});

test('the command itself fails on a violation, and passes without one', async () => {
  const run = (root: string) => promisify(execFile)(process.execPath, [path.join(repository, 'scripts/architecture.ts'), root]);
  const bad = project({ 'policy/a.ts': "export { readFileSync } from 'node:fs';\n" });
  await expect(run(project({}))).resolves.toMatchObject({ stdout: 'architecture: 1 files, 0 imports, 0 violations\n' });
  await expect(run(bad)).rejects.toMatchObject({ code: 1, stderr: expect.stringContaining('src/policy/a.ts: must not import node:fs') });
});

test('the files that are only loaded when asked for are there: of one that moved the rule would say nothing', () => {
  expect(lazyFiles.filter((file) => !existsSync(path.join(repository, 'src', file)))).toEqual([]);
});
