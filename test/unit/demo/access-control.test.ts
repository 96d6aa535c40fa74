import { describe, expect, it } from 'vitest';
import { AccessControl, type AclEntry, normalizeAclPath } from '#demo/pve/access-control';

const roles = {
  Administrator: ['Sys.Audit', 'VM.Audit', 'VM.PowerMgmt'],
  Auditor: ['Sys.Audit', 'VM.Audit'],
  Operator: ['VM.PowerMgmt'],
  NoAccess: [],
};
const own = 'ops@pve!own';
const full = 'ops@pve!full';

function access(...entries: readonly AclEntry[]): AccessControl {
  return new AccessControl({
    users: { 'root@pam': undefined, 'ops@pve': 'pass' },
    roles,
    tokens: [
      { id: own, secret: 's1', privsep: true },
      { id: full, secret: 's2', privsep: false },
      { id: 'root@pam!t', secret: 's3', privsep: false },
    ],
    entries,
  });
}

function names(control: AccessControl, subject: string, path: string | undefined): string[] {
  return [...control.privileges(subject, path).keys()].sort();
}

describe('privileges', () => {
  it('come down the tree; a deeper entry replaces those above', () => {
    const control = access({ path: '/', subject: 'ops@pve', role: 'Auditor' }, { path: '/vms/100', subject: 'ops@pve', role: 'Operator' });
    expect(names(control, 'ops@pve', '/vms/101')).toEqual(['Sys.Audit', 'VM.Audit']);
    expect(names(control, 'ops@pve', '/vms/100')).toEqual(['VM.PowerMgmt']);
    expect(names(control, 'ops@pve', '/')).toEqual(['Sys.Audit', 'VM.Audit']);
  });

  it('stay where they are without propagation', () => {
    const control = access({ path: '/vms', subject: 'ops@pve', role: 'Auditor', propagate: false });
    expect(names(control, 'ops@pve', '/vms')).toEqual(['Sys.Audit', 'VM.Audit']);
    expect(names(control, 'ops@pve', '/vms/100')).toEqual([]);
    expect(control.effective('ops@pve')).toEqual({ '/vms': { 'Sys.Audit': 0, 'VM.Audit': 0 } });
  });

  it('of a separated token are its own and its user’s together', () => {
    const control = access({ path: '/', subject: 'ops@pve', role: 'Auditor' }, { path: '/', subject: own, role: 'Administrator' });
    expect(names(control, own, '/vms/100')).toEqual(['Sys.Audit', 'VM.Audit']);
    expect(names(control, full, '/vms/100')).toEqual(['Sys.Audit', 'VM.Audit']);
    expect(names(access({ path: '/', subject: 'ops@pve', role: 'Auditor' }), own, '/')).toEqual([]);
  });

  it('are none where any role there is NoAccess', () => {
    const control = access(
      { path: '/', subject: 'ops@pve', role: 'Auditor' },
      { path: '/vms/100', subject: 'ops@pve', role: 'NoAccess' },
      { path: '/vms/100', subject: 'ops@pve', role: 'Auditor' },
    );
    expect(names(control, 'ops@pve', '/vms/100')).toEqual([]);
    expect(names(control, 'ops@pve', '/vms/101')).toEqual(['Sys.Audit', 'VM.Audit']);
  });

  it('of a separated token are handed on only where its user’s are, too', () => {
    const control = access(
      { path: '/vms', subject: 'ops@pve', role: 'Auditor', propagate: false },
      { path: '/vms', subject: own, role: 'Auditor' },
    );
    expect([...control.privileges(own, '/vms')]).toEqual([
      ['Sys.Audit', 0],
      ['VM.Audit', 0],
    ]);
  });

  it('of root are all, of strangers and broken paths none', () => {
    const control = access();
    expect(names(control, 'root@pam', '/vms/1')).toEqual(['Sys.Audit', 'VM.Audit', 'VM.PowerMgmt']);
    expect(names(control, 'root@pam!t', '/vms/1')).toHaveLength(3);
    expect(names(control, 'who@pve', '/')).toEqual([]);
    expect(names(control, 'ops@pve!gone', '/')).toEqual([]);
    expect(names(control, own, undefined)).toEqual([]);
  });
});

describe('tokens', () => {
  it('need their own secret and time', () => {
    const control = access();
    const now = 1_000_000_000_000;
    expect(control.verifyToken(`${own}=s1`, now)).toBe(own);
    for (const wrong of [`${own}=s2`, own, 'ops@pve!gone=s1', `${own}=`, '']) expect(control.verifyToken(wrong, now)).toBeUndefined();
    control.expireToken(own, now / 1000 - 1);
    expect(control.verifyToken(`${own}=s1`, now)).toBeUndefined();
    control.expireToken(own, now / 1000 + 1);
    expect(control.verifyToken(`${own}=s1`, now)).toBe(own);
    control.revokeToken(own);
    expect(control.verifyToken(`${own}=s1`, now)).toBeUndefined();
    control.restoreToken(own);
    expect(control.verifyToken(`${own}=s1`, now)).toBe(own);
  });

  it('are no passwords', () => {
    expect([
      access().verifyPassword('ops@pve', 'pass'),
      access().verifyPassword('ops@pve', 'other'),
      access().verifyPassword('root@pam', ''),
    ]).toEqual([true, false, false]);
  });
});

it.each([
  ['/', '/'],
  ['', '/'],
  ['vms//100/', '/vms/100'],
  ['/vms/100', '/vms/100'],
  ['/nodes/a b', undefined],
  ['/vms/ä', undefined],
  ['/vms/1\n', undefined],
])('normalizes %j to %j', (path, normal) => {
  expect(normalizeAclPath(path)).toBe(normal);
});
