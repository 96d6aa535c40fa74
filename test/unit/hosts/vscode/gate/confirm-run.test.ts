import { expect, it } from 'vitest';
import { confirmRun, createModalQueue, runButton } from '#hosts/vscode/gate/confirm-run';
import { codeOn, type Reaction, scriptedPerson } from './scripted-person.ts';

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

it('runs on the code that stood on the card, not on the button alone', async () => {
  const person = scriptedPerson({ reactions: [{ press: runButton }], type: () => 'ZZZ' });
  const question = { key: 'restart_service', title: 'Restart nginx on pve?', detail: 'service: nginx' };
  expect(await confirmRun(question, { queue: createModalQueue(), dialogs: person.dialogs, now: person.now })).toBe(false);
  expect(person.typed).toHaveLength(1);
  expect(codeOn(person.questions[0])).toMatch(/^[2-9A-HJ-NP-Z]{3}$/);
});

it('asks for no code where the act only stops something', async () => {
  const person = scriptedPerson({ reactions: [{ press: runButton }] });
  const question = { key: 'revoke', title: 'Revoke?', detail: 'x', harmless: true } as const;
  expect(await confirmRun(question, { queue: createModalQueue(), dialogs: person.dialogs, now: person.now })).toBe(true);
  expect(person.typed).toEqual([]);
});

it('leaves a moment between two dialogs, for the click that was meant for the first', async () => {
  const steps: string[] = [];
  const queue = createModalQueue(async () => void steps.push('a moment'));
  await Promise.all([queue.run('a', async () => void steps.push('a')), queue.run('b', async () => void steps.push('b'))]);
  expect(steps).toEqual(['a', 'a moment', 'b', 'a moment']);
});
