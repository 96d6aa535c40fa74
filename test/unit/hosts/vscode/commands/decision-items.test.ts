import { expect, it } from 'vitest';
import { decisionItems, type TestedIn, testedItems } from '#hosts/vscode/commands/picks';

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

const sandboxed: TestedIn = {
  surface: 'workspace_command',
  level: 'balanced',
  sandbox: { state: 'enforced', reason: 'x', view: { judged: true } },
};
const textOf = (where: Partial<TestedIn>, effect: 'allow' | 'ask' | 'deny' = 'allow') => {
  const items = testedItems({ effect }, { ...sandboxed, ...where });
  return items.map(({ label, description = '', detail = '' }) => `${label} ${description} ${detail}`).join('\n');
};

it('says what follows an allow, and of nothing else', () => {
  expect(textOf({})).toMatch(/can be undone; changes that other programs obey wait for a person/);
  expect(textOf({ surface: 'readonly_bash' })).toContain('everything it changes is dropped');
  const noView: TestedIn['sandbox'] = { state: 'enforced', reason: 'x', view: { judged: false, reason: 'y', better: 'z' } };
  expect(textOf({ sandbox: noView })).toContain('counts at once and cannot be undone');
  expect(textOf({ sandbox: noView, surface: 'readonly_bash' })).toContain('it can only look');
  expect(textOf({ surface: 'ssh' }) + textOf({}, 'ask') + textOf({}, 'deny')).not.toMatch(/then|undone|dropped/);
});

it('says at which level it was judged, which counts here, and what the text does not decide', () => {
  expect(textOf({ level: 'strict' })).toMatch(/judged as at level balanced this window: strict .*at level strict each such call asks/);
  expect(textOf({ surface: 'path', op: 'read' })).not.toContain('each such call asks');
  expect(textOf({ surface: 'path', op: 'write' })).toContain('each such call asks');
});

it('says where no sandbox holds that every command asks all the same', () => {
  const sandbox: TestedIn['sandbox'] = { state: 'unavailable', reason: 'no bubblewrap' };
  expect(textOf({ sandbox })).toMatch(/sandbox is unavailable, so every command asks or is refused: no bubblewrap/);
  expect(textOf({ sandbox, surface: 'readonly_bash' })).not.toContain('only look');
  expect(textOf({ sandbox, surface: 'ssh' })).not.toContain('sandbox');
  expect(textOf({})).not.toContain('sandbox');
});
