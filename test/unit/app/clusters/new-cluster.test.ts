import { describe, expect, it } from 'vitest';
import { checkAddress, checkSecret, checkTokenId, missingRights, nameFor } from '#app/clusters/new-cluster';

describe('an address', () => {
  it.each([
    ['10.0.0.11', 'https://10.0.0.11:8006'],
    ['pve.lan', 'https://pve.lan:8006'],
    ['PVE.lan:443', 'https://pve.lan:443'],
    ['pve.lan:9000', 'https://pve.lan:9000'],
    ['https://pve.lan', 'https://pve.lan:8006'],
    ['https://pve.lan:443/', 'https://pve.lan:443'],
    ['https://pve.lan:8006/#v1:0', 'https://pve.lan:8006'],
    ['fd00::11', 'https://[fd00::11]:8006'],
    ['[fd00::11]:8007', 'https://[fd00::11]:8007'],
  ])('%s is %s', (typed, value) => {
    expect(checkAddress(typed)).toEqual({ value });
  });

  it.each(['', 'http://pve.lan', 'ftp://pve.lan', 'root@pve.lan', 'https://root:x@pve.lan', 'pve lan', 'pve.lan:99999'])(
    '`%s` is none',
    (typed) => {
      expect(checkAddress(typed)).toHaveProperty('flaw');
    },
  );
});

it('a token’s id and secret are checked, and the secret is taken alone', () => {
  expect(checkTokenId('ops@pve!banksman')).toEqual({ value: 'ops@pve!banksman' });
  expect(checkTokenId('ops@pve')).toHaveProperty('flaw');
  expect(checkSecret(' ops@pve!a=12-34 ', 'ops@pve!a')).toEqual({ value: '12-34' });
  expect(checkSecret('', 'ops@pve!a')).toHaveProperty('flaw');
  expect(checkSecret('12 34', 'ops@pve!a')).toHaveProperty('flaw');
});

it('a cluster is named as its host, and no two are', () => {
  expect(nameFor('https://pve.lan:8006', [])).toBe('pve');
  expect(nameFor('https://pve:8006', ['pve', 'pve-2'])).toBe('pve-3');
  expect(nameFor('https://10.0.0.11:8006', [])).toBe('cluster');
  expect(nameFor('https://[fd00::11]:8006', ['cluster'])).toBe('cluster-2');
});

describe('rights that are missing', () => {
  const groups = [
    { group: 'look', allowed: true, missing: [] },
    { group: 'power', allowed: false, missing: ['VM.PowerMgmt on /vms', '$(reboot) on /vms'] },
  ];

  it('are said by group, with the commands that keep what is held', () => {
    const { lacks, commands } = missingRights({ groups, permissions: { '/': { 'Sys.Audit': true } } }, 'ops@pve!a');
    expect(lacks).toEqual(['power: VM.PowerMgmt on /vms, $(reboot) on /vms']);
    expect(commands).toEqual([
      `pveum role add Banksman-token --privs 'Sys.Audit,VM.PowerMgmt'`,
      `pveum acl modify / --tokens 'ops@pve!a' --roles Banksman-token`,
    ]);
  });

  it('are none where all is there, and where nothing was answered', () => {
    expect(missingRights({ groups: groups.slice(0, 1), permissions: {} }, 'ops@pve!a')).toEqual({ lacks: [], commands: [] });
    expect(missingRights(undefined, 'ops@pve!a')).toEqual({ lacks: [], commands: [] });
  });
});
