/** One process at a time opens requests for an agent, so that asking twice is one question and the cap holds. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Fault } from '#kernel/errors';
import type { StoreContext } from './store-context.ts';

export interface AgentTurn {
  /** Throws once the turn may be somebody else's. Asked right before the change is sent. */
  requireHeld(): void;
}

/** Longer than an operation may take; a process that dies in its turn holds up the others of the same agent this long. In ms. */
const turnMs = 8000;
const waitMs = 10_000;

/**
 * The agent's user has no scripts and may not watch keys: a key that only one can make is all there is.
 * What a turn that lasted too long could cost is one question too many, never a grant.
 * @throws {Fault} `store_busy` when another process held the turn all the time
 */
export async function inAgentTurn<T>(context: StoreContext, agentId: string, work: (turn: AgentTurn) => Promise<T>): Promise<T> {
  const { connections, keys, self } = context;
  const key = keys.lockOf(agentId);
  const giveUp = performance.now() + waitMs;
  let until = 0;
  for (;;) {
    until = performance.now() + turnMs;
    if (await connections.as('agent', async (client) => (await client.set(key, self, 'PX', turnMs, 'NX')) === 'OK')) break;
    if (performance.now() >= giveUp) throw busyFault();
    await sleep(2 + Math.random() * 15);
  }
  const isHeld = (): boolean => performance.now() < until - turnMs / 4;
  try {
    return await work({
      requireHeld: () => {
        if (!isHeld()) throw busyFault();
      },
    });
  } finally {
    // There is no DEL for this user. Not awaited for its error: an end that cannot be said comes by itself.
    if (isHeld()) await connections.as('agent', (client) => client.set(key, '', 'PX', 1)).catch(() => undefined);
  }
}

function busyFault(): Fault {
  return new Fault('store_busy', 'other processes of this agent were asking at the same time and did not get done', {
    retryable: true,
    next: 'try again',
  });
}
