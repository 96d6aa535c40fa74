import { describe, expect, it } from 'vitest';
import { english } from '#kernel/text/message';
import { decideScopes, type Scope, type ScopedCall, scopeInWords, scopesOf } from '#policy/scopes/scopes';
import { matchesPattern, type Selectable } from '#policy/scopes/selector';

const scope = (more: Partial<Scope> = {}): Scope => ({ name: 'ci', agents: ['mcp:ci'], reason: 'it only tests', ...more });
const guest = (more: Partial<Selectable> = {}): Selectable => ({
  ...{ words: 'guest 100 (web-1)', cluster: 'lab', vmid: 100, node: 'pve', tags: ['staging'], pool: 'staging', name: 'web-1' },
  ...more,
});
const call = (more: Partial<ScopedCall> = {}): ScopedCall => ({
  impact: 'reversible',
  changed: [guest()],
  places: [],
  spent: new Map(),
  ...more,
});
const ci = { id: 'mcp:ci', host: 'mcp' } as const;

describe('which scopes an agent has', () => {
  it.each<[string, string, 'mcp' | 'chat' | 'cli' | 'palette', boolean]>([
    ['mcp:ci', 'mcp:ci', 'mcp', true],
    ['mcp:ci', 'mcp:ci2', 'mcp', false],
    ['mcp:*', 'mcp:ci2', 'mcp', true],
    ['*', 'chat:0f3a', 'chat', true],
    ['host:chat', 'chat:0f3a', 'chat', true],
    ['host:chat', 'mcp:chat', 'mcp', false],
    ['user:alice', 'cli:alice', 'cli', true],
    ['user:alice', 'user:alice', 'palette', true],
    ['user:alice', 'alice/mcp:ci', 'mcp', true],
    ['user:alice', 'bob/mcp:alice', 'mcp', false],
    ['mcp:ci', 'alice/mcp:ci', 'mcp', true],
    ['alice/*', 'alice/mcp:ci', 'mcp', true],
    ['alice/*', 'bob/mcp:ci', 'mcp', false],
  ])('`%s` names %s of host %s: %s', (pattern, id, host, expected) => {
    expect(scopesOf({ id, host }, [scope({ agents: [pattern] })]).length === 1).toBe(expected);
  });
});

