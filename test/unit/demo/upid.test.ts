import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeUpid, encodeUpid, splitTokenId } from '#demo/pve/upid';

const recorded = 'UPID:pve:000001B3:000673A1:6B01FA2F:qmshutdown:100:jarvis@pve!ops:';

describe('a UPID', () => {
  it('is read as recorded', () => {
    const upid = {
      node: 'pve',
      pid: 435,
      pstart: 422_817,
      starttime: 1_795_291_695,
      type: 'qmshutdown',
      id: '100',
      user: 'jarvis@pve!ops',
    };
    expect(decodeUpid(recorded)).toEqual(upid);
    expect(encodeUpid(upid)).toBe(recorded);
  });

  it('survives writing and reading', () => {
    const number = fc.integer({ min: 0, max: 0xffff_ffff });
    const upids = fc.record({
      node: fc.constantFrom('agent1', 'pve', 'a-b'),
      pid: number,
      pstart: fc.integer({ min: 0, max: 0xf_ffff_ffff }),
      starttime: number,
      type: fc.stringMatching(/^[a-z]{1,12}$/),
      id: fc.stringMatching(/^[a-z0-9.-]{0,12}$/),
      user: fc.constantFrom('root@pam', 'ops@pve!banksman'),
    });
    fc.assert(
      fc.property(upids, (upid) => {
        expect(decodeUpid(encodeUpid(upid))).toEqual(upid);
      }),
    );
  });

  it.each([
    '',
    'UPID:bad',
    recorded.slice(0, -1),
    recorded.replace('pve:', '-pve:'),
    recorded.replace('000001B3', '1B3'),
    `${recorded}x`,
    recorded.replace('qmshutdown', 'qm/stop'),
  ])('is none: %j', (text) => {
    expect(decodeUpid(text)).toBeUndefined();
  });
});

it('splits token ids', () => {
  expect([splitTokenId('ops@pve!banksman'), splitTokenId('root@pam')]).toEqual([
    { user: 'ops@pve', tokenid: 'banksman' },
    { user: 'root@pam', tokenid: undefined },
  ]);
});
