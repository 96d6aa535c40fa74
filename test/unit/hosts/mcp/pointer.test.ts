import { describe, expect, it } from 'vitest';
import { pointerKey, pointerTo, wasShown } from '#hosts/mcp/call-tool';

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

  it('has been shown once a client brings back any answer to it, whatever is in that', () => {
    expect(wasShown(undefined)).toBe(false);
    expect(wasShown({ other: { action: 'accept' } })).toBe(false);
    for (const answer of [{ action: 'accept', content: { approved: true } }, { action: 'decline' }, {}])
      expect(wasShown({ [pointerKey]: answer })).toBe(true);
    expect(wasShown(Object.create({ [pointerKey]: { action: 'accept' } }) as Record<string, unknown>)).toBe(false);
  });
});
