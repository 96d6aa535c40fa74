/**
 * approve-and-claim URL NAME: a machine where a person answers and agents run, on a store that fails over.
 * `approve N`: asks and approves N times, and says `approved ID DIGEST` of each; at the end `done`.
 * `house`: keeps house once, and says `kept`.
 * `claim ID DIGEST`: says `ran ID` where the grant was got (a call would run now), `refused ID STATUS`, or `fault ID CODE`.
 */
import { Fault } from '#kernel/errors';
import { openValkeyStore } from '#stores/valkey/open-valkey-store';
import { onceBack } from '../once-back.ts';
import { createApprover, decisionBy, draftBy, grantFor, opened, storeApproval } from '../request-fixtures.ts';
import { sampleCredentials } from '../valkey-server.ts';
import { say, told } from './told.ts';

const [url = '', name = ''] = process.argv.slice(2);
const store = await openValkeyStore({ url, credentials: sampleCredentials(), timeoutMs: 4000 });
const approver = createApprover(`user:${name}`);

/** A person asks again until it is settled; an answer whose outcome was unknown is looked at first. */
async function approveOne(index: number): Promise<void> {
  const { id, digest } = await onceBack(() => opened(store, draftBy(`mcp:${name}`, 100 + index)));
  await onceBack(async () => {
    const record = await store.requests.get(id);
    // Unconfirmed, and undone by the fail-over: it was never said to be there.
    if (record?.status !== 'pending') return record;
    const now = Date.now();
    return storeApproval(
      store.requests,
      id,
      grantFor(record, approver, now, await store.requests.identity()),
      decisionBy(approver.signer.approver, now),
    );
  });
  if ((await onceBack(() => store.requests.get(id)))?.status === 'approved') say(`approved ${id} ${digest}`);
}

async function claim(id: string, digest: string): Promise<void> {
  try {
    const result = await store.requests.consume(id, digest, `${name}/${process.pid}`);
    say(result.ok ? `ran ${id}` : `refused ${id} ${result.record?.status ?? result.why}`);
  } catch (thrown) {
    say(`fault ${id} ${thrown instanceof Fault ? thrown.code : String(thrown)}`);
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
