/** A window whose answers count for nothing, since a service decides. */
import { expect, it } from 'vitest';
import { createApprovals } from '#approval/approvals';
import { approveAndRunButton, approveButton, denyButton, detailsButton, pageButton, reviewRequest } from '#hosts/vscode/gate/review';
import { createFakeClock, draftOf, opened, openTestStore } from '../../../../integration/stores/store-fixtures.ts';
import { scriptedPerson } from './scripted-person.ts';

it('has no button that approves, makes no key, and can deny', async () => {
  const clock = createFakeClock();
  const store = await openTestStore({ clock });
  const approvals = createApprovals({ ...store, clock, via: 'editor', trustedKeys: async () => [] });
  const { id } = await opened(store, draftOf());
  const person = scriptedPerson({ reactions: [{ press: approveButton }, { press: approveAndRunButton }, { press: denyButton }] });
  const review = () =>
    reviewRequest(id, {
      approvals,
      dialogs: person.dialogs,
      now: person.now,
      signer: () => Promise.reject(new Error('no key is made here')),
      person: 'user:alice',
      configFile: '/nowhere',
      showDetails: async () => undefined,
      openPage: async () => undefined,
      answersAt: 'an approver answers at https://banksman.lan; a level is set by root',
      whyNotHere: async () => undefined,
      runByHand: () => undefined,
      pause: async () => undefined,
      at: () => () => undefined,
      alarms: async () => [],
    });
  for (const end of ['left_pending', 'left_pending', 'denied']) expect(await review()).toBe(end);
  const [question] = person.questions;
  expect(question?.buttons).toEqual([denyButton, detailsButton, pageButton]);
  expect(question?.detail).toMatch(/^No window approves this, here it can only be denied: an approver answers at https:..banksman.lan\.\n/);
  expect(question?.detail).not.toContain('then type');
  expect(await approvals.get(id)).toMatchObject({ status: 'denied' });
});
