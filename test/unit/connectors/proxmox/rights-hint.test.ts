import { describe, expect, it } from 'vitest';
import { lackedRight, rightsHint } from '#connectors/proxmox/answer-fault';

const tokenId = 'jarvis@pve!ops';

/** Answers by the beginning of the path; what is not there is refused. */
function reader(answers: Readonly<Record<string, unknown>>) {
  return async (path: string) => {
    const found = Object.entries(answers).find(([start]) => path.startsWith(start));
    if (found === undefined) throw new Error('403');
    return found[1];
  };
}

const user = (privsep: 0 | 1) => ({ '/access/users/jarvis%40pve': { tokens: { ops: { privsep } } } });
const held = (path: string, ...names: string[]) => ({ [path]: Object.fromEntries(names.map((name) => [name, 1])) });

describe('the hint', () => {
  it('for a token of its user’s rights is for the user, with what is held there now', async () => {
    const read = reader({ ...user(0), '/access/permissions': held('/vms/100', 'VM.Audit') });
    expect(await rightsHint({ path: '/vms/100', privilege: 'VM.PowerMgmt' }, { tokenId, read })).toBe(
      "the administrator can give it to the token's user: `pveum role add 'Banksman-vms-100-VM.PowerMgmt' --privs 'VM.Audit,VM.PowerMgmt'`, then `pveum acl modify /vms/100 --users 'jarvis@pve' --roles 'Banksman-vms-100-VM.PowerMgmt'`",
    );
  });

  it('takes the first of alternatives, and all of a list', async () => {
    const read = reader({ ...user(0), '/access/permissions': held('/') });
    expect(await rightsHint({ path: '/storage/a', privilege: 'Datastore.Audit|Datastore.AllocateSpace' }, { tokenId, read })).toContain(
      "--privs 'Datastore.Audit'`",
    );
    expect(await rightsHint({ path: '/', privilege: 'Sys.Audit, Sys.Modify' }, { tokenId, read })).toContain(
      "--privs 'Sys.Audit,Sys.Modify'`",
    );
  });

  it('where nothing can be found out says how to find out', async () => {
    const hint = await rightsHint({ path: '/vms/100', privilege: 'VM.Audit' }, { tokenId, read: reader({}) });
    expect(hint).toMatch(/pveum user token list 'jarvis@pve'.*whatever is held there now/);
  });

  it.each([
    ["/vms/100';reboot;'", 'VM.Audit'],
    ['/vms/$(reboot)', 'VM.Audit'],
    ['/vms/`reboot`', 'VM.Audit'],
    ['/vms/100', 'VM.Audit --x'],
  ])('puts nothing into a command that is no path or privilege: %s %s', async (path, privilege) => {
    const read = reader({ ...user(0), '/access/permissions': {} });
    expect(await rightsHint({ path, privilege }, { tokenId, read })).toBe('ask the cluster administrator for that right');
  });
});

it('a refusal that names no right has none', () => {
  expect(lackedRight('Permission check failed (user != root@pam)')).toBeUndefined();
  expect(lackedRight('Permission check failed (/vms/100, VM.PowerMgmt)')).toEqual({ path: '/vms/100', privilege: 'VM.PowerMgmt' });
});
