import { expect, it } from 'vitest';
import { decisionItems } from '#hosts/vscode/commands/decision-items';

it('says the decision, its reason and the rules behind it', () => {
  const items = decisionItems({ effect: 'deny', code: 'command_blocked', reason: '`rm` removes $(x)', rules: ['ws.rm', 'ws.default'] });
  expect(items).toEqual([
    { label: '$(circle-slash) deny', description: 'command_blocked', detail: '`rm` removes $(x)'.replace('$(x)', '\\$(x)') },
    { label: '$(law) ws.rm', description: 'the rule that decided' },
    { label: '$(law) ws.default', description: 'also applied' },
  ]);
});

it('says so where no rule matched', () => {
  expect(decisionItems({ effect: 'allow', code: 'ok', reason: 'fine', rules: [] })[1]?.label).toBe('$(law) no rule');
});
