import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { autoApproveActions } from '#kernel/approval/security';
import { allow, ask, type Decision, deny, strictest } from '#kernel/decision';
import type { Target } from '#kernel/resource';
import { asIs } from '#kernel/text/message';
import { actionTiers } from '#kernel/tiers';
import { type LiveRule, parseRulePattern, ruleSubject, settleByRules } from '#policy/auto-approve';
import { decideTier } from '#policy/classify';
import { liveRule } from '../../unit/policy/live-rules.ts';

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
  .map(([given, action]) => liveRule(given, action));

const asks: readonly Decision[] = [
  ask('network_blocked', asIs('x'), ['workspace.network']),
  ask('no_view', asIs('x'), ['workspace.no-view']),
  ask('confirmation_required', asIs('x'), ['user.mine']),
  ask('sandbox_not_enforced', asIs('x'), ['sandbox:unavailable']),
  ask('CONTROL_FILE', asIs('x'), ['path.control-files']),
  ask('SECRET_FILE', asIs('x'), ['path.secret-files']),
  ask('odd', asIs('x'), []),
];
const decision = fc.constantFrom(
  ...asks,
  allow('allowed', 'x', ['effects.judged']),
  deny('COMMAND_BLOCKED', 'x', ['workspace.own-command']),
);
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
  return strictest(settleByRules([decideTier(tool, 'yellow', level), ...own], ruleSubject(tool, 'yellow', [targetOf(tool, name)]), rules));
}
const isExact = ({ pattern }: LiveRule) => pattern.kind === 'tool' && pattern.glob !== undefined && !pattern.glob.includes('*');

describe('auto-approve rules', () => {
  it('a pattern’s canonical form is its own, and any text is read or refused', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          patternText,
          fc.string(),
          fc.string({ unit: 'binary' }).map((rest) => `destination:${rest}`),
        ),
        (given) => {
          const parsed = parseRulePattern(given, yellow);
          const again = parsed.ok ? parseRulePattern(parsed.pattern.text, yellow) : parsed;
          expect(again).toEqual(parsed);
        },
      ),
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
        const [before, after] = [settle(given, rules).effect, settle(given, [...rules, one]).effect];
        expect(settle(given, rules.toReversed()).effect).toBe(before);
        // One more `allow` never makes it stricter, one more of the others never looser.
        const [least, most] = one.action === 'allow' ? [after, before] : [before, after];
        expect(strictness[least]).toBeLessThanOrEqual(strictness[most]);
      }),
      { numRuns: 1_000 },
    );
  });

  it('change nothing for what is not yellow', () => {
    fc.assert(
      fc.property(
        call,
        fc.array(rule),
        fc.constantFrom(...actionTiers.filter((tier) => tier !== 'yellow')),
        ({ tool, name, own }, rules, tier) => {
          const decisions = [decideTier(tool, tier, 'strict'), ...own];
          expect(settleByRules(decisions, ruleSubject(tool, tier, [targetOf(tool, name)]), rules)).toBe(decisions);
        },
      ),
    );
  });

  it('a wildcard in a command stands for nothing that a shell acts on', () => {
    const meta = (given: string) => given.replace(/[A-Za-z0-9 _./:=@,+%*-]/g, '');
    fc.assert(
      fc.property(text, text, (glob, name) => {
        const parsed = parseRulePattern(`tool:run_command:${glob}`, yellow);
        fc.pre(parsed.ok);
        const lifted = settle({ tool: 'run_command', name, own: [] }, [{ pattern: parsed.pattern, action: 'allow' }]).effect === 'allow';
        expect(lifted && meta(name) !== meta(glob)).toBe(false);
      }),
      { numRuns: 2_000 },
    );
  });
});
