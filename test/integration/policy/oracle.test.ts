/** A bounded run of the differential oracle for ssh. */
import { describe, expect, it } from 'vitest';
import { runOracle } from './oracle.ts';
import { hasBubblewrap } from './sandbox-run.ts';

describe.skipIf(!hasBubblewrap())('the differential oracle', () => {
  it('what is allowed on a node writes nothing, reads no secret, leaves nothing and ends', async () => {
    const report = await runOracle({ seed: 20_260_101, runs: 120 });
    expect(report.failures).toEqual([]);
    expect(report.run).toBe(120);
    expect(report.generated).toBeGreaterThan(1_000);
  }, 180_000);
});
