import type { Server } from '@modelcontextprotocol/server';
import { describe, expect, it } from 'vitest';
import type { McpToken } from '../../../../../src/app/people/mcp-tokens.ts';
import { createSessions } from '../../../../../src/hosts/mcp/http/sessions.ts';

const token = (name: string, createdAt = '2026-01-01T00:00:00.000Z'): McpToken => ({
  name,
  modelTier: 'basic',
  createdAt,
  expiresAt: null,
});
const limits = { sessions: 3, sessionsPerToken: 2, sessionIdleMs: 100 };

function setUp() {
  const time = { now: 0 };
  const closed: string[] = [];
  const sessions = createSessions<undefined>(limits, () => time.now);
  const add = (id: string, owner: McpToken) => {
    const close = () => {
      closed.push(id);
      sessions.remove(id);
      return Promise.resolve();
    };
    // Only what the sessions use of it.
    sessions.add({ id, token: owner, server: { close } as unknown as Server, connection: undefined });
  };
  return { time, closed, sessions, add };
}

const alive = () => Promise.resolve(true);

describe('sessions', () => {
  it('are found by the token that opened them alone, not by one made later under its name', () => {
    const { sessions, add } = setUp();
    add('s', token('a'));
    expect(sessions.find('s', token('a'))?.id).toBe('s');
    expect(sessions.find('s', token('b'))).toBeUndefined();
    expect(sessions.find('s', token('a', '2026-02-02T00:00:00.000Z'))).toBeUndefined();
  });

  it('make room by closing the token’s own longest idle one', async () => {
    const { sessions, add, time, closed } = setUp();
    add('old', token('a'));
    time.now = 10;
    add('new', token('a'));
    expect(await sessions.hasRoom(token('a'))).toBe(true);
    expect(closed).toEqual(['old']);
  });

  it('make no room by closing one in use, or another token’s', async () => {
    const { sessions, add, closed } = setUp();
    for (const id of ['a1', 'a2']) add(id, token('a'));
    for (const id of ['a1', 'a2']) sessions.use(id);
    expect(await sessions.hasRoom(token('a'))).toBe(false);
    add('b1', token('b'));
    expect(await sessions.hasRoom(token('c'))).toBe(false);
    expect(closed).toEqual([]);
  });

  it('expire once idle, never while in use; use is counted', async () => {
    const { sessions, add, time, closed } = setUp();
    add('s', token('a'));
    const [first, second] = [sessions.use('s'), sessions.use('s')];
    time.now = 1000;
    await sessions.sweep(alive);
    first();
    first();
    await sessions.sweep(alive);
    expect(closed).toEqual([]);
    second();
    time.now = 1099;
    await sessions.sweep(alive);
    expect(closed).toEqual([]);
    time.now = 1100;
    await sessions.sweep(alive);
    expect(closed).toEqual(['s']);
  });

  it('end with their token, in use or not', async () => {
    const { sessions, add, closed } = setUp();
    add('a', token('a'));
    add('b', token('b'));
    sessions.use('a');
    await sessions.sweep(({ name }) => Promise.resolve(name !== 'a'));
    expect(closed).toEqual(['a']);
  });
});
