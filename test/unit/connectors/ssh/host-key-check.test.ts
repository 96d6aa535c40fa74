import { describe, expect, it } from 'vitest';
import { hostKeyAlgorithms, hostKeyFingerprint, refuseHostKey } from '#connectors/ssh/host-key-check';
import { lookUpHost, parseKnownHosts } from '#connectors/ssh/known-hosts';

// github.com's published keys and fingerprints (docs.github.com, "GitHub's SSH key fingerprints").
const published = 'AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl';
const publishedPrint = 'SHA256:+DiY3wvvV6TuJJhbpZisF/zLDA0zPMSvHdkr4UvCOqU';
const ecdsa =
  'AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBEmKSENjQEezOmxkZMy7opKgwFB9nkt5YRrYMjNuG5N87uRgg6CLrbo5wAdT/y6v0mKV0U2w0WZ2YB/++Tpockg=';
const key = Buffer.from(published, 'base64');
const at = { host: 'pve.lan', port: 2222 };

const known = (text: string) => lookUpHost(parseKnownHosts(text), at.host, at.port);

describe('hostKeyFingerprint', () => {
  it('is what ssh-keygen prints', () => {
    expect(hostKeyFingerprint(key)).toBe(publishedPrint);
  });
});

describe('hostKeyAlgorithms', () => {
  it('offers what is known first, and RSA with SHA-2 only', () => {
    const algorithms = hostKeyAlgorithms(known(`[pve.lan]:2222 ecdsa-sha2-nistp256 ${ecdsa}`));
    expect(algorithms[0]).toBe('ecdsa-sha2-nistp256');
    expect(new Set(algorithms).size).toBe(algorithms.length);
    expect(algorithms).toContain('ssh-ed25519');
    expect(algorithms).not.toContain('ssh-rsa');
    expect(algorithms).not.toContain('ssh-dss');
  });

  it('offers the best first when nothing is known', () => {
    expect(hostKeyAlgorithms(known(''))[0]).toBe('ssh-ed25519');
  });
});

describe('refuseHostKey', () => {
  const line = `[pve.lan]:2222 ssh-ed25519 ${published}`;

  it('has nothing against the known key', () => {
    expect(refuseHostKey(key, known(line), at, 'f')).toBeUndefined();
  });

  it('does not know a host without a line', () => {
    expect(refuseHostKey(key, known(''), at, '/home/a/.ssh/known_hosts')).toMatchObject({
      code: 'ssh_host_unknown',
      message: `the ssh host key of \`[pve.lan]:2222\` is not known: it shows ed25519 ${publishedPrint}`,
      next: expect.stringContaining('`ssh-keyscan -p 2222 -t ed25519 pve.lan >> /home/a/.ssh/known_hosts`') as string,
    });
  });

  it('asks for the comparison before the command', () => {
    const next = refuseHostKey(key, known(''), at, 'f')?.next ?? '';
    expect(next.indexOf('compare')).toBeGreaterThan(-1);
    expect(next.indexOf('compare')).toBeLessThan(next.indexOf('ssh-keyscan'));
  });

  it('quotes a host or file that a shell would read differently', () => {
    const next = refuseHostKey(key, known(''), { host: 'a;reboot', port: 22 }, "/home/o'neil/known hosts")?.next ?? '';
    expect(next).toContain(String.raw`ssh-keyscan -p 22 -t ed25519 'a;reboot' >> '/home/o'\''neil/known hosts'`);
  });

  it.each([
    ['another key of the same kind', line.replace(published, `${published.slice(0, -4)}AAAA`)],
    ['a key of another kind only', `[pve.lan]:2222 ecdsa-sha2-nistp256 ${ecdsa}`],
    ['a revoked one', `${line}\n@revoked [pve.lan]:2222 ssh-ed25519 ${published}`],
    ['a revoked one and nothing else', `@revoked * ssh-ed25519 ${published}`],
  ])('takes %s for a change, and offers no way round', (_what, text) => {
    const fault = refuseHostKey(key, known(text), at, 'f');
    expect(fault).toMatchObject({ code: 'ssh_host_changed', retryable: false });
    expect(fault?.next).not.toMatch(/keyscan|ssh-keygen -R|>>/);
  });

  it('survives rubbish in place of a key', () => {
    expect(refuseHostKey(Buffer.from('rubbish'), known(line), at, 'f')?.code).toBe('ssh_host_changed');
    expect(refuseHostKey(Buffer.alloc(0), known(''), at, 'f')?.code).toBe('ssh_host_unknown');
  });
});
