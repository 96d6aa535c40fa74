import { describe, expect, it } from 'vitest';
import { decideSshCommand } from '#policy/known-ssh-commands';

describe('a command for a node', () => {
  it.each([
    ['hostname', 'hostname'],
    ['  df   -h ', 'df -h'],
    ['ip -br addr', 'ip -br addr'],
    ['pvesh get /cluster/status', 'pvesh get /cluster/status'],
  ])('%j runs as `%s`', (text, canonical) => {
    expect(decideSshCommand(text)).toMatchObject({ decision: { effect: 'allow', code: 'known_command' }, canonical });
  });

  it.each([
    '',
    'rm -rf /',
    'hostname pwned',
    'hostname; id',
    'hostname\nid',
    'hostname\rid',
    'hostname && reboot',
    'hostname | sh',
    'hostname > /etc/hostname',
    'hostname `id`',
    'hostname $(id)',
    'HOSTNAME',
    'hostname\u200b',
    'hostnаme',
    'df\t-h',
    'df\u00a0-h',
    'df -h /etc',
    'ip addr flush dev vmbr0',
    'journalctl --vacuum-size=1K',
    'cat /etc/shadow',
    'cat /sys/../etc/shadow',
    'cat /etc/hosts /etc/shadow',
    'pvesh get /nodes/pve/qemu/103/agent/file-read --file /etc/shadow',
    'pvesh create /nodes/pve/status --command reboot',
    'systemctl status x',
    'systemctl reboot',
    'top',
    'constructor',
    '__proto__',
  ])('%j is refused', (text) => {
    const { decision, canonical } = decideSshCommand(text);
    expect(decision).toMatchObject({ effect: 'deny', code: 'COMMAND_BLOCKED', rules: ['ssh.default-deny'] });
    expect(canonical).toBeUndefined();
  });

  it('names what may run, and quotes a long command without half a word', () => {
    const { decision } = decideSshCommand(`curl ${'a'.repeat(190)} ghp_${'A'.repeat(36)}`);
    expect(decision.reason).toContain('try hostname');
    expect(decision.reason).not.toContain('ghp_');
    expect(decision.reason.length).toBeLessThan(400);
  });
});
