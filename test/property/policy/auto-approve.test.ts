import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { allow, ask, type Decision, deny, strictest } from '#kernel/decision';
import type { Target } from '#kernel/resource';
import { autoApproveActions } from '#kernel/security';
import { actionTiers } from '#kernel/tiers';
import { type LiveRule, parseRulePattern, ruleSubject, settleByRules } from '#policy/auto-approve';
import { classify } from '#policy/classify';

const yellow = ['write_file', 'run_command'];
const strictness = { allow: 0, ask: 1, deny: 2 } as const;

const word = fc.constantFrom('npm', 'ci', 'run', 'build', 'src', 'a', '*', '**', '/', ' ', ';', '$(', '`', '|', '&', '"', '.', '-');
const text = fc.array(word, { minLength: 1, maxLength: 6 }).map((words) => words.join(''));
const patternText = fc.oneof(
  fc.tuple(fc.constantFrom(...yellow), text).map(([tool, glob]) => `tool:${tool}:${glob}`),
  fc.constantFrom(...yellow).map((tool) => `tool:${tool}`),
  fc.constantFrom('destination:.b.c', 'destination:a.b.c', 'destination:x.y:443'),
);
const rule: fc.Arbitrary<LiveRule> = fc
  .tuple(patternText, fc.constantFrom(...autoApproveActions))
  .filter(([given]) => parseRulePattern(given, yellow).ok)
  .map(([given, action]) => {
    const parsed = parseRulePattern(given, yellow);
    return parsed.ok ? { pattern: parsed.pattern, action } : expect.fail(given);
  });

const asks: readonly Decision[] = [
  ask('network_blocked', 'x', ['workspace.network-blocked']),
  ask('unknown_program', 'x', ['workspace.unknown-program']),
  ask('unclear', 'x', ['workspace.unclear']),
  ask('sandbox_not_enforced', 'x', ['sandbox:unavailable']),
  ask('CONTROL_FILE', 'x', ['path.control-files']),
  ask('SECRET_FILE', 'x', ['path.secret-files']),
  ask('odd', 'x', []),
];
const decision = fc.constantFrom(...asks, allow('allowed', 'x', ['workspace.known-tools']), deny('COMMAND_BLOCKED', 'x', ['workspace.gate']));
const call = fc.record({
  tool: fc.constantFrom(...yellow),
  name: fc.oneof(text, fc.constantFrom('npm ci', 'src/a', 'curl https://a.b.c/', 'x ssh://x.y:443/')),
  own: fc.array(decision, { maxLength: 3 }),
});

function targetOf(tool: string, name: string): Target {
  if (tool === 'write_file') return { kind: 'path', access: 'operate', path: name, real: name };
  return { kind: 'command', access: 'operate', surface: 'workspace_command', text: name };
}
interface Given {
  readonly tool: string;
  readonly name: string;
  readonly own: readonly Decision[];
}
function settle({ tool, name, own }: Given, rules: readonly LiveRule[], level: 'balanced' | 'strict' = 'strict'): Decision {
  return strictest(settleByRules([classify(tool, 'yellow', level), ...own], ruleSubject(tool, 'yellow', [targetOf(tool, name)]), rules));
}
const isExact = ({ pattern }: LiveRule) => pattern.kind === 'tool' && pattern.glob !== undefined && !pattern.glob.includes('*');

describe('auto-approve rules', () => {
  it('a pattern’s canonical form is its own, and any text is read or refused', () => {
    fc.assert(
      fc.property(fc.oneof(patternText, fc.string(), fc.string({ unit: 'binary' }).map((rest) => `destination:${rest}`)), (given) => {
        const parsed = parseRulePattern(given, yellow);
        if (parsed.ok) expect(parseRulePattern(parsed.pattern.text, yellow)).toEqual(parsed);
        else expect(parsed.why).toMatch(/\w/);
      }),
      { numRuns: 500 },
    );
  });

  it('never make of a refusal anything else, nor of an ask that is not theirs to lift', () => {
    const never = ['unclear', 'sandbox_not_enforced', 'SECRET_FILE', 'odd'];
    fc.assert(
      fc.property(call, fc.array(rule, { maxLength: 6 }), (given, rules) => {
        const { effect } = settle(given, rules);
        if (given.own.some((one) => one.effect === 'deny')) expect(effect).toBe('deny');
        if (given.own.some((one) => never.includes(one.code))) expect(effect).not.toBe('allow');
      }),
      { numRuns: 1_000 },
    );
  });

  it('with a wildcard, let nothing run that level balanced would not run by itself', () => {
    fc.assert(
      fc.property(call, fc.array(rule, { maxLength: 6 }), (given, rules) => {
        const wide = rules.filter((one) => !isExact(one));
        expect(strictness[settle(given, wide).effect]).toBeGreaterThanOrEqual(strictness[settle(given, [], 'balanced').effect]);
      }),
      { numRuns: 1_000 },
    );
  });

  it('count whatever order they stand in, and a stricter one more never loosens', () => {
    fc.assert(
      fc.property(call, fc.array(rule, { maxLength: 6 }), rule, (given, rules, one) => {
        const { effect } = settle(given, rules);
        expect(settle(given, rules.toReversed()).effect).toBe(effect);
        if (one.action !== 'allow') expect(strictness[settle(given, [...rules, one]).effect]).toBeGreaterThanOrEqual(strictness[effect]);
        if (one.action === 'allow') expect(strictness[settle(given, [...rules, one]).effect]).toBeLessThanOrEqual(strictness[effect]);
      }),
      { numRuns: 1_000 },
    );
  });

  it('change nothing for what is not yellow', () => {
    fc.assert(
      fc.property(call, fc.array(rule), fc.constantFrom(...actionTiers.filter((tier) => tier !== 'yellow')), ({ tool, name, own }, rules, tier) => {
        const decisions = [classify(tool, tier, 'strict'), ...own];
        expect(settleByRules(decisions, ruleSubject(tool, tier, [targetOf(tool, name)]), rules)).toBe(decisions);
      }),
    );
  });

  it('a wildcard in a command stands for nothing that a shell acts on', () => {
    const meta = (given: string) => [...given].filter((char) => /[^A-Za-z0-9 _./:=@,+%*-]/.test(char)).join('');
    fc.assert(
      fc.property(text, text, (glob, name) => {
        const parsed = parseRulePattern(`tool:run_command:${glob}`, yellow);
        fc.pre(parsed.ok);
        const lifted = settle({ tool: 'run_command', name, own: [] }, [{ pattern: parsed.pattern, action: 'allow' }]).effect === 'allow';
        if (lifted) expect(meta(name)).toBe(meta(glob));
      }),
      { numRuns: 2_000 },
    );
  });
});
