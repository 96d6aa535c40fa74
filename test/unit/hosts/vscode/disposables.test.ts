import { expect, it } from 'vitest';
import { createDisposableBag } from '#hosts/vscode/disposables';

it('disposes last in, first out, each once', () => {
  const seen: number[] = [];
  const bag = createDisposableBag();
  for (const n of [1, 2, 3]) bag.add({ dispose: () => seen.push(n) });
  bag.dispose();
  bag.dispose();
  expect(seen).toEqual([3, 2, 1]);
});

it('disposes at once what comes too late', () => {
  const bag = createDisposableBag();
  bag.dispose();
  let disposed = false;
  bag.add({ dispose: () => (disposed = true) });
  expect(disposed).toBe(true);
});

it('goes on after one that throws, and says so', () => {
  const errors: unknown[] = [];
  const bag = createDisposableBag((error) => errors.push(error));
  let disposed = false;
  bag.add({ dispose: () => (disposed = true) });
  bag.add({
    dispose: () => {
      throw new Error('no');
    },
  });
  bag.dispose();
  expect(disposed).toBe(true);
  expect(errors).toEqual([new Error('no')]);
});
