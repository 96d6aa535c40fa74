/**
 * Approvals given and used by several processes while primaries die and hang: none runs twice, and none is lost without being named.
 * The full count: `FAILOVER_APPROVALS=1000 npm exec -- vitest run --project integration test/integration/stores/valkey-failover.test.ts`
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { verifyTrail } from '#audit/verify-trail';
import { Fault } from '#kernel/errors';
import { type Child, startChild } from './child-process.ts';
import { mayHaveChanged, onceBack } from './once-back.ts';
import { openTestValkey } from './valkey-fixtures.ts';
import { startWatched, type WatchedServers } from './valkey-groups.ts';

const total = Number(process.env['FAILOVER_APPROVALS'] ?? 200);
const processes = 3;
/** How often a primary is lost, evenly over the approvals. */
const losses = Math.max(1, Math.floor(total / 250));

interface Ledger {
  readonly approved: Map<string, string>;
  readonly ran: string[];
  readonly named: Map<string, Set<string>>;
  /** Claims that no answer came to yet. */
  open: number;
  /** Processes that have approved all of theirs. */
  done: number;
}

/** Writes down what a child says, to its end. Each grant is wanted by the process itself and by another one. */
async function follow(children: readonly Child[], index: number, onLine: (words: readonly string[]) => void): Promise<void> {
  const claimants = [children[index], children[(index + 1) % children.length]];
  for (;;) {
    const words = ((await children[index]?.line()) ?? '').split(' ');
    onLine(words);
    if (words[0] === 'approved') for (const claimant of claimants) claimant?.send(`claim ${words[1]} ${words[2]}`);
  }
}

type Note = (ledger: Ledger, id: string, rest: string, unchanged?: string) => void;

const writeDown: Readonly<Record<string, Note>> = {
  approved: (ledger, id, digest) => {
    ledger.approved.set(id, digest);
    ledger.open += 2;
  },
  done: (ledger) => {
    ledger.done += 1;
  },
  ran: (ledger, id) => {
    ledger.ran.push(id);
    ledger.open -= 1;
  },
  refused: (ledger) => {
    ledger.open -= 1;
  },
  fault: (ledger, id, code, unchanged) => {
    name(ledger, id, code, unchanged);
    ledger.open -= 1;
  },
  unsure: name,
};

/** Somebody was told that it may be lost. Who was told that nothing was changed was told that it is good still. */
function name({ named }: Ledger, id: string, code: string, unchanged?: string): void {
  if (unchanged === undefined) named.set(id, (named.get(id) ?? new Set()).add(code));
}

/** Kills the primary, or lets it hang until another has taken over; it comes back as a replica. */
async function loseOne(group: WatchedServers, how: 'kill' | 'hang'): Promise<void> {
  const before = await group.primary();
  if (how === 'kill') await before.kill();
  else before.pause();
  await group.promoted(before);
  if (how === 'kill') await before.start();
  else before.resume();
}

it(`${total} approvals, a primary lost ${losses} times`, { timeout: 1_800_000 }, async () => {
  const group = await startWatched();
  onTestFinished(() => group.close());
  const url = `${group.url}&replicas=1`;
  const children = Array.from({ length: processes }, (_, index) => startChild('approve-and-claim', [url, `p${index}`]));
  for (const child of children) expect(await child.line()).toBe('ready');
  const ledger: Ledger = { approved: new Map(), ran: [], named: new Map(), open: 0, done: 0 };
  for (const child of children) child.send(`approve ${Math.ceil(total / processes)}`);
  const failed = Promise.withResolvers<never>();
  const followed = new Promise<void>((resolve) => {
    const onLine = ([word = '', id = '', rest = '', unchanged]: readonly string[]): void => {
      writeDown[word]?.(ledger, id, rest, unchanged);
      if (ledger.done === processes && ledger.open === 0) resolve();
    };
    for (const index of children.keys()) follow(children, index, onLine).catch(failed.reject);
  });
  for (let loss = 1; loss <= losses; loss += 1) {
    while (ledger.approved.size < (loss * total) / (losses + 1)) await Promise.race([sleep(5), failed.promise]);
    await Promise.race([loseOne(group, loss % 2 === 1 ? 'kill' : 'hang'), failed.promise]);
  }
  await Promise.race([followed, failed.promise]);
  const store = await onceBack(async () => openTestValkey(await group.primary(), { url }));
  // What is good still is used now, by somebody else: a grant that ran already must not be among those.
  for (const [id, digest] of ledger.approved) {
    const late = await onceBack(async () => {
      try {
        return await store.requests.consume(id, digest, 'late');
      } catch (thrown) {
        if (thrown instanceof Fault && mayHaveChanged(thrown)) name(ledger, id, thrown.code);
        throw thrown;
      }
    });
    if (late.ok) ledger.ran.push(id);
  }
  const [runs, ids] = [new Set(ledger.ran), [...ledger.approved.keys()]];
  expect(ledger.ran.length, 'a grant ran twice').toBe(runs.size);
  const lost = ids.filter((id) => !runs.has(id));
  expect(
    lost.filter((id) => !ledger.named.has(id)),
    'lost without being named',
  ).toEqual([]);
  expect(runs.size).toBeGreaterThan(ids.length / 2);
  expect(await verifyTrail(store.audit)).toMatchObject({ ok: true });
  const codes = new Map<string, number>();
  for (const code of lost.flatMap((id) => [...(ledger.named.get(id) ?? [])])) codes.set(code, (codes.get(code) ?? 0) + 1);
  console.info(`${ids.length} approvals: ${runs.size} ran once, ${lost.length} named`, Object.fromEntries(codes));
});
