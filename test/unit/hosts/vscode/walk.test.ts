import { expect, it } from 'vitest';
import { type Step, type Went, walk } from '#hosts/vscode/first-run/walk';

const letters = ['a', 'b', 'c', 'd'];

interface Draft {
  readonly said: readonly string[];
  readonly isShort?: boolean;
}

/** Each step answers as the script says, in turn, and notes where it was asked. */
function scripted(
  script: readonly (readonly [string, 'on' | 'back' | 'leave'])[],
  facts: Readonly<Record<string, Partial<Step<Draft>>>> = {},
) {
  const asked: string[] = [];
  const left = [...script];
  const step = (name: string): Step<Draft> => ({
    ...facts[name],
    async ask(draft, frame): Promise<Went<Draft>> {
      asked.push(`${name} ${frame.step}/${frame.totalSteps}`);
      const [expected, answer] = left.shift() ?? ['none', 'leave'];
      expect(name).toBe(expected);
      if (answer === 'leave') return undefined;
      return answer === 'back' ? 'back' : { value: { ...draft, said: [...draft.said, name] } };
    },
  });
  return { asked, steps: letters.map(step) };
}

const start: Draft = { said: [] };

it('goes on from question to question', async () => {
  const { steps, asked } = scripted(letters.map((name) => [name, 'on']));
  expect((await walk('T', steps, start))?.said).toEqual(['a', 'b', 'c', 'd']);
  expect(asked).toEqual(['a 1/4', 'b 2/4', 'c 3/4', 'd 4/4']);
});

it('goes back to the one before, and past what belongs to it', async () => {
  const { steps } = scripted(
    [
      ['a', 'on'],
      ['b', 'on'],
      ['c', 'back'],
      ['a', 'on'],
      ['b', 'on'],
      ['c', 'on'],
      ['d', 'on'],
    ],
    { b: { belongsBefore: true } },
  );
  expect((await walk('T', steps, start))?.said).toEqual(['a', 'b', 'a', 'b', 'c', 'd']);
});

it('passes over what is not due, in both directions', async () => {
  const { steps } = scripted(
    [
      ['a', 'on'],
      ['d', 'back'],
      ['a', 'on'],
      ['d', 'on'],
    ],
    { b: { isDue: () => false }, c: { isDue: () => false } },
  );
  expect((await walk('T', steps, start))?.said).toEqual(['a', 'a', 'd']);
});

it('asks the first again where somebody goes back from it', async () => {
  const { steps } = scripted([
    ['a', 'back'],
    ['a', 'back'],
    ['a', 'on'],
    ['b', 'back'],
    ['a', 'leave'],
  ]);
  expect(await walk('T', steps, start)).toBeUndefined();
});

it.each(letters)('leaves nothing where the person leaves at %s', async (name) => {
  const names = letters.slice(0, letters.indexOf(name) + 1);
  const { steps } = scripted(names.map((one) => [one, one === name ? 'leave' : 'on']));
  expect(await walk('T', steps, start)).toBeUndefined();
});
