/**
 * A call that a person has run by hand while its agent was away (`Approve and Run`): the agent's next word about it is answered with what
 * came of that, once, instead of asking a person for the same thing again.
 */
import type { Deadline } from '#execution/deadline';
import type { RequestRecord } from '#kernel/request';
import { alreadyRun, runInWords, runOf } from '#kernel/request-run';
import type { CallDeps, IncomingCall } from './deps.ts';
import type { Classified, Refusal } from './stage.ts';
import { limitOf } from './validate.ts';

/** In `consumedBy`, between the process and the person. */
export const byHandMark = ', by hand of ';

/** The agent may come back within an hour, as it may for an answer. */
const rememberedMs = 3_600_000;

interface Context {
  readonly call: IncomingCall;
  readonly deps: CallDeps;
  readonly deadline: Deadline;
}

/** undefined: nobody has, or the agent has been told. */
export async function ranByHand(state: Classified, digest: string, { call, deps }: Context): Promise<Refusal | undefined> {
  const record = await newestByHand(digest, call, deps);
  if (record === undefined) return undefined;
  const run = runOf(await deps.audit.ofRequest(record.id, record.consumedAt ?? 0));
  if (run.told) return undefined;
  const now = deps.clock.now();
  const limit = limitOf(state.tool, call.input, deps.limits.callMs);
  const words = `request ${record.id}, this same call: ${runInWords(run, record, now)}`;
  if (run.known !== 'outcome' && now < (record.consumedAt ?? 0) + limit) {
    const next = `call check_request_status with request_id ${record.id}; do not repeat the call`;
    return { status: 'pending', code: 'running_by_hand', message: `${words} so far; nothing more was done`, next, requestId: record.id };
  }
  return {
    status: run.status === 'ok' ? 'ok' : 'error',
    code: alreadyRun,
    message: `${words}; it was not run again`,
    next: 'go on from there; the same call once more is a new call, and a person is asked anew',
    requestId: record.id,
  };
}

async function newestByHand(digest: string, { agent }: IncomingCall, { requests, clock }: CallDeps): Promise<RequestRecord | undefined> {
  // What cannot be looked up costs a person a second question at most.
  const { records } = await requests.list({ statuses: ['consumed'], limit: 50, search: agent.id }).catch(() => ({ records: [] }));
  return records.find(
    (record) =>
      record.digest === digest &&
      record.agent.id === agent.id &&
      record.consumedBy?.includes(byHandMark) === true &&
      clock.now() - (record.consumedAt ?? 0) < rememberedMs,
  );
}
