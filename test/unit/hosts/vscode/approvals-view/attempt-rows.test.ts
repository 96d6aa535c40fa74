import { describe, expect, it } from 'vitest';
import { attemptRows, unknownAttempts } from '#hosts/vscode/approvals-view/problem-rows';
import type { AttemptView } from '#kernel/attempt';

const attempt: AttemptView = {
  ...{ call: 'c-1', standing: 'unknown', tool: 'set_guest_config', agent: 'mcp:a\u202e', targets: ['100 on demo'] },
  ...{ begunAt: '2026-11-26T10:00:00.000Z', requestId: 'req-0123abcd', message: 'its process ended', next: 'look at the guest' },
};

describe('calls whose outcome is unknown', () => {
  it('are rows that name the call, what is known and what to look at', () => {
    const [row] = attemptRows([attempt]);
    expect(row).toMatchObject({
      label: 'Outcome unknown: set_guest_config',
      command: { command: 'banksman.seenAttempt', arguments: ['c-1'] },
    });
    expect(row?.description).toContain('100 on demo');
    expect(row?.description).not.toContain('\u202e');
    expect(row?.tooltip.split('\n')).toEqual([
      expect.stringContaining('begun 2026-11-26T10:00:00.000Z, request req-0123abcd'),
      'its process ended',
      'look at the guest',
      'Select to mark it as seen.',
    ]);
  });

  it('are none where the store cannot be read, and what runs is none', async () => {
    const running: AttemptView = { ...attempt, call: 'c-2', standing: 'running' };
    const seen = async () => ({ ok: true, message: '' });
    expect(await unknownAttempts({ attempts: { list: async () => [attempt, running], seen } })).toEqual([attempt]);
    expect(await unknownAttempts({ attempts: { list: () => Promise.reject(new Error('away')), seen } })).toEqual([]);
  });
});
