/** `npm run package -- --all`: what a release has, as those meet it who install it. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Ajv } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import JSZip from 'jszip';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { cleanEnv } from '../../../scripts/lib/clean-env.mjs';

const repository = path.resolve(import.meta.dirname, '../../..');
const { version } = JSON.parse(readFileSync(path.join(repository, 'package.json'), 'utf8'));
const folder = mkdtempSync(path.join(tmpdir(), 'banksman-release-'));
const release = path.join(folder, 'first');
const workspace = path.join(folder, 'workspace');
const releaseFiles = [
  ...['cdx.json', 'mcpb', 'tgz', 'vsix'].map((kind) => `banksman-${version}.${kind}`),
  ...['config.schema.json', 'server.json'],
];

function pack(into: string): void {
  execFileSync(process.execPath, ['scripts/package.ts', '--all', into], { cwd: repository, stdio: 'ignore' });
}

function readJson(file: string): unknown {
  return JSON.parse(readFileSync(file, 'utf8'));
}

const fixture = (name: string) => readJson(path.join(repository, 'test/fixtures/registry', name)) as object;

/** What is wrong with `value`; empty: nothing. */
function faults(checker: Ajv | Ajv2020, schema: object, value: unknown): unknown {
  formats.default(checker);
  return checker.validate(schema, value) ? [] : checker.errors;
}

