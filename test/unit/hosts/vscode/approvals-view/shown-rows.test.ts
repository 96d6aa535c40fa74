import { describe, expect, it } from 'vitest';
import { emptyHistory, emptyPending } from '#hosts/vscode/approvals-view/empty-rows';
import type { StateName } from '#hosts/vscode/approvals-view/pending-feed';
import { type Shown, ShownRows } from '#hosts/vscode/approvals-view/shown-rows';
import { manifestParts } from '#hosts/vscode/contributes/manifest';
import type { RequestRecord } from '#kernel/approval/request';
import { draftOf } from '../../../../integration/stores/store-fixtures.ts';

const now = 1_800_000_000_000;
const record = (id: string): RequestRecord => ({ ...draftOf(), id, status: 'pending', createdAt: now, expiresAt: now + 3_600_000 });
const showing = (...ids: string[]): Shown => ({ records: ids.map(record), problems: [], plans: [], hasMore: false, empty: [] });

it('draws the whole tree when a row comes or goes, and nothing when none does', () => {
  const shown = new ShownRows();
  expect(shown.update(showing(), now)).toEqual([]);
  expect(shown.update(showing('req-00000001'), now)).toEqual([undefined]);
  expect(shown.update(showing('req-00000001'), now)).toEqual([]);
  expect(shown.update(showing('req-00000002', 'req-00000001'), now)).toEqual([undefined]);
  expect(shown.elements()).toEqual([
    { kind: 'approval', id: 'req-00000002' },
    { kind: 'approval', id: 'req-00000001' },
  ]);
  expect(shown.update(showing(), now)).toEqual([undefined]);
  expect(shown.row('req-00000001')).toBeUndefined();
});

it('draws one row anew when its countdown moves, as the element that the editor knows', () => {
  const shown = new ShownRows();
  shown.update(showing('req-00000001'), now);
  const [element] = shown.elements();
  const [changed, ...more] = shown.update(showing('req-00000001'), now + 61_000);
  expect(changed).toBe(element);
  expect(more).toEqual([]);
  expect(shown.row('req-00000001')?.description).toMatch(/^58m · /);
});

it('puts problems first', () => {
  const shown = new ShownRows();
  const problem = { label: 'securityLevel', description: 'wrong', tooltip: 'wrong' };
  expect(shown.update({ ...showing('req-00000001'), problems: [problem] }, now)).toEqual([undefined]);
  expect(shown.elements().map((element) => element.kind)).toEqual(['problem', 'approval']);
});

it('ends with a row that loads more, as long as there is more', () => {
  const shown = new ShownRows();
  expect(shown.update({ ...showing('req-00000001'), hasMore: true }, now)).toEqual([undefined]);
  expect(shown.elements().map((element) => element.kind)).toEqual(['approval', 'more']);
  expect(shown.update(showing('req-00000001'), now)).toEqual([undefined]);
});

it('says in rows that there is nothing, and only then', () => {
  const shown = new ShownRows();
  const empty = emptyPending('ready', true);
  expect(shown.update({ ...showing(), empty }, now)).toEqual([undefined]);
  expect(shown.elements()).toEqual(empty.map((row) => ({ kind: 'empty', row })));
  expect(shown.update({ ...showing(), empty }, now)).toEqual([]);
  expect(shown.update({ ...showing('req-00000001'), empty }, now)).toEqual([undefined]);
  expect(shown.elements()).toEqual([{ kind: 'approval', id: 'req-00000001' }]);
  shown.update({ ...showing(), empty, hasMore: true }, now);
  expect(shown.elements()).toEqual([{ kind: 'more' }]);
});