describe('a scope', () => {
  it('holds nobody whom it does not name', () => {
    const decision = decideScopes({ id: 'mcp:other', host: 'mcp' }, [scope({ changesPerDay: 0 })], call({ impact: 'irreversible' }));
    expect(decision).toMatchObject({ effect: 'allow', code: 'no_scope' });
  });

  it.each<[string, Scope['only'], Partial<Selectable>, RegExp | undefined]>([
    ['pool', { pools: ['staging'] }, {}, undefined],
    ['a pool below', { pools: ['staging'] }, { pool: 'staging/web' }, undefined],
    ['another pool', { pools: ['staging'] }, { pool: 'staging2' }, /is in pool `staging2`/],
    ['no pool', { pools: ['staging'] }, { pool: null }, /is in no pool/],
    ['a pool that cannot be seen', { pools: ['staging'] }, { pool: undefined }, /cannot see which pool/],
    ['tag', { tags: ['x', 'staging'] }, {}, undefined],
    ['no tags', { tags: ['staging'] }, { tags: [] }, /has no tags/],
    ['tags that are not known', { tags: ['staging'] }, { tags: undefined }, /tags are not known/],
    ['node, whatever the case', { nodes: ['PVE'] }, {}, undefined],
    ['another node', { nodes: ['pve2'] }, {}, /is on `pve`/],
    ['name', { names: ['web-*'] }, {}, undefined],
    ['another name', { names: ['web-*'] }, { name: 'db-1' }, /is named `db-1`/],
    ['a name that is not known', { names: ['*b*'] }, { name: undefined }, /name is not known/],
    ['number', { guests: [100] }, {}, undefined],
    ['another number', { guests: [101] }, {}, /has the number 100/],
    ['cluster', { clusters: ['la?'] }, {}, undefined],
    ['another cluster', { clusters: ['home'] }, {}, /is of cluster `lab`/],
    ['all of it', { pools: ['staging'], nodes: ['pve'], tags: ['staging'] }, {}, undefined],
    ['a part of it only', { pools: ['staging'], nodes: ['pve2'] }, {}, /is on `pve`/],
    ['a node, by a pool', { pools: ['staging'] }, { vmid: null, pool: null, tags: [], name: null }, /is in no pool/],
  ])('by %s', (_what, only, thing, words) => {
    const decision = decideScopes(ci, [scope({ ...(only === undefined ? {} : { only }) })], call({ changed: [guest(thing)] }));
    expect(decision.effect).toBe(words === undefined ? 'allow' : 'deny');
    if (words === undefined) return;
    expect(decision).toMatchObject({ code: 'out_of_scope', rules: ['scopes.ci'] });
    expect(decision.reason).toMatch(words);
    expect(decision.reason).toMatch(/the reason given: it only tests$/);
  });

  it('looks at each thing that is changed, and at places by node and cluster alone', () => {
    const only = { pools: ['staging'], nodes: ['pve'] };
    const other = guest({ words: 'guest 200', vmid: 200, pool: 'prod' });
    expect(decideScopes(ci, [scope({ only })], call({ changed: [guest(), other] })).reason).toMatch(/^guest 200 is in pool `prod`/);
    const place = guest({ words: 'node pve2', vmid: null, node: 'pve2', pool: null, tags: [], name: null });
    expect(decideScopes(ci, [scope({ only })], call({ places: [place] })).reason).toMatch(/^node pve2 is on `pve2`/);
    expect(decideScopes(ci, [scope({ only })], call({ places: [{ ...place, node: 'pve' }] })).effect).toBe('allow');
  });

  it('by what a call does at worst', () => {
    const decision = decideScopes(ci, [scope({ impact: 'reversible' })], call({ impact: 'disruptive' }));
    expect(decision).toMatchObject({ effect: 'deny', code: 'out_of_scope' });
    expect(decision.reason).toMatch(/what is disruptive .* is more than scope `ci` lets its agents do: at most reversible/);
    expect(decideScopes(ci, [scope({ impact: 'disruptive' })], call({ impact: 'disruptive' })).effect).toBe('allow');
  });

  it('by a budget that its agents share, and nobody else', () => {
    const chats = scope({ agents: ['host:chat'], changesPerDay: 3 });
    const chat = { id: 'chat:c', host: 'chat' } as const;
    const spent = (pairs: readonly (readonly [string, number])[]) => call({ spent: new Map(pairs) });
    expect(
      decideScopes(
        chat,
        [chats],
        spent([
          ['chat:a', 1],
          ['chat:b', 1],
          ['mcp:ci', 9],
        ]),
      ).effect,
    ).toBe('allow');
    const over = decideScopes(
      chat,
      [chats],
      spent([
        ['chat:a', 1],
        ['chat:b', 1],
        ['alice/chat:d', 1],
      ]),
    );
    expect(over).toMatchObject({ effect: 'deny', code: 'over_budget', reason: expect.stringMatching(/^3 of 3 changes in 24 hours/) });
    expect(decideScopes(chat, [scope({ agents: ['*'], changesPerDay: 0 })], call()).code).toBe('over_budget');
    expect(english(scopeInWords(chats, new Map([['chat:a', 2]])))).toContain('2 of 3 changes made in 24 hours');
  });

  it('all that name the agent hold', () => {
    const two = [scope(), scope({ name: 'all', agents: ['*'], impact: 'none' })];
    expect(decideScopes(ci, two, call()).rules).toEqual(['scopes.all']);
  });
});

it.each<[string, string, boolean]>([
  ['db-*', 'DB-1', true],
  ['db-*', 'db-', true],
  ['*-db', 'my-db-db', true],
  ['a*b*c', 'aXbXbXc', true],
  ['a?c', 'abc', true],
  ['a?c', 'ac', false],
  ['abc', 'abcd', false],
  ['*', '', true],
  ['a.c', 'abc', false],
  ['*a'.repeat(50), 'b'.repeat(5_000), false],
])('the pattern %s fits %s: %s', (pattern, text, expected) => {
  expect(matchesPattern(pattern, text)).toBe(expected);
});
