import { expect, it } from 'vitest';
import { requestIdFrom } from '#hosts/vscode/approvals-view/approval-row';

it.each(['req-0123abcd', { id: 'req-0123abcd' }, { kind: 'approval', id: 'req-0123abcd', approve: true }])(
  'takes the id from %j',
  (argument) => {
    expect(requestIdFrom(argument)).toBe('req-0123abcd');
  },
);

const trap = {
  get id(): string {
    throw new Error('trap');
  },
};
const proxy = new Proxy({}, { has: () => true, get: () => () => 'req-0123abcd' });
it.each([
  undefined,
  null,
  '',
  'Approve once',
  'req-0123ABCD',
  'req-0123abcd ',
  'req-0123abcde',
  7,
  ['req-0123abcd'],
  { id: 7 },
  { id: { id: 'req-0123abcd' } },
  trap,
  proxy,
  () => 1,
])('takes nothing from argument %#', (argument) => {
  expect(requestIdFrom(argument)).toBeUndefined();
});
