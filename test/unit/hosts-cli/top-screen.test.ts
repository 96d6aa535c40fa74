/** One screen of `banksman top`: as many lines as fit, none wider, and nothing raw of what clusters and agents say. */
import { describe, expect, it } from 'vitest';
import { cells } from '#hosts/cli/result-screen';
import { leastHeight, leastWidth, type TopFacts, type TopScreen, topLines } from '#hosts/cli/top-screen';

const now = Date.parse('2026-11-27T12:00:00Z');
const hostile = 'x\u001b[2J\u001b]0;owned\u0007\r\n\u202egnp\u009b31m';

const request = (n: number, title = `Stop VM ${n} (web)`): TopFacts['waiting'][number] => ({
  id: `req-${String(n).padStart(8, '0')}`,
  title,
  tier: 'red',
  agent: { id: 'mcp:ci', host: 'mcp', modelTier: 'intermediate', label: title === hostile ? hostile : 'codex 9.9.9' },
  createdAt: now - 60_000,
  expiresAt: now + 3_600_000,
});

const guest = (vmid: number, name = `web-${vmid}`) => ({
  ...{ type: 'qemu', vmid, name, node: 'pve', status: vmid % 2 === 0 ? 'running' : 'stopped' },
  ...{ cpu: (vmid % 100) / 100, mem: 512, maxmem: 1_024 },
});

function facts(part: Partial<TopFacts> = {}): TopFacts {
  const nodes = ['agent1', 'pve'].map((node) => ({ type: 'node', node, status: 'online', cpu: 0.125, mem: 3, maxmem: 4 }));
  const clusters = [{ name: 'lab', resources: [...nodes, guest(100), guest(101)] }];
  return { level: 'balanced', isPaused: false, waiting: [], more: false, attempts: [], clusters, now, ...part };
}

const screen = (width: number, height: number, colours = false): TopScreen => ({ width, height, colours });

describe('a screen', () => {
  it('shows what waits, what runs, and the clusters', () => {
    const attempt = { call: 'c', standing: 'running', tool: 'backup_guest', agent: 'mcp:ci', targets: ['guest 101'] } as const;
    const lines = topLines(
      facts({ waiting: [request(100), request(101)], attempts: [{ ...attempt, begunAt: new Date(now - 5_000).toISOString() }] }),
      'req-00000101',
      screen(120, 24),
    );
    expect(lines).toHaveLength(24);
    expect(lines[0]).toMatch(/^banksman top {2}\d\d:\d\d:\d\d {2}level balanced {2}2 waiting$/);
    const text = lines.join('\n');
    expect(text).toContain('  req-00000100  red     Stop VM 100 (web)  (codex 9.9.9, 1m 0s ago');
    expect(text).toContain('> req-00000101  red     Stop VM 101 (web)');
    expect(text).toMatch(/Under way\n {2}backup_guest {2}guest 101 {2}\(mcp:ci, 5/);
    expect(text).toContain('lab  2 of 2 nodes online  1 of 2 guests run');
    expect(text).toContain('  pve                online   cpu  13 %  mem  75 %');
    expect(text.indexOf('100 web-100')).toBeLessThan(text.indexOf('101 web-101'));
    expect(lines.at(-1)).toContain('a approve  d deny  q leave');
  });

  it('says a pause, and a cluster that does not answer, with what was seen last', () => {
    const [cluster] = facts().clusters;
    const text = topLines(
      facts({
        isPaused: true,
        clusters: [
          { name: 'lab', resources: cluster?.resources ?? [], failed: 'no answer' },
          { name: 'far', resources: [], failed: 'refused' },
        ],
      }),
      undefined,
      screen(120, 30),
    ).join('\n');
    expect(text).toContain('AGENTS PAUSED');
    expect(text).toMatch(/lab {2}2 of 2 nodes.*NOT ANSWERING: no answer/);
    expect(text).toContain('100 web-100');
    expect(text).toContain('far: refused');
  });

  it('says that requests cannot be read, and never that nothing waits then', () => {
    const none = topLines(facts({ failed: 'the store is locked' }), undefined, screen(120, 24)).join('\n');
    expect(none).toContain('What waits cannot be read: the store is locked');
    expect(none).not.toMatch(/Nothing waits|0 waiting/);
    const old = topLines(facts({ failed: 'gone', waiting: [request(100), request(101)] }), 'req-00000101', screen(80, leastHeight));
    expect(old).toHaveLength(leastHeight);
    expect(old.join('\n')).toMatch(/2 waiting when last read[\s\S]*cannot be read: gone[\s\S]*> req-00000101/);
  });

  it.each([
    [leastWidth, leastHeight],
    [40, 10],
    [80, 24],
    [250, 70],
  ])('of %d × %d holds 5,000 guests and 200 requests, the chosen one among them', (width, height) => {
    const waiting = Array.from({ length: 200 }, (_, n) => request(n));
    const clusters = [{ name: 'big', resources: Array.from({ length: 5_000 }, (_, n) => guest(n + 100)) }];
    for (const at of [0, 99, 199]) {
      const lines = topLines(facts({ waiting, clusters, more: true }), waiting[at]?.id, screen(width, height));
      expect(lines).toHaveLength(height);
      for (const line of lines) expect(cells(line), line).toBeLessThanOrEqual(width);
      expect(lines.filter((line) => line.startsWith('> ')).join()).toContain(waiting[at]?.id.slice(0, 12));
    }
  });

  it('too small for anything says so in one line', () => {
    for (const [width, height] of [
      [leastWidth - 1, 24],
      [80, leastHeight - 1],
      [3, 1],
    ] as const) {
      const lines = topLines(facts(), undefined, screen(width, height));
      expect(lines).toHaveLength(1);
      expect(cells(lines[0] ?? '')).toBeLessThanOrEqual(width);
    }
  });

  it.each([false, true])('gives a terminal nothing of what names hold (colours: %s)', (colours) => {
    const attempts = [{ call: 'c', standing: 'unknown', tool: hostile, agent: hostile, targets: [hostile], begunAt: hostile }] as const;
    const clusters = [
      { name: hostile, resources: [guest(100, hostile), { type: 'node', node: hostile, status: hostile }] },
      { name: hostile, resources: [], failed: hostile },
    ];
    const lines = topLines(
      facts({ level: hostile, failed: hostile, waiting: [request(1, hostile)], attempts, clusters }),
      'req-00000001',
      screen(200, 40, colours),
    );
    // Colours of our own are the only sequences, and there are none without them.
    const own = new RegExp(`${String.fromCharCode(27)}\\[\\d+m`, 'g');
    for (const line of lines) expect(line.replace(colours ? own : /$^/g, ''), line).not.toMatch(/[\p{Cc}\u202a-\u202e]/u);
    expect(lines.some((line) => own.test(line))).toBe(colours);
  });
});
