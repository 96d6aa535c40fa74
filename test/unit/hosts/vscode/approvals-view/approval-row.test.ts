import { describe, expect, it } from 'vitest';
import { approvalRow, countdown, requestTooltip, timeLeft } from '#hosts/vscode/approvals-view/approval-row';
import { agentName } from '#hosts/vscode/request-words';
import type { RequestRecord } from '#kernel/approval/request';
import { draftOf } from '../../../../integration/stores/store-fixtures.ts';

const now = 1_800_000_000_000;
const record = (changes: Partial<RequestRecord> = {}): RequestRecord => ({
  ...draftOf(),
  id: 'req-0123abcd',
  status: 'pending',
  createdAt: now,
  expiresAt: now + 3_600_000,
  ...changes,
});

describe('countdown', () => {
  it.each([
    [3_600_000, '60m'],
    [3_599_999, '59m'],
    [600_000, '10m'],
    [599_999, '9:59'],
    [60_000, '1:00'],
    [59_999, '0:59'],
    [1000, '0:01'],
    [999, 'expired'],
    [-5, 'expired'],
  ])('%d ms: %s', (left, text) => {
    expect(countdown(now + left, now)).toBe(text);
    expect(timeLeft(now + left, now)).toBe(text === 'expired' ? text : `${text} left`);
  });
});

describe('agentName', () => {
  it.each([
    [{ id: 'chat:c6f07af71974e1a3', host: 'chat' }, 'Chat c6f07a'],
    [{ id: 'chat:unknown-caller', host: 'chat', label: 'no chat session' }, 'Chat “no chat session”'],
    [{ id: 'mcp:laptop', host: 'mcp', label: 'La\u202eptop' }, 'MCP “La\\u{202e}ptop”'],
    [{ id: 'mcp:laptop', host: 'mcp' }, 'MCP laptop'],
    [{ id: 'cli:root', host: 'cli' }, 'CLI root'],
    [{ id: 'user:alice', host: 'palette' }, 'Palette alice'],
  ] as const)('%j', (agent, name) => {
    expect(agentName(agent)).toBe(name);
  });
});

