/** The page *Policy* as text: its columns, each cell with its reason, and nothing from outside as markup. */
import { describe, expect, it } from 'vitest';
import { type PolicyFacts, policyMarkup } from '#hosts/vscode/policy/policy-page';
import { allow, deny } from '#kernel/decision';
import type { PolicyMatrix } from '#kernel/policy-view';

const cells = (['relaxed', 'balanced', 'strict'] as const).map((level) => ({
  level,
  decision: allow('allowed', 'it runs'),
  stage: 'classify',
}));
const matrix: PolicyMatrix = {
  agent: { id: 'chat:any', host: 'chat', modelTier: 'advanced' },
  level: 'balanced',
  limits: [],
  scopes: [
    { name: 'gentle', agents: ['host:chat'], isOwn: true },
    { name: '<b>', agents: ['mcp:*'], isOwn: false },
  ],
  rows: [
    {
      ...({
        tool: 'stop_vm',
        title: 'Stop a VM',
        group: 'cluster',
        tier: 'red',
        impact: 'disruptive',
        permission: 'cluster:operate',
        cells,
      } as const),
      scopes: [deny('out_of_scope', 'more than it lets', ['scopes.gentle']), allow('in_scope', 'at most <all>', ['scopes.<b>'])],
    },
    {
      ...({ tool: 'get_vms', title: 'List', group: 'cluster', tier: 'green', impact: 'none', permission: 'data:read', cells } as const),
      scopes: [allow('not_bound', 'it changes no cluster'), allow('not_bound', 'it changes no cluster')],
    },
  ],
};
const facts: PolicyFacts = {
  form: { agent: 'chat:any', tier: 'advanced', group: '', tool: 'stop_vm', input: '{}', level: '', since: '' },
  ...{ tools: [], matrix, answer: undefined, settings: undefined, puts: 0, replay: undefined },
};

describe('the matrix', () => {
  it('has a column for each scope beside the levels, and says whom it holds', () => {
    const { matrix: drawn } = policyMarkup(facts);
    const heads = [...drawn.matchAll(/<th scope="col">(.*?)<\/th>/gs)].map(([, head = '']) =>
      head.replaceAll(/<.*?>/g, ' ').replaceAll(/\s+/g, ' '),
    );
    expect(heads).toEqual([
      ...['Tool', 'Tier, impact', 'relaxed', 'balanced (now)', 'strict'],
      ...['Scope gentle host:chat: holds this agent ', 'Scope &lt;b&gt; mcp:*: not this agent '],
    ]);
  });

  it('gives each cell of a scope its reason', () => {
    const { matrix: drawn } = policyMarkup(facts);
    const [stop = '', list = ''] = drawn.split('<tr><th scope="row">').slice(1);
    expect(stop).toMatch(/data-title="Scope gentle".*to-deny">refused<.*more than it lets.*scopes\.gentle/s);
    expect(stop).toMatch(/class="others".*to-allow">passes<.*at most &lt;all&gt;/s);
    expect(list.match(/not held/g)).toHaveLength(2);
    expect(list).toContain('it changes no cluster');
  });
});
