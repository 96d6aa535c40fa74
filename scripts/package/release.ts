/** What a release has beside the .vsix: the npm package, the bundle for desktop hosts, and the files that describe them. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { billOfMaterials } from './bill-of-materials.ts';
import type { Manifest } from './manifest.ts';
import { mcpbManifest, packMcpb } from './mcpb.ts';
import { serverJson } from './server-json.ts';

interface Release {
  readonly root: string;
  /** Holds the .vsix already. */
  readonly folder: string;
  readonly manifest: Manifest;
  readonly date: Date;
}

/** SOURCE_DATE_EPOCH where it is set (reproducible-builds.org), else the commit's date, so that one commit makes one archive. */
export function dateOfRelease(root: string): Date {
  const given = process.env['SOURCE_DATE_EPOCH'] ?? run('git', ['-C', root, 'log', '-1', '--format=%ct']);
  const seconds = Number(given);
  if (!Number.isSafeInteger(seconds) || seconds < 315_532_800)
    throw new Error(`SOURCE_DATE_EPOCH must be seconds since 1970, after 1980 as zip archives need it, not \`${given}\``);
  return new Date(seconds * 1000);
}

/** @returns a line for each file, as in SHA256SUMS */
export async function writeRelease({ root, folder, manifest, date }: Release): Promise<readonly string[]> {
  const base = `${manifest.name}-${manifest.version}`;
  const write = (name: string, content: string | Buffer) => writeFileSync(path.join(folder, name), content);
  const cli = path.join(root, 'dist/cli.cjs');
  run('npm', ['pack', '--silent', '--ignore-scripts', '--pack-destination', path.resolve(folder)], root);

  const tools = JSON.parse(run(process.execPath, [cli, 'tools', '--format', 'mcp']));
  const mcpb = await packMcpb(root, mcpbManifest(manifest, tools), date);
  write(`${base}.mcpb`, mcpb);
  write('server.json', json(serverJson(manifest, { file: `${base}.mcpb`, sha256: sha256(mcpb) })));
  write(`${base}.cdx.json`, json(billOfMaterials(root, manifest, date)));
  write('config.schema.json', json(JSON.parse(run(process.execPath, [cli, 'config', 'schema']))));

  const sums = readdirSync(folder)
    .filter((name) => name !== 'SHA256SUMS')
    .toSorted()
    .map((name) => `${sha256(readFileSync(path.join(folder, name)))}  ${name}`);
  write('SHA256SUMS', `${sums.join('\n')}\n`);
  return sums;
}

function json(value: object): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

function run(command: string, words: readonly string[], cwd?: string): string {
  return execFileSync(command, [...words], { encoding: 'utf8', maxBuffer: 2 ** 26, ...(cwd === undefined ? {} : { cwd }) }).trim();
}
