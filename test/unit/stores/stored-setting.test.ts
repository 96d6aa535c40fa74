import { describe, expect, it } from 'vitest';
import { isStorablePattern, levelFrom, ruleFrom, settingText } from '../../../src/stores/stored-setting.ts';
import { levelSetting, ruleSetting } from '../../integration/stores/request-fixtures.ts';

const now = 1_800_000_000_000;

describe('a stored level', () => {
  it('is what was written', () => {
    expect(levelFrom(settingText(levelSetting('relaxed', now)))).toEqual({ signed: levelSetting('relaxed', now) });
  });

  it.each([
    ['balanced', 'balanced'],
    ['"relaxed"', 'relaxed'],
    [' strict\n', 'strict'],
  ])('%j, by hand, counts as unsigned', (text, level) => {
    expect(levelFrom(text)).toEqual({ unsigned: level });
  });

  it.each([
    '',
    'Balanced',
    'null',
    '{}',
    '[]',
    '1',
    '{"payload":{"level":"relaxed"}}',
    JSON.stringify({ ...levelSetting('relaxed', now), extra: 1 }),
    JSON.stringify(ruleSetting('destination:a', 'allow', now)),
    '{"__proto__":{"payload":1}}',
  ])('%j is none, and counts as the strictest', (text) => {
    expect(levelFrom(text)).toEqual({ unsigned: 'strict', damaged: true });
  });
});

describe('a stored rule', () => {
  const rule = ruleSetting('destination:a', 'allow', now, { lifeMs: 1000 });

  it('is what was written, until its time is over', () => {
    expect(ruleFrom('destination:a', settingText(rule), now + 999)).toEqual({ pattern: 'destination:a', signed: rule });
    expect(ruleFrom('destination:a', settingText(rule), now + 1000)).toBeUndefined();
  });

  it.each(['allow', 'prompt', 'block'])('%s, by hand, counts as unsigned', (action) => {
    expect(ruleFrom('destination:a', action, now)).toEqual({ pattern: 'destination:a', unsigned: action });
    expect(ruleFrom('destination:a', JSON.stringify(action), now)).toEqual({ pattern: 'destination:a', unsigned: action });
  });

  it.each(['', 'yes', '{}', 'null', settingText(levelSetting('relaxed', now))])('%j is none, and counts as `block`', (text) => {
    expect(ruleFrom('destination:a', text, now)).toEqual({ pattern: 'destination:a', unsigned: 'block', damaged: true });
  });

  it('that was moved under another pattern is no rule for it', () => {
    expect(ruleFrom('destination:*', settingText(rule), now)).toEqual({ pattern: 'destination:*', unsigned: 'block', damaged: true });
    expect(ruleFrom('destination:*', settingText(rule), now + 5000)).toEqual({
      pattern: 'destination:*',
      unsigned: 'block',
      damaged: true,
    });
  });
});

describe('a pattern', () => {
  it.each(['destination:.example.com', 'tool:write_file:src/**/*.ts', 'tool:run_command:npm test', 'x', 'ünï:☃'])(
    '%j can be stored',
    (text) => {
      expect(isStorablePattern(text)).toBe(true);
    },
  );

  it.each(['', 'a\r\nb', 'a\u0000', '\u001b[2J', 'a\u202eb', 'a\u200bb', 'a\u2028b', '\ud800', 'p'.repeat(301)])('%j cannot', (text) => {
    expect(isStorablePattern(text)).toBe(false);
    expect(() => settingText(ruleSetting(text, 'allow', now))).toThrow(expect.objectContaining({ code: 'bad_setting' }));
  });
});
