/** What of `package.json` the packages are made of. */
import { readFileSync } from 'node:fs';
import path from 'node:path';

export interface Manifest {
  readonly name: string;
  readonly displayName: string;
  readonly description: string;
  readonly version: string;
  readonly license: string;
  readonly mcpName: string;
  readonly keywords: readonly string[];
  readonly engines: { readonly node: string };
  readonly repository: { readonly url: string };
}

export function readManifest(root: string): Manifest {
  return JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));
}

/** Where people read the sources. */
export function website({ repository }: Manifest): string {
  return repository.url.replace(/\.git$/, '');
}

/** Where a release's file will be; `publish` of the release workflow puts it there. */
export function releaseUrl(manifest: Manifest, file: string): string {
  return `${website(manifest)}/releases/download/v${manifest.version}/${file}`;
}
