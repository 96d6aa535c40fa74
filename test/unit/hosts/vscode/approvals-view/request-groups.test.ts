import { describe, expect, it } from 'vitest';
import { deniedInWords, denyQuestion, groupsOf } from '#hosts/vscode/approvals-view/request-groups';
import type { RequestRecord } from '#kernel/approval/request';
import { applyPlanTool } from '#kernel/plans/plan';
import { draftOf, stopAction } from '../../../../integration/stores/request-fixtures.ts';

const now = 1_800_000_000_000;
let count = 0;
function record(changes: Partial<RequestRecord> = {}): RequestRecord {
  count += 1;
  return {
    ...draftOf(),
    id: `req-${String(count).padStart(8, '0')}`,
    status: 'pending',
    createdAt: now,
    expiresAt: now + 3_600_000,
    ...changes,
  };
}
const nasty = '\u202egpj.exe\n[x](command:banksman.y) $(shield) **x**';

describe('the groups of a list', () => {
  it('are by the id that the host gives, whatever an agent calls itself', () => {
    const groups = groupsOf(
      [
        record({ agent: { id: 'mcp:one', host: 'mcp', label: 'Same' } }),
        record({ agent: { id: 'mcp:two', host: 'mcp', label: 'Same' } }),
        record({ agent: { id: 'mcp:one', host: 'mcp', label: 'Other' }, impact: 'irreversible' }),
      ],
      'agent',
    );
    expect(groups.map(({ key, ids }) => [key, ids.length])).toEqual([
      ['agent mcp:one', 2],
      ['agent mcp:two', 1],
    ]);
    expect(groups[0]).toMatchObject({
      label: 'MCP “Same”',
      description: '2 wait · 1 cannot be undone',
      spoken: 'MCP “Same”, 2 requests wait, 1 cannot be undone',
      tooltip: 'Asked by mcp:one\n2 requests wait, 1 cannot be undone',
    });
    expect(groups[1]).toMatchObject({ description: '1 waits', spoken: 'MCP “Same”, 1 request waits' });
  });

  it('tell plans, held changes, calls and reports apart', () => {
    const plan = { ...stopAction(), tool: applyPlanTool, arguments: { steps: [], cluster: 'lab', blast: [], unknown: [] } };
    const groups = groupsOf(
      [
        record(),
        record({ action: plan }),
        record({ action: { ...stopAction(), tool: 'apply_held' } }),
        record({ reported: { reason: 'url_blocked', destination: 'evil.example' } }),
      ],
      'plan',
    );
    expect(groups.map(({ label }) => label)).toEqual(['Single calls', 'Plans', 'Held changes', 'Reported blocks']);
    expect(groupsOf([record()], 'none')).toEqual([]);
  });

  it('are one line each, and nothing in it reorders or hides', () => {
    const [group] = groupsOf([record({ agent: { id: `mcp:${nasty}`, host: 'mcp', label: nasty } })], 'agent');
    for (const text of [group?.label, group?.spoken, group?.description]) expect(text).not.toMatch(/[\u202e\n]/);
    expect(group?.tooltip).not.toContain('\u202e');
    expect(group?.tooltip.split('\n')).toHaveLength(2);
  });
});

describe('denying all', () => {
  it('names what is denied and what is not, and asks for no code', () => {
    const records = Array.from({ length: 25 }, (_, at) => record({ title: `Stop VM ${100 + at} (web) on pve?` }));
    const { title, detail, proceed, stay, harmless } = denyQuestion(records, { of: 'MCP “x”', filter: '“web”' });
    expect([title, proceed, stay, harmless]).toEqual(['Deny 25 requests of MCP “x”?', 'Deny 25', 'Keep Waiting', true]);
    expect(detail).toContain('What is asked from now on is not denied.');
    expect(detail).toContain('· Stop VM 111 (web) on pve\n(and 13 more)');
    expect(denyQuestion(records, {}).detail).toContain('· Stop VM 111 (web) on pve (MCP “Laptop”)\n(and 13 more)');
    expect(detail).not.toContain('VM 112');
    expect(detail).toContain('The list shows only “web”: what it hides is not denied.');
  });

  it('of one is a sentence, too, with no line that a title made', () => {
    const { title, detail } = denyQuestion([record({ title: `Stop VM 1\nDeny nothing ${nasty}` })], {});
    expect(title).toBe('Deny 1 request?');
    expect(detail.split('\n')).toHaveLength(3);
    expect(detail).not.toContain('\u202e');
  });

  it.each([
    [1, 0, '1 request was denied'],
    [23, 1, '23 requests were denied; 1 was over already'],
    [0, 2, '0 requests were denied; 2 were over already'],
  ])('says what came of it: %d denied, %d over', (denied, over, words) => expect(deniedInWords(denied, over)).toBe(words));
});
