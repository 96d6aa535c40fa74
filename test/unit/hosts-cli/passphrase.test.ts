import { describe, expect, it } from 'vitest';
import { askNewPassphrase, flawOfPassphrase } from '#hosts/cli/passphrase';
import type { Terminal } from '#hosts/cli/terminal';

describe('a new passphrase', () => {
  it.each(['four unrelated words', 'twelve chars', 'пароль-длинный', 'correct horse battery staple'])('may be %j', (text) => {
    expect(flawOfPassphrase(text)).toBeUndefined();
  });

  it.each([
    ['', /0 characters/],
    ['elevenchars', /11 characters, at least 12/],
    // Eleven characters in twenty-two code units.
    ['🐎🔋🧷✅🐴🔌📎📌🐏🐑🐐', /11 characters/],
    ['aaaaaaaaaaaaaaaaaaaa', /fewer than 6 different/],
    ['abcabcabcabcabc', /fewer than 6 different/],
    ['twelve chars\u001b[A', /no character/],
    ['twelve\tchars!', /no character/],
  ])('may not be %j', (text, why) => {
    expect(flawOfPassphrase(text)).toMatch(why);
  });

  it('is typed twice, with three tries in all', async () => {
    const good = 'four unrelated words';
    expect(await askNewPassphrase(answering([good, good]).terminal, 'alice')).toBe(good);
    const second = answering(['short', good, `${good}.`, good, good]);
    expect(await askNewPassphrase(second.terminal, 'alice')).toBe(good);
    expect(second.said.join('')).toMatch(/5 characters[\s\S]*the two differ/);
    await expect(askNewPassphrase(answering(['a', 'b', 'c', good, good]).terminal, 'alice')).rejects.toMatchObject({
      code: 'bad_passphrase',
    });
  });
});

function answering(answers: readonly string[]): { readonly terminal: Terminal; readonly said: readonly string[] } {
  const left = [...answers];
  const said: string[] = [];
  const next = async () => left.shift() ?? '';
  return { said, terminal: { say: (text) => void said.push(text), ask: next, askSecret: next, key: next } };
}
