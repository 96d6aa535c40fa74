import { describe, expect, it } from 'vitest';
import { type StatusFacts, statusText } from '#hosts/vscode/status-text';

const app: NonNullable<StatusFacts['app']> = {
  securityLevel: 'balanced',
  sandboxState: () => ({ state: 'unavailable', reason: 'no run_command' }),
  storeLocation: '/home/a_b/banksman.db',
};
const calm: StatusFacts = { state: 'ready', pending: 0, app, bypasses: [] };

describe('statusText', () => {
  it('says level, sandbox and store', () => {
    const { text, tooltip, spoken, attention } = statusText(calm);
    expect(text).toBe('$(shield) Banksman: balanced');
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
    expect(text).toBe(`$(shield) Banksman: balanced $(bell-dot) ${pending}`);
    expect(spoken).toContain(words);
    expect(attention).toBe('warning');
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
