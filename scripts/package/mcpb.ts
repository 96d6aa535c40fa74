/**
 * The bundle for desktop hosts (.mcpb): a zip with a manifest, for whoever installs an MCP server by a double click.
 * Source: MANIFEST.md, version 0.3, of the MCPB project.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import JSZip from 'jszip';
import { type Manifest, website } from './manifest.ts';

/** A desktop host starts its servers anywhere, so the folder to work in is asked for. */
export function mcpbManifest(manifest: Manifest, tools: readonly { readonly name: string; readonly description: string }[]): object {
  return {
    manifest_version: '0.3',
    name: manifest.name,
    display_name: manifest.displayName,
    version: manifest.version,
    description: manifest.description,
    author: { name: manifest.displayName, url: website(manifest) },
    repository: { type: 'git', url: manifest.repository.url },
    documentation: `${website(manifest)}/blob/v${manifest.version}/docs/mcp.md`,
    icon: 'icon.png',
    server: {
      type: 'node',
      entry_point: 'server/cli.cjs',
      mcp_config: { command: 'node', args: [`\${__dirname}/server/cli.cjs`, 'mcp', '--root', `\${user_config.workspace}`] },
    },
    user_config: {
      workspace: {
        type: 'directory',
        title: 'Workspace',
        description: 'The folder whose files agents may read and change and in which their commands run. Not a home directory.',
        required: true,
      },
    },
    tools: tools.map(({ name, description }) => ({ name, description: description.split('\n')[0] })),
    keywords: manifest.keywords,
    license: manifest.license,
    compatibility: { platforms: ['linux', 'darwin', 'win32'], runtimes: { node: manifest.engines.node } },
  };
}

/** Names in the archive and their files below `root`. */
const content = {
  'icon.png': 'media/icon.png',
  LICENSE: 'LICENSE',
  'README.md': 'docs/mcp.md',
  'server/cli.cjs': 'dist/cli.cjs',
  'server/german.cjs': 'dist/german.cjs',
  'server/sinks.cjs': 'dist/sinks.cjs',
  'server/store-worker.cjs': 'dist/store-worker.cjs',
  'server/THIRD-PARTY-NOTICES.txt': 'dist/THIRD-PARTY-NOTICES.txt',
};

/** The same bytes from the same files: names in one order, one date. */
export async function packMcpb(root: string, manifest: object, date: Date): Promise<Buffer> {
  const zip = new JSZip();
  const options = { date, createFolders: false, unixPermissions: 0o644 };
  zip.file('manifest.json', `${JSON.stringify(manifest, null, 2)}\n`, options);
  for (const [name, file] of Object.entries(content)) zip.file(name, readFileSync(path.join(root, file)), options);
  return zip.generateAsync({ type: 'nodebuffer', platform: 'UNIX', compression: 'DEFLATE', compressionOptions: { level: 9 } });
}
