import { expect, it } from 'vitest';
import { onceGood } from '#hosts/vscode/load-parts';

it('is loaded once for all who ask, and again after it failed', async () => {
  let loads = 0;
  const load = onceGood(async () => {
    loads += 1;
    if (loads === 1) throw new Error('the disk is being written');
    return loads;
  });
  await expect(Promise.all([load(), load()])).rejects.toThrow('being written');
  expect(await Promise.all([load(), load()])).toEqual([2, 2]);
  expect(await load()).toBe(2);
});
