import { describe, expect, it } from 'vitest';
import { pointerAnswer, pointerKey, pointerTo } from '#hosts/mcp/call-tool';

describe('the pointer', () => {
  it('names the request and where to answer, and has nothing to fill in', () => {
    const { message, requestedSchema } = pointerTo('req-0a1b2c3d', 'Stop VM 100 (web) on pve');
    expect(message).toContain('Stop VM 100 (web) on pve');
    expect(message).toContain('banksman approvals show req-0a1b2c3d');
    expect(requestedSchema).toEqual({ type: 'object', properties: {} });
  });

  it('shows names from the cluster plainly', () => {
    const { message } = pointerTo('req-0a1b2c3d', 'Stop \u202eVM\n`rm -rf`\u200b');
    expect(message).not.toMatch(/[\u202e\u200b\n]/);
  });

  it('takes an answer as seen or dismissed, whatever is in it', () => {
    expect(pointerAnswer(undefined)).toBe('none');
    expect(pointerAnswer({ other: { action: 'accept' } })).toBe('none');
    expect(pointerAnswer({ [pointerKey]: { action: 'accept', content: { approved: true } } })).toBe('seen');
    expect(pointerAnswer({ [pointerKey]: { action: 'decline' } })).toBe('dismissed');
    expect(pointerAnswer({ [pointerKey]: {} })).toBe('dismissed');
    expect(pointerAnswer(Object.create({ [pointerKey]: { action: 'accept' } }) as Record<string, unknown>)).toBe('none');
  });
});
