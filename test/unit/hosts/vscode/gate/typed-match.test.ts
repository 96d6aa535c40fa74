import { expect, it } from 'vitest';
import { typedMatch } from '#hosts/vscode/gate/confirm-run';

it.each(['web 7KQ2', 'WEB 7kq2', '  web   7KQ2 '])('takes %j', (typed) => {
  expect(typedMatch('web 7KQ2', typed)).toBe(true);
});

it.each([undefined, '', ' ', 'web', '7KQ2', 'web7KQ2', 'web 7KQ3', 'web 7KQ2 x'])('refuses %j', (typed) => {
  expect(typedMatch('web 7KQ2', typed)).toBe(false);
});

it('is never met where nothing was asked for', () => {
  expect(typedMatch('', '')).toBe(false);
  expect(typedMatch('  ', ' ')).toBe(false);
});
