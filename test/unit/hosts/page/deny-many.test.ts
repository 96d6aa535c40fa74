import { expect, it } from 'vitest';
import { denialsInWords } from '#hosts/page/actions';
import { Fault } from '#kernel/errors';

const gone = new Fault('store_unavailable', 'the store cannot be reached');

it('says how many were denied where the store failed in between', async () => {
  const answers = [
    Promise.resolve({ ok: true }),
    Promise.reject(gone),
    Promise.resolve({ ok: true }),
    Promise.resolve({ ok: false }),
    Promise.reject(gone),
  ];
  expect(denialsInWords(await Promise.allSettled(answers))).toEqual({
    words: expect.objectContaining({ text: '{0}' }),
    ok: false,
    code: 'store_unavailable',
    message: 'denied 2 requests; 1 had ended before; 2 could not be denied and may still wait: the store cannot be reached',
  });
});

it('fails as the store did where nothing was denied', async () => {
  const results = await Promise.allSettled([Promise.reject(gone), Promise.reject(gone)]);
  expect(() => denialsInWords(results)).toThrow(gone);
});

it('is as short as can be where all were', async () => {
  expect(denialsInWords(await Promise.allSettled([Promise.resolve({ ok: true })]))).toEqual({
    words: expect.objectContaining({ text: '{0}' }),
    ok: true,
    code: 'denied',
    message: 'denied 1 request',
  });
});