describe('approvalRow', () => {
  it('has everything in words', () => {
    const row = approvalRow(record(), now + 60_000);
    expect(row).toMatchObject({
      id: 'req-0123abcd',
      label: 'Stop VM 100 (web100)',
      description: '59m · MCP “Laptop”',
      icon: 'warning',
    });
    expect(row.spoken).toBe('Stop VM 100 (web100) on pve, disruptive, asked by MCP “Laptop”, 59m left');
    const tooltip = requestTooltip(record(), now + 60_000);
    expect(tooltip).toContain('`stop_vm {"vmid":100}`');
    expect(tooltip).toContain('It has been up for 3 days\\.');
  });

  it.each([
    ['Stop VM 7 on pve?', 'Stop VM 7 on pve'],
    ['Stop VM 100 (web) on pve?', 'Stop VM 100 (web)'],
    ['Stop VM 10001 (web10001) on pve?', 'Stop VM 10001'],
    ['Start container 201 (proxy) on pve?', 'Start container 201'],
    ['Run "uptime" on node pve-with-a-name?', 'Run "uptime"'],
    ['Run "systemctl list-timers --all" on node pve?', 'Run "systemctl list…'],
  ])('of %s leaves room for the countdown and the agent', (title, label) => {
    const row = approvalRow(record({ title, agent: { id: 'chat:c6f07af71974e1a3', host: 'chat' } }), now + 3_348_000);
    expect(row).toMatchObject({ label, description: '4:12 · Chat' });
    expect(row.spoken).toContain(title.replace('?', ''));
  });

  it('of a reported block is shown as such, with what only people see', () => {
    const blocked = record({ reported: { reason: 'credential_detected', destination: 'a|b.example', pattern: 'sk-.+' } });
    const [row, tooltip] = [approvalRow(blocked, now), requestTooltip(blocked, now)];
    expect(row).toMatchObject({ kind: 'report', icon: 'report', label: 'Blocked: a|b.example' });
    expect(row.spoken).toContain('a reported block');
    expect(tooltip).toContain('`a\\|b.example`');
    expect(tooltip).toContain('`sk-.+`');
    expect(tooltip).not.toContain('stop_vm');
  });

  it.each(['approved', 'expired'] as const)('of a report that was settled says so, also when it is %s', (status) => {
    const reported = { reason: 'url_blocked', destination: 'evil.example' } as const;
    const row = approvalRow(record({ reported, status, decision: { by: 'user:bob', via: 'cli', at: now } }), now);
    expect(row).toMatchObject({ kind: 'decided', icon: 'pass' });
    expect(row.description).toMatch(/^\d\d:\d\d · settled by bob · /);
  });

  const decision = { by: 'user:alice', via: 'editor', at: now, message: 'not *today*' } as const;
  it.each([
    ['denied', 'decided', /^\d\d:\d\d · denied by alice · /],
    ['consumed', 'decided', /^\d\d:\d\d · approved by alice and used · /],
    ['approved', 'approved', /^\S+ left · not used yet, approved by alice · /],
    ['revoked', 'decided', /^\d\d:\d\d · revoked by alice · /],
    ['expired', 'decided', /^\d\d:\d\d · approved by alice, not used in time · /],
  ] as const)('that is %s says when and who, the time first, for the end is cut off in a narrow view', (status, kind, description) => {
    const row = approvalRow(record({ status, decision }), now);
    expect(row.kind).toBe(kind);
    expect(row.description).toMatch(description);
    expect(requestTooltip(record({ status, decision }), now)).toContain('| Message | not \\*today\\* |');
  });

  it('that expired was nobody’s decision', () => {
    expect(approvalRow(record({ status: 'expired' }), now).description).toMatch(/^\d\d:\d\d · expired \(nobody decided\) · /);
  });

  it('of another day says which', () => {
    expect(approvalRow(record({ status: 'denied', decision }), now + 3 * 86_400_000).description).toMatch(
      /^[A-Z][a-z]{2} \d+, \d\d:\d\d · denied by/,
    );
  });

  it('has a shape of its own for each status', () => {
    const statuses = ['approved', 'consumed', 'denied', 'revoked', 'cancelled', 'expired'] as const;
    expect(new Set(statuses.map((status) => approvalRow(record({ status }), now).icon)).size).toBe(statuses.length);
  });

  it.each(['pending', 'approved', 'consumed', 'denied', 'revoked', 'cancelled', 'expired'] as const)(
    'that is %s shows nothing that looks like a button to close it',
    (status) => {
      expect(approvalRow(record({ status }), now).icon).not.toMatch(/close|^x$|remove|trash/);
    },
  );

  it('differs in shape, not only in colour, by impact', () => {
    const icons = (['none', 'reversible', 'disruptive', 'irreversible'] as const).map(
      (impact) => approvalRow(record({ impact }), now).icon,
    );
    expect(new Set(icons).size).toBe(4);
  });

  it.each([
    [{ by: 'a call', until: now + 60_000, seenAt: now }, /\| Waits \| a call, until \d\d:\d\d \|/],
    [{ by: 'a call', until: now + 60_000, seenAt: now - 600_000 }, /\| Waits \| no call any more, since \d\d:\d\d \|/],
  ])('says at a look whether a call waits still: %j', (wait, words) => {
    expect(requestTooltip(record({ wait }), now)).toMatch(words);
    expect(requestTooltip(record({ wait, status: 'denied' }), now)).not.toContain('Waits');
    expect(requestTooltip(record(), now)).not.toContain('Waits');
  });

  const nasty = '[click](command:x) `a` | <b> $(error) https://evil.example\n# big \u202e';
  it('shows words from outside as they are, on their own line', () => {
    const hostile = record({
      title: nasty,
      risk: [nasty],
      reason: nasty,
      claim: nasty,
      agent: { id: nasty, host: 'mcp', model: nasty, label: nasty },
    });
    const row = approvalRow(hostile, now);
    expect(row.label).not.toMatch(/[\n\u202e]/);
    const tooltip = requestTooltip(hostile, now);
    const outsideCode = tooltip.replace(/(`+) ?.*?[^`]\1(?!`)/g, '');
    expect(outsideCode).not.toMatch(/(?<!\\)\[|(?<!\\)<|(?<!\\)\$\(|https:\/\//);
    // Title, one fact, claim and a table of 2 + 6 lines: nothing has added a line.
    expect(tooltip.split('\n').filter((line) => line !== '')).toHaveLength(3 + 8);
  });
});
