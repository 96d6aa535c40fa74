import { describe, expect, it } from 'vitest';
import { decideSshCommand } from '#policy/ssh/decide-ssh-command';
import { type UserRule, userRuleSchema, userRulesSchema } from '#policy/user-rules';

function rule(surface: UserRule['surface'], effect: UserRule['effect'], program: string, more: Partial<UserRule> = {}): UserRule {
  return userRuleSchema.parse({ id: 'mine', surface, effect, program, justification: 'because', match: [program], ...more });
}

describe('ssh', () => {
  it('allows exactly what the rule names, quoted anew', () => {
    const rules = [rule('ssh', 'allow', 'frobtool', { args: ['-S'], more: 'any' })];
    expect(decideSshCommand('frobtool -S "eth0"', rules)).toMatchObject({
      decision: { effect: 'allow', rules: ['user.mine'] },
      canonical: 'frobtool -S eth0',
    });
    expect(decideSshCommand('frobtool eth0', rules).decision.effect).toBe('deny');
    expect(decideSshCommand('frobtool -S eth0').decision.effect).toBe('deny');
  });

  it('takes arguments behind those it names only where it says so', () => {
    const rules = [rule('ssh', 'allow', 'frobtool', { args: ['eth0'] })];
    expect(decideSshCommand('frobtool eth0', rules).decision.effect).toBe('allow');
    expect(decideSshCommand('frobtool eth0 eth1', rules).decision.effect).toBe('deny');
  });

  it.each(['rm', 'bash', 'sudo', 'dd', 'reboot', 'awk', '/usr/bin/frobtool'])('never lifts the refusal of %s', (program) => {
    expect(decideSshCommand(`${program} x`, [rule('ssh', 'allow', program, { more: 'any' })]).decision.effect).toBe('deny');
  });

  it.each(['frobtool /etc/pve/priv/x', 'frobtool ../x', 'frobtool $(id)', 'frobtool; reboot', 'frobtool > x', 'et"h"tool x'])(
    'never lifts %s',
    (line) => {
      expect(decideSshCommand(line, [rule('ssh', 'allow', 'frobtool', { more: 'any' })]).decision.effect).toBe('deny');
    },
  );

  it('lets the stricter rule win over the built-in ones and over an allowing one', () => {
    expect(decideSshCommand('uptime', [rule('ssh', 'deny', 'uptime')]).decision).toMatchObject({
      effect: 'deny',
      rules: expect.arrayContaining(['user.mine']),
    });
    expect(decideSshCommand('df -h', [rule('ssh', 'ask', 'df', { more: 'any' })])).toMatchObject({
      decision: { effect: 'ask' },
      canonical: 'df -h',
    });
    expect(decideSshCommand('x', [rule('ssh', 'allow', 'x'), rule('ssh', 'deny', 'x', { id: 'other' })]).decision.effect).toBe('deny');
  });

  it('looks only at rules of its own surface', () => {
    expect(decideSshCommand('x', [rule('workspace_command', 'allow', 'x')]).decision.effect).toBe('deny');
  });
});

describe('the schema', () => {
  it.each([
    { id: 'X', surface: 'ssh', effect: 'allow', program: 'x', justification: 'y', match: ['x'] },
    { id: 'x', surface: 'path', effect: 'allow', program: 'x', justification: 'y', match: ['x'] },
    { id: 'x', surface: 'ssh', effect: 'permit', program: 'x', justification: 'y', match: ['x'] },
    { id: 'x', surface: 'ssh', effect: 'allow', program: 'x y', justification: 'y', match: ['x'] },
    { id: 'x', surface: 'ssh', effect: 'allow', program: 'x', justification: '', match: ['x'] },
    { id: 'x', surface: 'ssh', effect: 'allow', program: 'x', justification: 'y', match: [] },
    { id: 'x', surface: 'ssh', effect: 'allow', program: 'x', justification: 'y', match: ['x'], regex: '.*' },
  ])('refuses %j', (raw) => {
    expect(userRuleSchema.safeParse(raw).success).toBe(false);
  });
});

describe('the examples of a rule', () => {
  const base = {
    id: 'mine',
    surface: 'ssh',
    effect: 'allow',
    program: 'frobtool',
    args: ['-S'],
    more: 'any',
    justification: 'because',
  } as const;

  it('must agree with it', () => {
    expect(
      userRulesSchema.safeParse([
        {
          ...base,
          match: ['frobtool -S eth0', 'frobtool -S "eth 0"'],
          notMatch: ['frobtool eth0', 'frobtool -K x', '/sbin/frobtool -S x'],
        },
      ]).success,
    ).toBe(true);
    expect(messages([{ ...base, match: ['frobtool eth0'] }])).toEqual(['rule `mine`: its example `frobtool eth0` does not fall under it']);
    expect(messages([{ ...base, match: ['frobtool -S x; reboot'] }])).toHaveLength(1);
    expect(messages([{ ...base, match: ['frobtool -S'], notMatch: ['frobtool -S x'] }])).toEqual([
      'rule `mine`: `frobtool -S x` falls under it, against its `notMatch`',
    ]);
  });

  it('belong to rules with names of their own', () => {
    const twice = { ...base, match: ['frobtool -S'] };
    expect(messages([twice, twice])).toEqual(['two rules are named `mine`']);
  });

  function messages(rules: readonly unknown[]): readonly string[] {
    return userRulesSchema.safeParse(rules).error?.issues.map((issue) => issue.message) ?? [];
  }
});
