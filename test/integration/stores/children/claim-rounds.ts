/** claim-rounds STORE COUNT: for each line `ID DIGEST`, claims that grant COUNT times at once and says how often it won. */

import { openByName } from '../open-by-name.ts';
import { say, told } from './told.ts';

const [name = '', count = '1'] = process.argv.slice(2);
const store = await openByName(name);
say('ready');
for (;;) {
  const [id = '', digest = ''] = (await told()).split(' ');
  const claims = Array.from({ length: Number(count) }, (_, index) => store.requests.consume(id, digest, `${process.pid}/${index}`));
  const outcomes = await Promise.all(claims);
  say(String(outcomes.filter((claim) => claim.ok).length));
}
