/**
 * The suite of reads against a real cluster, when one is named:
 * `PVE_URL=https://10.0.0.11:8006 PVE_TOKEN_ID=user@pve!name PVE_TOKEN=… PVE_FINGERPRINT=AA:BB:… npx vitest run …/proxmox-real.test.ts`
 */
import { describe } from 'vitest';
import { useCleanup } from './cleanup.ts';
import { describeReads } from './proxmox-suite.ts';
import { clientOf } from './pve-server.ts';

const { PVE_URL: url, PVE_TOKEN_ID: tokenId = '', PVE_TOKEN: token = '', PVE_FINGERPRINT: fingerprint } = process.env;
const start = useCleanup();

describe.skipIf(!url)('a real cluster', () => {
  describeReads(() =>
    start(
      clientOf([{ url: url ?? '' }], {
        tokenId,
        token: () => Promise.resolve(token),
        tls: fingerprint ? { kind: 'pin', fingerprint } : { kind: 'system' },
      }),
    ),
  );
});
