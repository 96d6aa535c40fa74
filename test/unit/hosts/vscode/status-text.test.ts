import { describe, expect, it } from 'vitest';
import { agentsText, type StatusFacts, statusText } from '#hosts/vscode/status-text';

const app: NonNullable<StatusFacts['app']> = {
  securityLevel: 'balanced',
  sandboxState: () => ({ state: 'unavailable', reason: 'no run_command' }),
  storeLocation: '/home/a_b/banksman.db',
  config: { approvalWait: { editor: 1, mcp: 1, cli: 1 }, defaultModelTier: 'basic', hookModelTier: 'basic', workspaceRoot: '/' },
};
const calm: StatusFacts = { state: 'ready', pending: 0, app, bypasses: [], alarms: [] };

describe('statusText', () => {
  it('says who paused all agents, without letting their words be markup', () => {
    const paused = { by: 'user:bob', at: 1_800_000_000_000, reason: '[look](command:x)' };
    const { tooltip, spoken } = statusText({ ...calm, level: { level: 'balanced', from: 'configuration', paused } });
    expect(spoken).toMatch(/^Banksman: agents paused, security level balanced/);
    expect(tooltip).toMatch(/\| Agents \| \$\(debug-pause\) Paused by user\\:bob since /);
    expect(tooltip).not.toContain('[look](command:x)');
  });

  it('says what somebody did to approvals before all else', () => {
    const { text, tooltip, spoken, attention } = statusText({ ...calm, pending: 1, alarms: ['approvers: [x](command:y) counts'] });
    expect(text).toContain('$(alert) 1 alarm');
    expect(tooltip.split('\n\n')[1]).not.toContain('[x](');
    expect(spoken).toContain('1 alarm');
    expect(attention).toBe('error');
  });

  it('says with a service who answers, and which settings count for nothing', () => {
    const config = { ...app.config, answersAt: 'an approver answers at https://banksman.lan', unused: ['clusters', 'securityLevel'] };
    const { tooltip } = statusText({ ...calm, app: { ...app, config } });
    expect(tooltip).toContain('| Answers | an approver answers at');
    expect(tooltip).toContain('the service has its own');
  });

  it('shows no level while the service does not answer', () => {
    const { text, tooltip, spoken, attention } = statusText({ ...calm, pending: 2, app: { ...app, isAway: true } });
    expect(text).toBe('$(debug-disconnect) Banksman: no service');
    expect(`${text}${tooltip}${spoken}`).not.toContain('balanced');
    expect(tooltip).toContain('does not answer');
    expect(attention).toBe('error');
    expect(statusText({ ...calm, app: { ...app, isAway: false } }).text).toContain('balanced');
  });

  it('says level, sandbox and store', () => {
    const { text, tooltip, spoken, attention } = statusText(calm);
    expect(text).toBe('$(shield) Banksman: balanced $(unlock) no sandbox');
    expect(tooltip).toContain('| Sandbox | unavailable: no run\\_command |');
    expect(tooltip).toContain('a\\_b');
    expect(spoken).toBe('Banksman: security level balanced, no pending approvals, sandbox unavailable');
    expect(attention).toBe('none');
  });

  it.each([
    [1, '1 pending approval'],
    [3, '3 pending approvals'],
  ])('calls for attention while %d wait', (pending, words) => {
    const { text, spoken, attention } = statusText({ ...calm, pending });
    expect(text).toBe(`$(shield) Banksman: balanced $(bell-dot) ${pending} $(unlock) no sandbox`);
    expect(spoken).toContain(words);
    expect(attention).toBe('warning');
  });

  it.each([
    ['enforced', '$(shield) Banksman: balanced $(lock)'],
    ['degraded', '$(shield) Banksman: balanced $(unlock) degraded sandbox'],
  ] as const)('shows a sandbox that is %s', (state, text) => {
    const sandboxed = { ...app, sandboxState: () => ({ state, reason: 'probed' }) };
    expect(statusText({ ...calm, app: sandboxed }).text).toBe(text);
  });

  it('shows the level that counts, who set it, and one that does not count', () => {
    const set = statusText({ ...calm, level: { level: 'strict', from: 'store', by: 'user:al_ice' } });
    expect(set.text).toContain('Banksman: strict');
    expect(set.spoken).toContain('security level strict');
    expect(set.tooltip).toContain('| Level | strict (set by user\\:al\\_ice) |');
    const doubtful = statusText({ ...calm, level: { level: 'balanced', from: 'configuration', warning: 'nobody signed it' } });
    expect(doubtful.tooltip).toContain('| Level | balanced; $(warning) nobody signed it |');
  });

  it('warns when the editor’s confirmations are bypassed, and says what still holds', () => {
    const { text, tooltip, spoken } = statusText({ ...calm, bypasses: ['chat.permissions.default: autopilot'] });
    expect(text).toContain('$(warning)');
    expect(tooltip).toContain('chat\\.permissions\\.default\\: autopilot');
    expect(tooltip).toContain('still asks');
    expect(spoken).toContain('bypassed');
  });

  it.each(['bad_config', 'failed'] as const)('is an error when %s', (state) => {
    const { app: _, ...facts } = calm;
    expect(statusText({ ...facts, state })).toMatchObject({ text: '$(error) Banksman', attention: 'error' });
  });

  it('spins while starting', () => {
    const { app: _, ...facts } = calm;
    expect(statusText({ ...facts, state: 'starting' }).text).toContain('loading~spin');
  });
});

describe('the state of all agents', () => {
  it.each([
    [0, '$(play) Agents: running', /^Agents: running\. Select to pause all agents: in every window/],
    [1, '$(watch) Agents: 1 waiting', /^Agents: 1 waiting\. 1 request waits for a person\. Select to pause/],
    [3, '$(watch) Agents: 3 waiting', /3 requests wait for a person\. /],
  ])('while %d wait', (pending, text, spoken) => {
    const shown = agentsText(undefined, pending);
    expect(shown.text).toBe(text);
    expect(shown.spoken).toMatch(spoken);
  });

  it('paused says by whom and why, and that a click leads on, whatever waits', () => {
    const shown = agentsText({ by: 'user:bob', at: 1_800_000_000_000, reason: 'a \u202eb' }, 3);
    expect(shown.text).toBe('$(debug-pause) Agents: paused');
    expect(shown.spoken).toMatch(/^Agents: paused\. Paused by user:bob since .*: a .*Select to resume them\.$/);
    expect(shown.tooltip).not.toContain('\u202e');
  });
});
