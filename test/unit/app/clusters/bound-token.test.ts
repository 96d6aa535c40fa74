import { expect, it } from 'vitest';
import { boundToken, tokenFor, tokenFromInput, tokenSecret } from '#app/clusters/bound-token';

const uuid = '0b1c2d3e-4f50-6172-8394-a5b6c7d8e9f0';

it.each([uuid, ` ${uuid}\n`, `ops@pve!banksman=${uuid}`, `PVEAPIToken=ops@pve!banksman=${uuid}`])('takes %j', (text) => {
  expect(tokenFromInput(text)).toBe(uuid);
});

it.each(['', 'secret', uuid.slice(1), `${uuid}0`, `a b=${uuid}`, 'ops@pve!banksman'])('refuses %j', (text) => {
  expect(tokenFromInput(text)).toBeUndefined();
});

it('keeps each cluster’s apart', () => {
  expect(tokenSecret('lab')).toBe('clusterToken:lab');
});

const [pin, otherPin] = ['AA', 'BB'].map((pair) => Array.from({ length: 32 }, () => pair).join(':'));
const lab = {
  name: 'lab',
  endpoints: ['https://10.0.0.11:8006', 'https://10.0.0.12:8006'],
  tokenId: 'ops@pve!a',
  tls: { fingerprint: pin ?? '' },
};

it('gives a token to the cluster that it was stored for', () => {
  const stored = boundToken(uuid, lab);
  expect(tokenFor(stored, lab)).toBe(uuid);
  expect(tokenFor(stored, { ...lab, endpoints: ['https://10.0.0.12:8006/', 'https://10.0.0.11:8006'] })).toBe(uuid);
  // Of an earlier version.
  expect(tokenFor(` ${uuid}\n`, lab)).toBe(uuid);
});

it.each([
  ['another address', { endpoints: ['https://evil.example:8006'] }],
  ['one more address', { endpoints: [...lab.endpoints, 'https://evil.example:8006'] }],
  ['another pin', { tls: { fingerprint: otherPin ?? '' } }],
  ['a CA', { tls: { caFile: '/tmp/evil.pem' } }],
  ['no pin', { tls: undefined }],
  ['another token', { tokenId: 'root@pam!a' }],
])('sends it nowhere with %s', (_what, change) => {
  expect(() => tokenFor(boundToken(uuid, lab), { ...lab, ...change })).toThrow(expect.objectContaining({ code: 'token_elsewhere' }));
});
