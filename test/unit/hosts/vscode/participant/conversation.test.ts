import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Conversation, fitted, type Message, sizeOfAll, tokensOf } from '#hosts/vscode/participant/conversation';

const person = (text: string): Message => ({ from: 'person', text });
const round = (id: string, answer: string): readonly Message[] => [
  { from: 'model', text: '', calls: [{ id, name: 'banksman_get_vms', input: {} }] },
  { from: 'tools', answers: [{ id, text: answer }] },
];

describe('the estimate of tokens', () => {
  it.each([
    ['', 0],
    ['abc', 1],
    ['abcd', 2],
    ['日本語', 3],
    ['aé', 2],
  ])('of `%s` is %d', (text, tokens) => {
    expect(tokensOf(text)).toBe(tokens);
  });
});

describe('what is sent', () => {
  const before = Array.from({ length: 10 }, (_, index) => [person(`question ${index} ${'a'.repeat(600)}`), ...round(`old-${index}`, 'x')]);

  it('is all of it where it fits', () => {
    const messages = fitted({ rules: 'R', before, now: [person('now')] }, 100_000);
    expect(messages).toHaveLength(1 + 30 + 1);
    expect(messages?.[0]).toEqual(person('R'));
    expect(messages?.at(-1)).toEqual(person('now'));
  });

  it('leaves out earlier exchanges as wholes, the oldest first', () => {
    const messages = fitted({ rules: 'R', before, now: [person('now')] }, 1_000) ?? [];
    const questions = messages.flatMap((message) => (message.from === 'person' ? [message.text.slice(0, 10)] : []));
    expect(questions).toEqual(['R', 'question 7', 'question 8', 'question 9', 'now']);
    expect(messages[1]?.from).toBe('person');
  });

  it('cuts earlier answers before the last one', () => {
    const now = [person('now'), ...round('1', 'a'.repeat(3_000)), ...round('2', 'b'.repeat(3_000))];
    const messages = fitted({ rules: 'R', before: [], now }, 1_400) ?? [];
    const answers = messages.flatMap((message) => (message.from === 'tools' ? message.answers.map(({ text }) => text) : []));
    expect(answers[0]).toMatch(/^a{160}… \[2840 characters left out/);
    expect(answers[1]).toBe('b'.repeat(3_000));
  });

  it('is nothing where even the question does not fit', () => {
    expect(fitted({ rules: 'R', before, now: [person('q'.repeat(9_000))] }, 1_000)).toBeUndefined();
  });
});

const message = fc.oneof(
  fc.string({ maxLength: 400 }).map(person),
  fc.tuple(fc.uuid(), fc.string({ maxLength: 2_000 })).map(([id, answer]) => round(id, answer)),
);
const conversation: fc.Arbitrary<Conversation> = fc.record({
  rules: fc.string({ maxLength: 100 }),
  before: fc.array(
    fc.array(message, { maxLength: 3 }).map((parts) => parts.flat()),
    { maxLength: 6 },
  ),
  now: fc.array(message, { minLength: 1, maxLength: 6 }).map((parts) => parts.flat()),
});

it('never is more than the room, and never parts a call from its answer', () => {
  fc.assert(
    fc.property(conversation, fc.integer({ min: 0, max: 4_000 }), (whole, room) => {
      const messages = fitted(whole, room);
      if (messages === undefined) return;
      expect(sizeOfAll(messages)).toBeLessThanOrEqual(room);
      const called = messages.flatMap((one) => (one.from === 'model' ? one.calls.map(({ id }) => id) : []));
      const answered = messages.flatMap((one) => (one.from === 'tools' ? one.answers.map(({ id }) => id) : []));
      expect(answered).toEqual(called);
    }),
    { numRuns: 200 },
  );
});
