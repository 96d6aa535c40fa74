import { expect, it } from 'vitest';
import { guestMarkup, guestParts, recordsOf } from '#hosts/vscode/cluster-view/guest-page';
import { pageShell } from '#hosts/vscode/live-shell';
import type { AuditRecord } from '#kernel/audit-event';

const evil = '<script>alert(1)</script>';
const sheet = {
  status: { status: 'running' },
  config: { name: evil, digest: 'abc', cores: 2 },
  snapshots: [{ name: evil, snaptime: 1_760_000_000, description: evil }, { name: 'current' }],
  backups: [{ volid: `nas:${evil}`, ctime: 1_760_000_000, size: 2 ** 31 }],
  tasks: [{ upid: `UPID:"${evil}`, type: 'qmstart', status: evil, endtime: 1, starttime: 1_760_000_000, user: evil }],
  metrics: [
    { time: 1_760_000_000, cpu: 0.5, mem: 2 ** 30, maxmem: 2 ** 31, netin: 10, netout: 'NaN' },
    { time: 1_760_000_060 },
    { time: 1_760_000_120, cpu: '0.25', mem: 2 ** 30, maxmem: 2 ** 31, netin: 5000 },
  ],
};
const facts = { row: undefined, sheet, trail: [], log: { upid: 'u', title: evil, look: { running: true, lines: [evil, 'b'] } }, acts: [] };

it('shows everything as text, whatever it is', () => {
  const markup = Object.values(guestMarkup(facts)).join('');
  expect(markup).not.toMatch(/<script|"<|on\w+=/);
  expect(markup).toContain('&lt;script&gt;');
  expect(markup).not.toContain('abc');
  expect(pageShell({ title: evil, nonce: 'n', script: 's', style: '', parts: guestParts })).not.toContain(evil);
});

it('draws a line with a gap where nothing was measured, and says the figures', () => {
  const { graphs } = guestMarkup(facts);
  expect(graphs).toContain('aria-label="CPU: 25 % now, 38 % on average, at most 50 %"');
  expect(graphs).toMatch(/d="M0\.0 2\.0M300\.0 35\.0"/);
  expect(graphs).toContain('in 5 KiB/s now');
});

it('says part by part what is not read yet, cannot be read, or is not there', () => {
  const { config, snapshots } = guestMarkup({ ...facts, sheet: { ...sheet, config: { failed: 'no <right>' }, snapshots: [] } });
  expect(config).toContain('It cannot be read: no &lt;right&gt;');
  expect(snapshots).toContain('It has none.');
  expect(guestMarkup({ ...facts, sheet: undefined }).config).toContain('Reading…');
});

it('finds the records that are about this guest of this cluster, newest first', () => {
  const record = (sequence: number, name: AuditRecord['name'], target: AuditRecord['attributes']['target']): AuditRecord => ({
    ...{ version: 1, sequence, name, time: '2026-01-01T00:00:00Z', previous: '', hash: '', attributes: { target } },
  });
  const of = (vmid: number, cluster = 'demo') => [{ kind: 'guest', vmid, cluster }];
  const records = [
    record(1, 'tool.finished', of(100)),
    record(2, 'tool.denied', of(100)),
    record(3, 'tool.started', of(100)),
    record(4, 'tool.finished', of(101)),
    record(5, 'tool.finished', of(100, 'other')),
    record(6, 'tool.finished', 'x'),
  ];
  expect(recordsOf(records, 'demo', 100).map(({ sequence }) => sequence)).toEqual([2, 1]);
});
