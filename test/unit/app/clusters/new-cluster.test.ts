import { describe, expect, it } from 'vitest';
import {
  checkAddress,
  checkAddresses,
  checkSecret,
  checkTokenId,
  nameFor,
  pinning,
  sshAddressesIn,
  tokenRights,
} from '#app/clusters/new-cluster';
import { withNodes } from '#app/clusters/try-cluster';

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
  expect(checkSecret(' ops@pve!ab=12-34 ', 'ops@pve!ab')).toEqual({ value: '12-34' });
  expect(checkSecret('', 'ops@pve!ab')).toHaveProperty('flaw');
  expect(checkSecret('12 34', 'ops@pve!ab')).toHaveProperty('flaw');
});

it('a cluster is named as its host, and no two are', () => {
  expect(nameFor('https://pve.lan:8006', [])).toBe('pve');
  expect(nameFor('https://pve:8006', ['pve', 'pve-2'])).toBe('pve-3');
  expect(nameFor('https://10.0.0.11:8006', [])).toBe('cluster');
  expect(nameFor('https://[fd00::11]:8006', ['cluster'])).toBe('cluster-2');
});

describe('several addresses', () => {
  const lab = [{ name: 'lab', endpoints: ['https://10.0.0.11:8006/'] }];

  it.each<[string, string[]]>([
    ['10.0.0.12, pve.lan', ['https://10.0.0.12:8006', 'https://pve.lan:8006']],
    ['fd00::11;https://pve.lan:443 10.0.0.12', ['https://[fd00::11]:8006', 'https://pve.lan:443', 'https://10.0.0.12:8006']],
    ['10.0.0.12, https://10.0.0.12:8006/', ['https://10.0.0.12:8006']],
  ])('%s are each looked at once', (typed, value) => {
    expect(checkAddresses(typed, lab)).toEqual({ value });
  });

  it.each(['', ' , ', '10.0.0.12, http://pve.lan', '10.0.0.12 root@pve'])('`%s` are none', (typed) => {
    expect(checkAddresses(typed, lab)).toHaveProperty('flaw');
  });

  it('belong to one cluster', () => {
    expect(checkAddresses('10.0.0.12, 10.0.0.11', lab)).toEqual({ flaw: 'the cluster lab has it already' });
  });
});

it('addresses for ssh are read by node, with a port where there is one', () => {
  expect(sshAddressesIn('pve=10.0.0.11, Home=pve.lan:2222 c=fd00::13,d=[fd00::14]:22')).toEqual([
    { node: 'pve', host: '10.0.0.11', port: 22 },
    { node: 'Home', host: 'pve.lan', port: 2222 },
    { node: 'c', host: 'fd00::13', port: 22 },
    { node: 'd', host: 'fd00::14', port: 22 },
  ]);
  for (const text of ['', '10.0.0.11', 'pve=', 'pve=10.0.0.11:99999', 'pve=a b', 'pve=root@a', '=a'])
    expect(sshAddressesIn(text), text).toBeUndefined();
});

describe('how endpoints are recognised', () => {
  const seen = (isPublic: boolean, pair = 'AA') => ({ fingerprint: pair, subject: 'CN=pve', issuer: 'CN=PVE', validTo: 'never', isPublic });

  it('one by its fingerprint, several each by its own', () => {
    expect(pinning(new Map([['https://a:8006', seen(false)]]))).toEqual({ tls: { fingerprint: 'AA' } });
    const two = new Map([
      ['https://a:8006', seen(false)],
      ['https://b:8006', seen(true, 'BB')],
    ]);
    expect(pinning(two)).toEqual({ tls: { fingerprint: { 'https://a:8006': 'AA', 'https://b:8006': 'BB' } } });
  });

  it('not by a pin where public authorities vouch for all of them', () => {
    expect(pinning(new Map([['https://a:8006', seen(true)]]))).toEqual({});
  });
});

describe('what a token may do', () => {
  it('is said by groups of tools, with commands that keep what is held', () => {
    const { may, lacks, commands } = tokenRights(
      { '/': { 'Sys.Audit': true, '$(reboot)': true }, '/vms': { 'VM.PowerMgmt': true } },
      'ops@pve!ab',
    );
    expect(may).toEqual(['power']);
    expect(lacks.find(({ group }) => group === 'snapshots')).toEqual({
      group: 'snapshots',
      tools: ['create_snapshot', 'rollback_snapshot', 'delete_snapshot'],
      allowed: false,
      missing: ['VM.Snapshot on /vms'],
    });
    expect(commands[0]).toMatch(/^pveum role add Banksman-token --privs '[A-Za-z.,]*Sys\.Audit[A-Za-z.,]*VM\.Snapshot[A-Za-z.,]*'$/);
    expect(commands[1]).toBe(`pveum acl modify / --tokens 'ops@pve!ab' --roles Banksman-token`);
  });

  it('is nothing where it holds nothing', () => {
    expect(tokenRights({}, 'ops@pve!ab').may).toEqual([]);
  });
});

describe('the other nodes of a cluster', () => {
  const [own, other, third] = ['AA', 'BB', 'CC'].map((pair) => Array.from({ length: 32 }, () => pair).join(':'));
  const cluster = { name: 'lab', endpoints: ['https://10.0.0.11:8006'], tokenId: 'ops@pve!ab', tls: { fingerprint: own ?? '' } };
  const node = (name: string, shows: 'same' | 'other' | 'away', vouched?: string) => ({
    ...{ node: name, endpoint: `https://${name}:8006`, shows, note: '' },
    ...(vouched === undefined ? {} : { vouched }),
  });

  it('are pinned to what was vouched for, those that are away as well', () => {
    expect(withNodes(cluster, [node('b', 'same', other), node('c', 'away', third)])).toEqual({
      ...cluster,
      endpoints: ['https://10.0.0.11:8006', 'https://b:8006', 'https://c:8006'],
      tls: { fingerprint: { 'https://10.0.0.11:8006': own, 'https://b:8006': other, 'https://c:8006': third } },
    });
  });

  it('stay out where they show another certificate, or nobody vouches', () => {
    expect(withNodes(cluster, [node('b', 'other', other), node('c', 'away')])).toEqual(cluster);
  });
});