describe('grouped', () => {
  const of = (agent: string, ...numbers: number[]) =>
    numbers.map((number) => ({
      ...record(`req-0000${String(number).padStart(4, '0')}`),
      agent: { id: `mcp:${agent}`, host: 'mcp' as const, label: agent },
    }));
  const listed = (records: readonly RequestRecord[], grouping: Shown['grouping'] = 'agent'): Shown => ({
    ...showing(),
    // As the store gives them.
    records: records.toSorted((a, b) => (a.id < b.id ? 1 : -1)),
    ...(grouping === undefined ? {} : { grouping }),
  });
  const keys = (shown: ShownRows) => shown.elements().map((element) => (element.kind === 'group' ? element.key : element.kind));
  const ids = (shown: ShownRows, agent: string) =>
    shown.members(`agent mcp:${agent}`).map((element) => 'id' in element && element.id.slice(-2));

  it('by agent, the oldest first; what comes is below what is there, and draws its own group alone', () => {
    const shown = new ShownRows();
    shown.update(listed([...of('a', 1, 3), ...of('b', 2)]), now);
    expect(keys(shown)).toEqual(['agent mcp:a', 'agent mcp:b']);
    expect(ids(shown, 'a')).toEqual(['01', '03']);
    const [first, second] = shown.elements();
    expect(shown.update(listed([...of('a', 1, 3), ...of('b', 2, 4)]), now)).toEqual([second]);
    expect(shown.elements()).toEqual([first, second]);
    expect(ids(shown, 'b')).toEqual(['02', '04']);
    expect(shown.group('agent mcp:b')).toMatchObject({ label: 'MCP “b”', description: '2 wait', opens: true });
    // Said once, above.
    expect(shown.row('req-00000001')?.description).toMatch(/^\d+m$/);
  });

  it('keep their places when the oldest of one is answered, and when a third agent comes', () => {
    const shown = new ShownRows();
    shown.update(listed([...of('a', 1, 5), ...of('b', 2, 3)]), now);
    shown.update(listed([...of('a', 5), ...of('b', 2, 3)]), now);
    expect(keys(shown)).toEqual(['agent mcp:a', 'agent mcp:b']);
    expect(shown.update(listed([...of('a', 5), ...of('b', 2, 3), ...of('c', 6)]), now)).toEqual([undefined]);
    expect(keys(shown)).toEqual(['agent mcp:a', 'agent mcp:b', 'agent mcp:c']);
  });

  it('begin with the second agent, and stay until nothing waits', () => {
    const shown = new ShownRows();
    shown.update(listed(of('a', 1, 2)), now);
    expect(keys(shown)).toEqual(['approval', 'approval']);
    shown.update(listed([...of('a', 1), ...of('b', 3)]), now);
    shown.update(listed(of('b', 3)), now);
    expect(keys(shown)).toEqual(['agent mcp:b']);
    shown.update(listed([]), now);
    shown.update(listed(of('b', 4)), now);
    expect(keys(shown)).toEqual(['approval']);
  });

  it('are folded where many wait, an overview of eight lines', () => {
    const shown = new ShownRows();
    const agents = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
    const all = agents.flatMap((agent, at) => of(agent, ...Array.from({ length: 25 }, (_, index) => index * 8 + at)));
    shown.update(listed(all), now);
    expect(keys(shown)).toEqual(agents.map((agent) => `agent mcp:${agent}`));
    expect(agents.map((agent) => shown.group(`agent mcp:${agent}`)?.opens)).toEqual(agents.map(() => false));
    expect(shown.members('agent mcp:h')).toHaveLength(25);
    expect(shown.update(listed([...all, ...of('h', 201)]), now)).toEqual([shown.elements()[7]]);
  });

  it('not at all: the oldest first, with more of them above', () => {
    const shown = new ShownRows();
    shown.update({ ...listed([...of('a', 1), ...of('b', 2)], 'none'), hasMore: true }, now);
    expect(shown.elements()).toEqual([
      { kind: 'more' },
      { kind: 'approval', id: 'req-00000001' },
      { kind: 'approval', id: 'req-00000002' },
    ]);
  });

  it('change when the person chooses another way', () => {
    const shown = new ShownRows();
    const all = [...of('a', 1), ...of('b', 2)];
    shown.update(listed(all), now);
    expect(shown.update(listed(all, 'plan'), now)).toEqual([undefined]);
    expect(keys(shown)).toEqual(['approval', 'approval']);
  });

  it('have each row below its group, and a place for the eye when it goes', () => {
    const shown = new ShownRows();
    shown.update(listed([...of('a', 1, 2), ...of('b', 3)]), now);
    const [first] = shown.members('agent mcp:a');
    expect(first && shown.parent(first)).toBe(shown.elements()[0]);
    const next = shown.beside('req-00000002');
    shown.update(listed([...of('a', 1), ...of('b', 3)]), now);
    expect(next()).toEqual({ kind: 'approval', id: 'req-00000003' });
    const last = shown.beside('req-00000003');
    shown.update(listed(of('a', 1)), now);
    expect(last()).toEqual({ kind: 'approval', id: 'req-00000001' });
    shown.update({ ...listed([]), empty: emptyPending('ready', true) }, now);
    expect(last()).toMatchObject({ kind: 'empty' });
  });
});

it.each<[StateName, boolean, string | undefined]>([
  ['ready', true, 'No call is waiting for you'],
  ['ready', false, 'This workspace is not trusted'],
  ['unconfigured', true, 'No cluster is configured yet'],
  ['starting', true, undefined],
  ['failed', true, undefined],
  ['bad_config', true, undefined],
  ['closed', true, undefined],
])('an empty list of pending ones, %s, trusted %s', (state, trusted, first) => {
  expect(emptyPending(state, trusted)[0]?.label).toBe(first);
});

it('leads to commands that are there', () => {
  const rows = [...emptyPending('ready', true), ...emptyPending('ready', false), ...emptyPending('unconfigured', true), ...emptyHistory];
  const named = rows.flatMap(({ command }) => (command ? [command.command] : [])).filter((id) => id.startsWith('banksman.'));
  const known = new Set(manifestParts([]).contributes.commands.map(({ command }) => command));
  expect(named.length).toBeGreaterThan(3);
  expect(named.filter((id) => !known.has(id))).toEqual([]);
});
