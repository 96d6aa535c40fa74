/** A call whose beginning the store took and did not confirm: it did not run, and that is written down though its process lives on. */
import { expect, it, onTestFinished, vi } from 'vitest';
import { createAttempts } from '#app/attempts/attempts';
import { createSpool } from '#app/attempts/spool';
import { callOf } from '#kernel/attempt';
import type { Log } from '#kernel/ports/log';
import { openTestStore, temporaryFolder } from '../stores/store-fixtures.ts';

const quiet: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

it('ends as not done, once what the call itself had to say cannot be under way any more', async () => {
  const { audit } = await openTestStore();
  const own = { machine: 'here', pid: process.pid };
  const attempts = createAttempts({
    audit,
    log: quiet,
    own,
    spool: createSpool({ stateDir: temporaryFolder(), audit, log: quiet }),
    clusterOf: () => undefined,
    history: async () => undefined,
  });
  onTestFinished(() => attempts.close());
  const begun = (call: string) => audit.append({ name: 'tool.started', attributes: { 'gen_ai.tool.call.id': call, process: own } });
  attempts.calls.begins('refused');
  await begun('refused');
  attempts.calls.notBegun('refused');
  attempts.calls.begins('runs');
  await begun('runs');
  attempts.calls.notBegun('never written');
  expect([await attempts.now('refused'), await attempts.now('runs')]).toEqual(['running', 'running']);
  const now = performance.now();
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now + 31_000);
  onTestFinished(() => clock.mockRestore());
  expect([await attempts.now('refused'), await attempts.now('runs'), await attempts.now('never written')]).toEqual([
    undefined,
    'running',
    undefined,
  ]);
  const ends = (await audit.read(0, 10)).filter(({ name }) => name === 'attempt.resolved');
  expect(ends.map((record) => [callOf(record), record.attributes['end']])).toEqual([['refused', 'not_done']]);
});
