/** Processes that all claim the same grant at once; needs no test runner, so the benchmark of claims uses it, too. */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { openByName } from './open-by-name.ts';
import { approved, createApprover, draftBy } from './request-fixtures.ts';

export interface ClaimRounds {
  /** See `openByName`. */
  readonly store: string;
  readonly rounds: number;
  readonly processes: number;
  /** In all, over the processes. */
  readonly claims: number;
}

export interface RoundResult {
  /** How many of the claims got the grant. */
  readonly won: number;
  /** How many records of the trail say that it was consumed. */
  readonly recorded: number;
  readonly status: string | undefined;
  readonly ms: number;
}

/** Each round is a grant of its own. @param onRound told after each */
export async function claimRounds(options: ClaimRounds, onRound: (result: RoundResult) => void): Promise<void> {
  const { processes, claims } = options;
  const store = await openByName(options.store);
  const claimants = Array.from({ length: processes }, () => startClaimant(options.store, Math.ceil(claims / processes)));
  try {
    await Promise.all(claimants.map((claimant) => claimant.line()));
    for (let round = 0; round < options.rounds; round += 1) {
      const { id, digest } = await approved(store, createApprover(), Date.now(), draftBy(`mcp:${round}`, 100 + round));
      const head = (await store.audit.head())?.sequence ?? 0;
      const begun = performance.now();
      for (const claimant of claimants) claimant.send(`${id} ${digest}`);
      const wins = await Promise.all(claimants.map((claimant) => claimant.line()));
      const ms = performance.now() - begun;
      const records = (await store.audit.read(head, 100)).filter((record) => record.attributes.request_id === id);
      const recorded = records.filter((record) => record.name === 'approval.consumed').length;
      onRound({ won: wins.map(Number).reduce((sum, won) => sum + won, 0), recorded, status: (await store.requests.get(id))?.status, ms });
    }
  } finally {
    for (const claimant of claimants) claimant.stop();
    await store.close();
  }
}

interface Claimant {
  line(): Promise<string>;
  send(line: string): void;
  stop(): void;
}

function startClaimant(store: string, count: number): Claimant {
  const script = fileURLToPath(new URL('./children/claim-rounds.ts', import.meta.url));
  const child: ChildProcessWithoutNullStreams = spawn(process.execPath, [script, store, String(count)]);
  let errors = '';
  child.stderr.on('data', (data) => {
    errors += data;
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    line: async () => {
      const { value, done } = await lines.next();
      if (done) throw new Error(`a claimant ended: ${errors}`);
      return value;
    },
    send: (line) => void child.stdin.write(`${line}\n`),
    stop: () => void child.kill('SIGKILL'),
  };
}
