import { describe, expect, it } from 'vitest';
import { describeTools } from '#app/catalog';
import { permits } from '#app/for-hosts';
import { tokensOf } from '#hosts/vscode/participant/conversation';
import { type Circumstances, offerFor, simpleTools } from '#hosts/vscode/participant/offer';
import { here } from './scripted.ts';

const tools = describeTools();
const byName = new Map(tools.map((tool) => [tool.name, tool]));
const offered = (more: Partial<Circumstances> = {}) => offerFor(tools, { ...here, ...more });
const namesIn = (more: Partial<Circumstances> = {}) => offered(more).tools.map(({ name }) => name.replace('banksman_', ''));

describe('the tools that a model is shown', () => {
  it.each(['basic', 'intermediate', 'advanced'] as const)(
    'are none that the tier %s may not use, and none that is always refused',
    (tier) => {
      for (const name of namesIn({ tier, room: 1_000_000 })) {
        const tool = byName.get(name);
        if (name === 'more_tools') continue;
        expect(permits(tier, tool?.permission ?? 'data:write'), name).toBe(true);
        expect(tool?.tier, name).not.toBe('black');
      }
    },
  );

  it('are fewer for a small model, with less to say of each', () => {
    const [small, large] = [offered({ tier: 'basic' }), offered()];
    expect(small.tools.map(({ name }) => name)).toEqual(simpleTools.map((name) => `banksman_${name}`));
    expect(large.tools.length).toBeGreaterThan(30);
    const texts = JSON.stringify(small.tools);
    expect(tokensOf(texts)).toBeLessThan(1_200);
    const [vms] = small.tools.filter(({ name }) => name === 'banksman_get_vms');
    expect(Object.keys(vms?.inputSchema['properties'] ?? {})).toEqual(['filter']);
  });

  it('are all ones that a small model may use, in the list for it', () => {
    for (const name of simpleTools) {
      const tool = byName.get(name);
      expect(tool, name).toBeDefined();
      expect(permits('basic', tool?.permission ?? 'data:write'), name).toBe(true);
      expect(tool?.tier, name).toBe('green');
    }
  });

  it('have those in front that the question is about', () => {
    expect(namesIn({ tier: 'basic', first: ['propose_plan', 'check_plan'] }).slice(0, 2)).toEqual(['propose_plan', 'check_plan']);
  });

  it.each(['basic', 'intermediate', 'advanced'] as const)('change nothing where one may only look, for the tier %s', (tier) => {
    const { tools: list, meaning } = offered({ tier, looksOnly: true });
    const green = list.flatMap(({ name }) => byName.get(name.replace('banksman_', '')) ?? []).every((tool) => tool.tier === 'green');
    expect(green).toBe(true);
    for (const name of ['stop_vm', 'run_plan', 'run_command', 'write_file', 'set_tags', 'delete_guest'])
      expect(meaning(`banksman_${name}`, { vmid: 100 })).toHaveProperty('outcome.code', 'unknown_tool');
    expect(meaning('banksman_more_tools', { tool: 'delete_guest', arguments: { vmid: 100 } })).not.toHaveProperty('run');
  });

  it('are none for a cluster where there is none, and none for files where no folder is open', () => {
    const groups = (more: Partial<Circumstances>) => new Set(namesIn(more).map((name) => byName.get(name)?.group));
    expect(groups({ clusters: 0 })).not.toContain('cluster');
    expect(groups({ hasWorkspace: false })).not.toContain('workspace');
    expect(namesIn({ clusters: 0, hasWorkspace: false, tier: 'basic' })).toEqual(['list_pending_approvals']);
  });

  it.each([2_000, 4_096, 8_192, 32_768, 128_000])('take a quarter of a model with %d tokens at most, and the rest is reached', (room) => {
    const { tools: list, meaning } = offered({ room });
    const own = list.filter(({ name }) => name !== 'banksman_more_tools');
    expect(own.length).toBeGreaterThan(0);
    expect(own.reduce((sum, tool) => sum + tokensOf(JSON.stringify(tool)), 0)).toBeLessThanOrEqual(Math.max(room / 4, 400));
    expect(meaning('banksman_stop_vm', { vmid: 100 })).toHaveProperty('run.name', 'stop_vm');
    expect(meaning('banksman_more_tools', { tool: 'set_tags', arguments: { vmid: 100, tags: [] } })).toHaveProperty('run.name', 'set_tags');
  });

  it('answer to their names with and without the prefix', () => {
    const { meaning } = offered();
    expect(meaning('get_vms', {})).toHaveProperty('run.name', 'get_vms');
    expect(meaning('banksman_get_vms', {})).toHaveProperty('run.name', 'get_vms');
    expect(meaning('banksman_', {})).toHaveProperty('outcome.code', 'unknown_tool');
    expect(meaning('banksman_apply_plan', {})).toHaveProperty('outcome.code', 'unknown_tool');
  });
});
