/** `server.json`, by which the MCP registry lists a server. Source: its schema of 2025-12-11. */
import { type Manifest, releaseUrl, website } from './manifest.ts';

const transport = { type: 'stdio' };

/** @param mcpb its file name, and the SHA-256 of its bytes in hex, which clients check */
export function serverJson(manifest: Manifest, mcpb: { readonly file: string; readonly sha256: string }): object {
  const { version } = manifest;
  return {
    $schema: 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json',
    name: manifest.mcpName,
    title: manifest.displayName,
    description: 'Tools for Proxmox VE clusters and code behind one policy, one human gate and one audit trail',
    version,
    repository: { url: website(manifest), source: 'github' },
    packages: [
      {
        registryType: 'npm',
        registryBaseUrl: 'https://registry.npmjs.org',
        identifier: manifest.name,
        version,
        runtimeHint: 'npx',
        transport,
        packageArguments: [{ type: 'positional', value: 'mcp' }],
      },
      { registryType: 'mcpb', identifier: releaseUrl(manifest, mcpb.file), version, fileSha256: mcpb.sha256, transport },
    ],
  };
}
