import { describe, expect, it } from 'vitest';
import { createTestSeam } from '../../editor/in-host/test-seam.ts';
import { scriptedPerson } from '../hosts/vscode/gate/scripted-person.ts';

const question = {
  id: 'req-00000001',
  severity: 'warning',
  title: 'Stop VM 100?',
  detail: 'To go on: press “Approve once”, then type web 7KQ2.',
  buttons: ['Deny', 'Approve once'],
} as const;
const typed = { title: 'x', prompt: 'Type “web 7KQ2” to approve', check: () => undefined };

describe('the seam', () => {
  it('is the real dialogs until a suite answers, and again after', async () => {
    const person = scriptedPerson({ reactions: [{ press: 'Deny' }, {}] });
    const { seam, dialogs } = createTestSeam(person.dialogs);
    expect(await dialogs.ask(question)).toBe('Deny');
    seam.answerWith(({ title }) => (title === 'Stop VM 100?' ? 'Approve once' : undefined));
    expect(await dialogs.ask(question)).toBe('Approve once');
    expect(await dialogs.type(typed)).toBe('web 7KQ2');
    expect(await dialogs.offer('still waits', 'Review')).toBe(false);
    seam.answerWith(undefined);
    expect(await dialogs.ask(question)).toBeUndefined();
    expect(person.questions).toHaveLength(2);
  });

  it('types what the suite says', async () => {
    const { seam, dialogs } = createTestSeam(scriptedPerson({}).dialogs);
    seam.answerWith(() => 'Approve once', 'wrong');
    expect(await dialogs.type(typed)).toBe('wrong');
  });
});
