import { describe, expect, it } from 'vitest';
import { describeTools } from '#app/catalog';
import { fromDrawer } from '#app/short-list';
import { languageModelToolContributions, mostTools } from '#hosts/vscode/contributes/language-model-tools';

const tools = describeTools();
const rare = tools.filter((tool) => tool.rare === true);

describe('the tool that holds the rare ones', () => {
  it.each(rare)('calls $name with its arguments, untouched', (tool) => {
    const input = { vmid: 100, confirmed: true };
    expect(fromDrawer({ tool: tool.name, arguments: input }, { inside: rare })).toEqual({ run: tool, input });
  });

  it('says what a tool takes where no arguments are given', () => {
    expect(fromDrawer({ tool: 'reset_vm' }, { inside: rare })).toMatchObject({
      outcome: {
        status: 'ok',
        message: expect.stringContaining('Reset a running'),
        result: { properties: { vmid: {} }, required: ['vmid'] },
      },
    });
  });

  it('tells all of a tool that is offered with less, and does not run it', () => {
    const offered = tools.filter((tool) => tool.rare !== true);
    const [stop] = tools.filter(({ name }) => name === 'stop_vm');
    expect(fromDrawer({ tool: 'stop_vm' }, { inside: rare, offered })).toMatchObject({
      outcome: { status: 'ok', message: expect.stringContaining(stop?.description ?? 'none'), result: stop?.inputSchema },
    });
    const run = fromDrawer({ tool: 'stop_vm', arguments: { vmid: 100 } }, { inside: rare, offered });
    expect(run).toMatchObject({ outcome: { status: 'error', message: expect.stringContaining('by its name') } });
  });

  it.each([
    ['a tool with a name of its own', { tool: 'stop_vm', arguments: { vmid: 100 } }],
    ['an internal one', { tool: 'apply_held', arguments: {} }],
    ['none', {}],
    ['an inherited name', { tool: 'constructor' }],
    ['another argument', { tool: 'reset_vm', arguments: {}, confirmed: true }],
    ['a text', 'reset_vm'],
  ])('refuses %s', (_what, input) => {
    expect(fromDrawer(input, { inside: rare })).toMatchObject({ outcome: { status: 'error', code: 'invalid_input' } });
  });
});

it('the editor is offered at most 48 tools, and every tool of the catalog is reached in one way', () => {
  const offered = languageModelToolContributions(tools);
  expect(offered.length).toBeLessThanOrEqual(mostTools);
  const direct = offered.map((tool) => tool.name.replace(/^banksman_/, '')).filter((name) => name !== 'more_tools');
  expect([...direct, ...rare.map((tool) => tool.name)].toSorted()).toEqual(tools.map((tool) => tool.name).toSorted());
  const [tool] = tools;
  const many = Array.from({ length: 49 }, () => tool as NonNullable<typeof tool>);
  expect(() => languageModelToolContributions(many)).toThrow('mark some as `rare`');
});