beforeAll(() => {
  mkdirSync(workspace);
  writeFileSync(path.join(workspace, 'notes.txt'), 'noted');
  pack(release);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it('holds the packages, what describes them, and their sums', () => {
  const sums = readFileSync(path.join(release, 'SHA256SUMS'), 'utf8').trim().split('\n');
  const sumOf = (name: string) =>
    createHash('sha256')
      .update(readFileSync(path.join(release, name)))
      .digest('hex');
  expect(sums).toEqual(releaseFiles.map((name) => `${sumOf(name)}  ${name}`));
});

/** Where a page sends people, with nothing of this machine but its programs: what is installed there goes with the folder. */
const place = {
  HOME: path.join(folder, 'home'),
  PATH: [path.join(folder, 'prefix/bin'), path.dirname(process.execPath), cleanEnv().PATH].join(path.delimiter),
  npm_config_prefix: path.join(folder, 'prefix'),
  npm_config_offline: 'true',
};

/** Types what docs/releasing.md says of a file, in the folder of the release. @returns what it printed */
function follow(row: string): string {
  const line = readFileSync(path.join(repository, 'docs/releasing.md'), 'utf8').match(new RegExp(`^\\| \`${row}\` \\|.*$`, 'm'))?.[0] ?? '';
  const command = /.*\| `([^`]+)`/.exec(line)?.[1] ?? '';
  return execFileSync('sh', ['-c', command.replace('FILE', row.replace('VERSION', version))], {
    cwd: release,
    env: place,
    encoding: 'utf8',
  });
}

it('is checked by its sums', () => {
  expect(follow('SHA256SUMS').trim().split('\n')).toEqual(releaseFiles.map((name) => `${name}: OK`));
});

it('is published by actions that are pinned by their hash', () => {
  const workflows = ['check', 'release']
    .map((name) => readFileSync(path.join(repository, `.github/workflows/${name}.yml`), 'utf8'))
    .join('');
  const uses = workflows.match(/uses: .*/g) ?? [];
  expect(uses.length).toBeGreaterThan(5);
  expect(uses.filter((line) => !/@[0-9a-f]{40} # v[\d.]+$/.test(line))).toEqual([]);
});

it('is taken by npm for the file that it is, by the line that publishes it', () => {
  const line = /run: (npm publish .*)/.exec(readFileSync(path.join(repository, '.github/workflows/release.yml'), 'utf8'))?.[1] ?? '';
  symlinkSync(release, path.join(folder, 'release'));
  // What says where it comes from is made in a workflow alone.
  const tried = line.replace('--provenance', '--dry-run');
  const said = execFileSync('sh', ['-c', tried], { cwd: folder, env: place, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  expect(said.trim()).toBe(`+ banksman@${version}`);
});

it('is the same, byte for byte, when it is made again', () => {
  const again = path.join(folder, 'again');
  pack(again);
  expect(readFileSync(path.join(again, 'SHA256SUMS'), 'utf8')).toBe(readFileSync(path.join(release, 'SHA256SUMS'), 'utf8'));
});

it('is described for the MCP registry, the same name in the npm package', () => {
  const server = readJson(path.join(release, 'server.json'));
  expect(faults(new Ajv({ strict: false, logger: false }), fixture('server-2025-12-11.json'), server)).toEqual([]);
  const packed = execFileSync('tar', ['-xzOf', path.join(release, `banksman-${version}.tgz`), 'package/package.json'], {
    encoding: 'utf8',
  });
  expect(server).toMatchObject({ name: JSON.parse(packed).mcpName, version });
});

it('says what is in the bundles: each package with licence and hash', () => {
  const bom = readJson(path.join(release, `banksman-${version}.cdx.json`));
  const checker = new Ajv({ strict: false, logger: false, schemas: [fixture('spdx-licences.json'), fixture('jsf-0.82.json')] });
  expect(faults(checker, fixture('cyclonedx-1.6.json'), bom)).toEqual([]);
  const { components } = bom as {
    readonly components: readonly { readonly name: string; readonly licenses?: unknown; readonly hashes?: unknown }[];
  };
  expect(components.map(({ name }) => name)).toEqual(expect.arrayContaining(['zod', 'ssh2', 'undici', 'iovalkey']));
  expect(components.filter(({ licenses, hashes }) => licenses === undefined || hashes === undefined)).toEqual([]);
});

it('has a schema by which an editor checks a configuration', () => {
  const schema = readJson(path.join(release, 'config.schema.json')) as object;
  const check = (config: object) => faults(new Ajv2020({ strict: false }), schema, config);
  const cluster = { name: 'lab', endpoints: ['https://10.0.0.11:8006'], tokenId: 'ops@pve!banksman' };
  expect(
    check({ $schema: './config.schema.json', clusters: [cluster], protected: { guests: [{ vmid: 103, reason: 'the VPN' }] } }),
  ).toEqual([]);
  expect(check({ clusters: [cluster], securityLevel: 'yolo' })).toEqual([expect.objectContaining({ instancePath: '/securityLevel' })]);
  expect(check({ protektet: {} })).toEqual([expect.objectContaining({ keyword: 'additionalProperties' })]);
});

/** A client's main job: it lists the tools and reads a file of the workspace. */
async function serves(command: string, args: readonly string[]): Promise<void> {
  const client = new Client({ name: 'release', version: '1' });
  const home = mkdtempSync(path.join(folder, 'home-'));
  const env = { ...place, HOME: home };
  await client.connect(new StdioClientTransport({ command, args: [...args], cwd: home, env, stderr: 'ignore' }));
  try {
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain('read_file');
    const { structuredContent } = await client.callTool({ name: 'read_file', arguments: { path: 'notes.txt' } });
    expect(structuredContent).toMatchObject({ status: 'ok', result: { content: expect.stringContaining('noted') } });
  } finally {
    await client.close();
  }
}

it('is an npm package that installs as the page says and serves, without anything else', { timeout: 120_000 }, async () => {
  follow('banksman-VERSION.tgz');
  const found = execFileSync('sh', ['-c', 'command -v banksman && banksman --version'], { env: place, encoding: 'utf8' });
  expect(found).toBe(`${path.join(folder, 'prefix/bin/banksman')}\n${version}\n`);
  await serves('banksman', ['mcp', '--root', workspace]);
  await serves('npx', ['--no-install', 'banksman', 'mcp', '--root', workspace]);
});

it('is a bundle for desktop hosts whose own command serves', { timeout: 120_000 }, async () => {
  const unpacked = path.join(folder, 'unpacked');
  const zip = await JSZip.loadAsync(readFileSync(path.join(release, `banksman-${version}.mcpb`)));
  for (const entry of Object.values(zip.files)) {
    mkdirSync(path.dirname(path.join(unpacked, entry.name)), { recursive: true });
    writeFileSync(path.join(unpacked, entry.name), await entry.async('nodebuffer'));
  }
  const manifest = readJson(path.join(unpacked, 'manifest.json'));
  expect(faults(new Ajv({ strict: false, logger: false }), fixture('mcpb-manifest-0.3.json'), manifest)).toEqual([]);
  const { server, icon } = manifest as {
    readonly icon: string;
    readonly server: { readonly entry_point: string; readonly mcp_config: { readonly args: readonly string[] } };
  };
  for (const file of [icon, server.entry_point]) expect(existsSync(path.join(unpacked, file))).toBe(true);
  const filled = (word: string) => word.replaceAll(`\${__dirname}`, unpacked).replaceAll(`\${user_config.workspace}`, workspace);
  await serves(process.execPath, server.mcp_config.args.map(filled));
});
