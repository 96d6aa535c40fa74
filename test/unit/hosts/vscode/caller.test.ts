import { describe, expect, it } from 'vitest';
import { chatCaller } from '#hosts/vscode/tools/chat-words';

const session = { scheme: 'vscode-chat-session', authority: 'local', path: '/abc', query: '', fragment: '' };

describe('chatCaller', () => {
  it('is the same in one chat session, whatever the editor caches in the token', () => {
    const plain = chatCaller({ sessionResource: session }, 'intermediate');
    const cached = chatCaller(
      {
        sessionResource: { $mid: 1, external: 'vscode-chat-session://local/abc', fsPath: '/abc', ...session },
        workingDirectory: { path: '/ws' },
      },
      'intermediate',
    );
    expect(cached.id).toBe(plain.id);
    expect(plain).toEqual({ id: expect.stringMatching(/^chat:[0-9a-f]{16}$/), host: 'chat', modelTier: 'intermediate' });
  });

  it('differs between sessions', () => {
    const other = { ...session, path: '/abd' };
    expect(chatCaller({ sessionResource: other }, 'basic').id).not.toBe(chatCaller({ sessionResource: session }, 'basic').id);
  });

  it('does not depend on the order of keys in a token it does not know', () => {
    expect(chatCaller({ a: 1, b: { c: 2, d: 3 } }, 'basic').id).toBe(chatCaller({ b: { d: 3, c: 2 }, a: 1 }, 'basic').id);
  });

  const cyclic: { self?: unknown } = {};
  cyclic.self = cyclic;
  const trap = {
    get sessionResource(): unknown {
      throw new Error('trap');
    },
  };
  it.each([undefined, null, 'token', 7, [], () => 1, cyclic, trap, 1n])('of a strange token is the one unknown caller', (token) => {
    expect(chatCaller(token, 'basic')).toMatchObject({ id: 'chat:unknown-caller', host: 'chat', modelTier: 'basic' });
  });
});
