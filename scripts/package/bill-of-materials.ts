/**
 * What the bundles are made of, as CycloneDX 1.6 (https://cyclonedx.org/docs/1.6/json/): each package that esbuild put into one, with its
 * version, licence, and the hash that the lock file has of it.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { bundledPackages } from '../build/third-party-notices.mjs';
import type { Manifest } from './manifest.ts';

interface LockFile {
  readonly packages: Readonly<Record<string, { readonly integrity?: string }>>;
}

export function billOfMaterials(root: string, manifest: Manifest, date: Date): object {
  const read = (file: string) => JSON.parse(readFileSync(path.join(root, file), 'utf8'));
  const lock: LockFile = read('package-lock.json');
  const components = bundledPackages(Object.values(read('dist/metafile.json'))).map((folder) => {
    const { name, version, license, licenses } = read(path.join(folder, 'package.json'));
    return component({ name, version, licence: license ?? licenses?.[0]?.type }, lock.packages[folder]?.integrity);
  });
  const itself = component({ ...manifest, licence: manifest.license }, undefined);
  const bom = {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: { timestamp: date.toISOString(), component: { ...itself, type: 'application' } },
    components,
    dependencies: [{ ref: itself['bom-ref'], dependsOn: components.map((part) => part['bom-ref']) }],
  };
  return { ...bom, serialNumber: `urn:uuid:${uuidOf(JSON.stringify(bom))}` };
}

function component(of: { readonly name: string; readonly version: string; readonly licence?: string }, integrity: string | undefined) {
  const purl = `pkg:npm/${of.name.replace('@', '%40')}@${of.version}`;
  const [algorithm, digest] = integrity?.split('-', 2) ?? [];
  return {
    type: 'library',
    'bom-ref': purl,
    name: of.name,
    version: of.version,
    purl,
    ...(of.licence === undefined ? {} : { licenses: [licence(of.licence)] }),
    ...(algorithm !== 'sha512' || digest === undefined
      ? {}
      : { hashes: [{ alg: 'SHA-512', content: Buffer.from(digest, 'base64').toString('hex') }] }),
  };
}

function licence(text: string): object {
  return /[ ()]/.test(text) ? { expression: text } : { license: { id: text } };
}

/** The same for the same content, as RFC 9562 §5.8 lets one be made. */
function uuidOf(text: string): string {
  const hex = createHash('sha256').update(text).digest('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`, hex.slice(20, 32)].join('-');
}
