import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import {
  clusterArgument,
  nodeArgument,
  nodeNamePattern,
  pagingArguments,
  reasonArgument,
  serviceArgument,
  text,
  vmidArgument,
} from '#kernel/arguments';

describe('a guest number', () => {
  it.each<[unknown, number]>([
    [103, 103],
    [103.0, 103],
    ['103', 103],
    ['0103', 103],
    [' 103 ', 103],
    [1.03e2, 103],
    [999_999_999, 999_999_999],
  ])('%j is %d', (given, vmid) => {
    expect(vmidArgument.parse(given)).toBe(vmid);
  });

  it.each<unknown>([
    99,
    0,
    -103,
    103.5,
    1_000_000_000,
    '103.0',
    '1e2',
    '0x67',
    '+103',
    '１０３',
    '103;104',
    '103\n104',
    '',
    null,
    undefined,
    true,
    [103],
    { vmid: 103 },
    Number.NaN,
    Number.POSITIVE_INFINITY,
  ])('%j is none', (given) => {
    expect(vmidArgument.safeParse(given).success).toBe(false);
  });
});

describe('a node', () => {
  it('is any short text, so that a protected one is recognized under each of its names', () => {
    expect(nodeArgument.parse('192.168.1.61')).toBe('192.168.1.61');
    expect(nodeArgument.parse(' pve\u0000 ')).toBe('pve');
    expect(nodeArgument.safeParse('\u0000\n').success).toBe(false);
    expect(nodeArgument.safeParse('x'.repeat(256)).success).toBe(false);
    expect(nodeArgument.safeParse(['pve']).success).toBe(false);
  });

  it.each(['pve', 'Home', 'a_b-1', 'x'.repeat(50)])('may have the name `%s`', (name) => expect(name).toMatch(nodeNamePattern));
  it.each(['', 'a b', 'a.b', 'a/b', 'pve%2f', '../x', 'x'.repeat(51), 'pve\n'])('cannot have the name %j', (name) =>
    expect(name).not.toMatch(nodeNamePattern),
  );
});

describe('a service', () => {
  it.each(['nginx', 'nginx.service', 'getty@tty1.service', 'a-b_c:d', 'Docker'])('may be `%s`', (name) => {
    expect(serviceArgument.parse(name)).toBe(name);
  });

  it.each(['', '-H', '--now', '/etc/x.service', 'a b', 'a;b', 'a*', 'a?', '[a]', '$(x)', 'a\\x2d', '@x', '.x', 'a\nb', 'x'.repeat(129)])(
    'may not be %j',
    (name) => {
      expect(serviceArgument.safeParse(name).success).toBe(false);
    },
  );
});

describe('text arguments', () => {
  it('are sanitized before their length counts', () => {
    expect(text('x').parse('  a\u0000 ')).toBe('a');
    expect(text('x').safeParse('\u0000 ').success).toBe(false);
    expect(clusterArgument.parse(undefined)).toBeUndefined();
    expect(clusterArgument.safeParse('').success).toBe(false);
    expect(reasonArgument.parse('')).toBe('');
    expect(reasonArgument.safeParse('x'.repeat(501)).success).toBe(false);
  });
});

describe('paging', () => {
  const paging = z.strictObject(pagingArguments);
  it.each([{}, { limit: 1 }, { limit: 500 }, { filter: 'x' }, { cursor: '1.00000000' }])('takes %j', (input) => {
    expect(paging.safeParse(input).success).toBe(true);
  });
  it.each([
    { limit: 0 },
    { limit: 501 },
    { limit: 1.5 },
    { limit: '5' },
    { filter: 'x'.repeat(201) },
    { cursor: 'x'.repeat(501) },
    { page: 1 },
  ])('refuses %j', (input) => {
    expect(paging.safeParse(input).success).toBe(false);
  });
});
