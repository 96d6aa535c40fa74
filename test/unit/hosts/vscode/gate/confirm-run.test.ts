import { expect, it } from 'vitest';
import { confirmRun, runButton } from '#hosts/vscode/gate/confirm-run';
import { createModalQueue } from '#hosts/vscode/gate/modal-queue';
import { type Reaction, scriptedPerson } from './scripted-person.ts';

async function answerTo(reactions: readonly Reaction[]) {
  const person = scriptedPerson({ reactions });
  const ran = await confirmRun(
    { key: 'restart_service', title: 'Restart nginx on pve?', detail: 'service: nginx' },
    { queue: createModalQueue(), dialogs: person.dialogs, now: person.now },
  );
  return { ran, person };
}

it('runs on Run alone, which is not the default button', async () => {
  const { ran, person } = await answerTo([{ press: runButton }]);
  expect(ran).toBe(true);
  expect(person.questions[0]?.buttons).toEqual(['Do Not Run', 'Run']);
});

it.each([{}, { press: 'Do Not Run' }, { windowCloses: true }, { press: 'run' }])('does not run on %j', async (reaction) => {
  expect((await answerTo([reaction])).ran).toBe(false);
});

it('asks again after an answer within 700 ms', async () => {
  const { ran, person } = await answerTo([{ press: runButton, after: 100 }, {}]);
  expect(ran).toBe(false);
  expect(person.questions).toHaveLength(2);
});
