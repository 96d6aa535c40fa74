import { beforeAll, describe, expect, it } from 'vitest';
import { cases } from './cases.ts';
import type { InHostCase, SuiteName } from './in-host-case.ts';
import { type InHostRun, runInHost } from './run-in-host.ts';
import { untrustedCases } from './untrusted-cases.ts';

const suites: readonly { readonly suite: SuiteName; readonly list: readonly InHostCase[] }[] = [
  { suite: 'trusted', list: cases },
  { suite: 'untrusted', list: untrustedCases },
];

describe.each(suites)('in the extension host of a folder that is $suite', ({ suite, list }) => {
  let run: InHostRun;

  beforeAll(async () => {
    run = await runInHost(suite);
  });

  it.each(list)('$name', ({ name }) => {
    const result = run.results.get(name);
    expect(result, `the suite told nothing of this case; the end of the editor's log:\n${run.log}`).toBeDefined();
    expect(result?.error ?? 'passed').toBe('passed');
  });
});
