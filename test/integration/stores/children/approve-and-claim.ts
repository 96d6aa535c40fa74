/**
 * approve-and-claim URL NAME [TIMEOUT-MS]: a machine where a person answers and agents run, on a store that fails over.
 * `approve N`: asks and approves N times, and says `approved ID DIGEST` of each, before that `unsure ID CODE` where an approval may not outlive a
 * fail-over; at the end `done`. `house`: keeps house once, and says `kept`.
 * `claim ID DIGEST`: says `ran ID` where the grant was got (a call would run now), `refused ID STATUS`, or `fault ID CODE`. Behind the code of a fault that
 * says nothing was changed stands `unchanged`.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { RequestRecord } from '#kernel/approval/request';
import { Fault } from '#kernel/errors';
import { openValkeyStore } from '#stores/valkey/open-valkey-store';
import { mayHaveChanged, onceBack } from '../once-back.ts';
import { createApprover, decisionBy, draftBy, grantFor, storeApproval } from '../request-fixtures.ts';
import { sampleCredentials } from '../valkey-server.ts';
import { say, told } from './told.ts';

const [url = '', name = '', timeoutMs = '4000'] = process.argv.slice(2);
const store = await onceBack(() => openValkeyStore({ url, credentials: sampleCredentials(), timeoutMs: Number(timeoutMs) }));
const approver = createApprover(`user:${name}`);

/**
 * Until one is approved. Whatever a fail-over may do to a question on its way is no end: it may be refused, or known to one server alone, or be lost
 * with that. Each is another agent's, so that questions which stay behind keep nobody from asking.
 */
async function approveOne(index: number): Promise<void> {
  for (;;) {
    const asked = await onceBack(() => store.requests.open(draftBy(`mcp:${name}-${index}`, 100 + index)));
    if (asked.ok && (await isApproved(asked.record))) return;
    await sleep(20);
  }
}

async function isApproved({ id, digest }: RequestRecord): Promise<boolean> {
  const said = await answer(id);
  if ((await onceBack(() => store.requests.get(id)))?.status !== 'approved') return false;
  if (said !== 'confirmed') say(`unsure ${id} ${said}`);
  say(`approved ${id} ${digest}`);
  return true;
}

/** `confirmed`, or what the person was told instead. An answer whose outcome is unknown may have counted. */
async function answer(id: string): Promise<string> {
  try {
    const record = await store.requests.get(id);
    if (record?.status !== 'pending') return record?.status ?? 'lost';
    const now = Date.now();
    const grant = grantFor(record, approver, now, await store.requests.identity());
    const result = await storeApproval(store.requests, id, grant, decisionBy(approver.signer.approver, now));
    return result.ok ? 'confirmed' : result.why;
  } catch (thrown) {
    if (!(thrown instanceof Fault && thrown.retryable)) throw thrown;
    return codeOf(thrown);
  }
}

function codeOf(fault: Fault): string {
  return mayHaveChanged(fault) ? fault.code : `${fault.code} unchanged`;
}

async function claim(id: string, digest: string): Promise<void> {
  try {
    const result = await store.requests.consume(id, digest, `${name}/${process.pid}`);
    say(result.ok ? `ran ${id}` : `refused ${id} ${result.record?.status ?? result.why}`);
  } catch (thrown) {
    say(`fault ${id} ${thrown instanceof Fault ? codeOf(thrown) : String(thrown)}`);
  }
}

say('ready');
for (;;) {
  const [word = '', first = '', second = ''] = (await told()).split(' ');
  if (word === 'claim') void claim(first, second);
  else if (word === 'house') void store.keepHouse().then(() => say('kept'));
  else
    void (async () => {
      for (let index = 0; index < Number(first); index += 1) await approveOne(index);
      say('done');
    })();
}
