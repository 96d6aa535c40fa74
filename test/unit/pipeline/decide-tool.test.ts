/** What is said of a tool before anybody knows its arguments: the same answers that the stages give a call. */
import { describe, expect, it } from 'vitest';
import { allTools, catalog } from '#app/catalog';
import type { Agent } from '#kernel/agent';
import { modelTiers, securityLevels } from '#kernel/tiers';
import type { Tool } from '#kernel/tool';
import { decideTool } from '#pipeline/decide-call';
import type { PolicySettings } from '#pipeline/deps';
import { scopesOfTools, toolScopeDecision } from '#pipeline/limits';

const agent = (modelTier: Agent['modelTier'] = 'advanced', host: Agent['host'] = 'chat'): Agent => ({ id: 'chat:0f3a', host, modelTier });
const settings = { securityLevel: 'balanced', scopes: [], tiers: {} } as const;
const toolNamed = (name: string): Tool => {
  const tool = allTools.find((one) => one.name === name);
  if (tool === undefined) throw new Error(`no tool ${name}`);
  return tool;
};

describe('a tool for an agent', () => {
  const each = catalog.flatMap((tool) =>
    modelTiers.flatMap((model) => securityLevels.map((securityLevel) => ({ tool, model, securityLevel }))),
  );
  const effectsOf = (kept: (tool: Tool) => boolean, level?: string) =>
    each
      .filter(({ tool, securityLevel }) => kept(tool) && (level === undefined || level === securityLevel))
      .map(({ tool, model, securityLevel }) => decideTool(tool, agent(model), { ...settings, securityLevel }).decision.effect);

  it('is never more than its tier lets it be, at any level and for any model', () => {
    expect(new Set(effectsOf(({ tier }) => tier === 'black'))).toEqual(new Set(['deny']));
    expect(new Set(effectsOf(({ tier }) => tier === 'red'))).toEqual(new Set(['ask', 'deny']));
    expect(new Set(effectsOf(({ tier, onGrant }) => tier === 'yellow' && onGrant !== true, 'strict'))).toEqual(new Set(['ask', 'deny']));
    expect(new Set(effectsOf(({ tier }) => tier === 'green'))).toEqual(new Set(['allow']));
  });

  it('names the stage that decides: the model, a scope, a pause', () => {
    const stop = toolNamed('stop_vm');
    expect(decideTool(stop, agent('basic'), settings)).toMatchObject({ stage: 'authorize', decision: { code: 'model_tier_too_low' } });
    const scopes = [{ name: 'gentle', agents: ['host:chat'], impact: 'reversible', reason: 'it is new' }] as const;
    expect(decideTool(stop, agent(), { ...settings, scopes })).toMatchObject({
      ...{ stage: 'scope', decision: { code: 'out_of_scope', rules: ['scopes.gentle'] } },
    });
    expect(decideTool(stop, agent(), { ...settings, scopes }).decision.reason).toContain('it is new');
    const paused = { by: 'user:ada', at: 1, reason: 'the shop is down' };
    expect(decideTool(stop, agent(), { ...settings, paused })).toMatchObject({ stage: 'pause', decision: { effect: 'deny' } });
    expect(decideTool(stop, agent('advanced', 'palette'), { ...settings, paused })).toMatchObject({
      stage: 'classify',
      decision: { effect: 'ask' },
    });
    expect(decideTool(toolNamed('get_vms'), agent(), { ...settings, paused, scopes })).toMatchObject({ decision: { effect: 'allow' } });
  });

  it('counts configured tiers, and asks for no second grant', () => {
    expect(decideTool(toolNamed('execute_ssh'), agent(), { ...settings, tiers: { execute_ssh: 'red' } }).decision.effect).toBe('ask');
    expect(decideTool(toolNamed('run_plan'), agent(), { ...settings, securityLevel: 'strict' }).decision.effect).toBe('allow');
  });
});

describe('scopes beside each tool', () => {
  const scopes = [
    { name: 'gentle', agents: ['host:chat'], impact: 'reversible', reason: 'it is new' },
    { name: 'nights', agents: ['mcp:ci*'], changesPerDay: 2, only: { tags: ['dev'] }, reason: 'it is slow' },
  ] as const;
  const deps = {
    // Sound: no other settings are looked at.
    settings: { ...settings, scopes } as unknown as PolicySettings,
    audit: { changesSince: async () => [['mcp:ci-7', 2]] as const },
    clock: { now: () => 0, sleep: async () => undefined },
  };

  it('say whom they name, and to those what they would be told, whatever the call is about', async () => {
    const columns = await scopesOfTools(agent(), deps);
    expect(columns.scopes).toEqual([
      { name: 'gentle', agents: ['host:chat'], isOwn: true },
      { name: 'nights', agents: ['mcp:ci*'], isOwn: false },
    ]);
    const [gentle, nights] = columns.answers(toolNamed('stop_vm'));
    expect(gentle).toMatchObject({ effect: 'deny', code: 'out_of_scope', rules: ['scopes.gentle'] });
    expect(nights).toMatchObject({ effect: 'deny', code: 'over_budget' });
    expect(columns.answers(toolNamed('execute_ssh'))[1]).toMatchObject({
      effect: 'allow',
      reason: expect.stringContaining('2 of 2 changes'),
    });
    expect(columns.answers(toolNamed('get_vms'))).toMatchObject([{ code: 'not_bound' }, { code: 'not_bound' }]);
  });

  it('refuse a tool exactly where the stages refuse it to an agent that one of them names', async () => {
    for (const tool of catalog) {
      const { answers } = await scopesOfTools(agent(), { ...deps, audit: { changesSince: async () => [] } });
      const own = toolScopeDecision(tool, agent(), { ...settings, scopes });
      expect([tool.name, answers(tool)[0]?.effect]).toEqual([tool.name, own.effect]);
    }
  });
});
