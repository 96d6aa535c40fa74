/** A bounded run of the differential oracle; the long one is `scripts/policy-oracle.ts`. */
import { describe, expect, it } from 'vitest';
import { runOracle } from './oracle.ts';
import { hasBubblewrap } from './sandbox-run.ts';

describe.skipIf(!hasBubblewrap())('the differential oracle', () => {
  it.each(['readonly_bash', 'ssh'] as const)(
    '%s: what is allowed writes nothing, reads no secret, leaves nothing and ends',
    async (surface) => {
      const report = await runOracle({ surface, seed: 20_260_101, runs: 120 });
      expect(report.failures).toEqual([]);
      expect(report.run).toBe(120);
      expect(report.generated).toBeGreaterThan(1_000);
    },
    180_000,
  );
});
