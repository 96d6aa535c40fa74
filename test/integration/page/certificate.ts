/** A certificate for one name, made with the system's openssl. */
import { execFileSync } from 'node:child_process';
import { createHash, X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** @returns the files, in a folder that is the caller's to remove */
export function makeCertificate(name: string): { readonly folder: string; readonly certFile: string; readonly keyFile: string } {
  const folder = mkdtempSync(join(tmpdir(), 'banksman-cert-'));
  const [certFile, keyFile] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
  const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
  const named = ['-subj', `/CN=${name}`, '-addext', `subjectAltName=DNS:${name}`];
  execFileSync('openssl', ['req', '-x509', ...kind, '-keyout', keyFile, '-out', certFile, ...named], { stdio: 'pipe' });
  return { folder, certFile, keyFile };
}

/** Of its key, as Chromium names those that it takes without an authority. */
export function spkiHash(certFile: string): string {
  const key = new X509Certificate(readFileSync(certFile)).publicKey.export({ type: 'spki', format: 'der' });
  return createHash('sha256').update(key).digest('base64');
}
