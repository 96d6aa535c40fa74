import { expect, it } from 'vitest';
import { tokenFromInput, tokenSecret } from '#hosts/vscode/cluster-token';

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
