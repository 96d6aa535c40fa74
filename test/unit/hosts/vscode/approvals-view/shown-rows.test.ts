import { expect, it } from 'vitest';
import { emptyHistory, emptyPending } from '#hosts/vscode/approvals-view/empty-rows';
import type { StateName } from '#hosts/vscode/approvals-view/pending-feed';
import { createShownRows, type Shown } from '#hosts/vscode/approvals-view/request-feed';
import { manifestParts } from '#hosts/vscode/contributes/manifest';
import type { RequestRecord } from '#kernel/approval/request';
import { draftOf } from '../../../../integration/stores/store-fixtures.ts';

const now = 1_800_000_000_000;
const record = (id: string): RequestRecord => ({ ...draftOf(), id, status: 'pending', createdAt: now, expiresAt: now + 3_600_000 });
const showing = (...ids: string[]): Shown => ({ records: ids.map(record), problems: [], plans: [], hasMore: false, empty: [] });

it('draws the whole tree when a row comes or goes, and nothing when none does', () => {
  const shown = createShownRows();
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
  const shown = createShownRows();
  shown.update(showing('req-00000001'), now);
  const [element] = shown.elements();
  const [changed, ...more] = shown.update(showing('req-00000001'), now + 61_000);
  expect(changed).toBe(element);
  expect(more).toEqual([]);
  expect(shown.row('req-00000001')?.description).toMatch(/^58m · /);
});

it('puts problems first', () => {
  const shown = createShownRows();
  const problem = { label: 'securityLevel', description: 'wrong', tooltip: 'wrong' };
  expect(shown.update({ ...showing('req-00000001'), problems: [problem] }, now)).toEqual([undefined]);
  expect(shown.elements().map((element) => element.kind)).toEqual(['problem', 'approval']);
});

it('ends with a row that loads more, as long as there is more', () => {
  const shown = createShownRows();
  expect(shown.update({ ...showing('req-00000001'), hasMore: true }, now)).toEqual([undefined]);
  expect(shown.elements().map((element) => element.kind)).toEqual(['approval', 'more']);
  expect(shown.update(showing('req-00000001'), now)).toEqual([undefined]);
});

it('says in rows that there is nothing, and only then', () => {
  const shown = createShownRows();
  const empty = emptyPending('ready', true);
  expect(shown.update({ ...showing(), empty }, now)).toEqual([undefined]);
  expect(shown.elements()).toEqual(empty.map((row) => ({ kind: 'empty', row })));
  expect(shown.update({ ...showing(), empty }, now)).toEqual([]);
  expect(shown.update({ ...showing('req-00000001'), empty }, now)).toEqual([undefined]);
  expect(shown.elements()).toEqual([{ kind: 'approval', id: 'req-00000001' }]);
  shown.update({ ...showing(), empty, hasMore: true }, now);
  expect(shown.elements()).toEqual([{ kind: 'more' }]);
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
