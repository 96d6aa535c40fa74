import { expect, it } from 'vitest';
import { targetWords } from '#kernel/attempt';

it('names what a call was about, whatever kind that is', () => {
  const targets = [
    { kind: 'guest', cluster: 'lab', vmid: 100, node: 'pve', name: 'web' },
    { kind: 'service', cluster: 'lab', node: 'pve', service: 'chrony.service' },
    { kind: 'node', cluster: 'lab', node: 'pve' },
    { kind: 'path', access: 'write', path: 'src/a.ts' },
    { kind: 'command', surface: 'workspace', text: 'npm test' },
  ];
  expect(targetWords(targets)).toEqual(['100 on lab', 'chrony.service on pve on lab', 'pve on lab', 'src/a.ts', 'npm test']);
  expect(targetWords(undefined)).toEqual([]);
  expect(targetWords([null, 'web', { kind: 'held' }])).toEqual([]);
});
