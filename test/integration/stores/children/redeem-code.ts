/** redeem-code STORE: for each line `ID DIGEST CODE`, tries that one-time code eight times at once and says how often it was the right one. */
import { createOneTimeCodes } from '#app/people/one-time-codes';
import { openByName } from '../open-by-name.ts';
import { say, told } from './told.ts';

const { codes } = await openByName(process.argv[2] ?? '');
if (codes === undefined) throw new Error('this store keeps no codes');
const oneTime = createOneTimeCodes(codes);
say('ready');
for (;;) {
  const [requestId = '', digest = '', code = ''] = (await told()).split(' ');
  const verdicts = await Promise.all(Array.from({ length: 8 }, () => oneTime.redeem({ requestId, digest }, code)));
  say(String(verdicts.filter(({ ok }) => ok).length));
}
