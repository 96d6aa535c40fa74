/** What a call's end means for its caller's standing: audited, logged, and said to the caller. */
import type { Outcome } from '#kernel/outcome';
import { showPlainly } from '#kernel/text';
import type { IncomingCall, PipelineDeps } from './deps.ts';

export async function noteStanding(call: IncomingCall, deps: PipelineDeps, outcome: Outcome): Promise<Outcome> {
  const change = deps.standing?.note(call.agent, outcome);
  if (change === undefined) return outcome;
  const agent = showPlainly(change.agentId, 200);
  deps.log.warn(`standing: ${agent}: ${change.reason}`);
  const { from, to, classified, reason } = change;
  try {
    await deps.audit.append({
      name: 'standing.changed',
      attributes: { agent: { id: agent, host: call.agent.host }, from, to, classified, reason },
    });
  } catch (thrown) {
    // The change itself stands: it only takes something away, or gives back what was the agent's own.
    deps.log.error(`standing: ${agent}: the audit trail could not be written: ${showPlainly(String(thrown), 200)}`);
  }
  return { ...outcome, message: `${outcome.message}; ${reason}` };
}
