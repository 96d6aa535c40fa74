import { describe, expect, it } from 'vitest';
import { modelTierOf, tierOfPicked } from '#identity/model-tier';
import { modelNames } from './model-names.ts';

describe('the tier of a model name', () => {
  it.each(modelNames)('`%s` is %s', (model, tier) => {
    expect(modelTierOf(model)).toBe(tier);
  });

  it('has a table of hundreds of names, each once', () => {
    expect(modelNames.length).toBeGreaterThanOrEqual(400);
    expect(new Set(modelNames.map(([name]) => name)).size).toBe(modelNames.length);
  });

  it.each([
    ['nothing', ''],
    ['a blank', ' '],
    ['ten thousand letters', 'x'.repeat(10_000)],
    ['a known name with ten thousand letters behind it', `gpt-4-${'x'.repeat(10_000)}`],
    ['a known name, thousands of times', 'gpt-4-'.repeat(2_000)],
    ['a line break', 'gpt-4\nclaude-3-opus'],
    ['a NUL', 'gpt-4\u0000'],
    ['a Kelvin sign, whose lower case is k', 'gro\u212a-2'],
  ])('%s is basic', (_what, model) => {
    expect(modelTierOf(model)).toBe('basic');
  });

  it('does not mind case or white space around it', () => {
    expect(modelTierOf('  GPT-4  ')).toBe('advanced');
  });
});

describe('the tier of a model that a person picked', () => {
  it.each([
    ['the first name that is known', ['claude-opus-4', 'gpt-4o'], 'advanced', 'advanced'],
    ['never above what is configured', ['claude-opus-4'], 'intermediate', 'intermediate'],
    ['never above what is configured', ['claude-opus-4'], 'basic', 'basic'],
    ['the second name where the first is only a number', ['4f1d', 'gpt-4o'], 'advanced', 'advanced'],
    ['small where the id says so, whatever the family', ['llama3.2:3b', 'gpt-4o'], 'advanced', 'basic'],
    ['basic where no name is known', ['my-model', 'MyProvider'], 'advanced', 'basic'],
    ['basic where there is none', [], 'advanced', 'basic'],
    ['basic of one that is only named like a large one', ['fake-claude-opus-4', 'somebody/gpt-4'], 'advanced', 'basic'],
  ] as const)('is %s: %j', (_why, names, configured, tier) => {
    expect(tierOfPicked(names, configured)).toBe(tier);
  });

  it('is what it is told where no name is known, and not above what is configured either', () => {
    expect(tierOfPicked(['auto', 'auto'], 'intermediate', 'intermediate')).toBe('intermediate');
    expect(tierOfPicked(['auto'], 'intermediate', 'advanced')).toBe('intermediate');
    expect(tierOfPicked(['llama3.2:3b'], 'intermediate', 'intermediate')).toBe('basic');
  });
});
