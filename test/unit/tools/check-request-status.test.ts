import { describe, expect, it } from 'vitest';
import { catalog } from '#app/catalog';
import { requestStatuses } from '#kernel/approval/request';
import type { AuditRecord } from '#kernel/audit-event';
import { approved, createApprover, draftOf, opened, openTestStore } from '../../integration/stores/store-fixtures.ts';
import { createToolBench } from './support/run-tool.ts';

describe('check_request_status', () => {
  it('looks nothing up for what is no id', async () => {
    const looked: string[] = [];
    const { run } = createToolBench({ get: async (id) => void looked.push(id) });
    const near = [' req-1a2b3c4d', 'req-1a2b3c4d\n', 'req-1a2b3c4d\u0000', 'req-\u200b1a2b3c4d'];
    for (const id of ['', 'x', "' OR 1=1 --", 'req-1A2B3C4D', '../req-1a2b3c4d', 'x'.repeat(5_000), ...near]) {
      const result = await run('check_request_status', { request_id: id });
      expect(result).toMatchObject({ ok: true, message: expect.stringContaining('not a request id'), result: { status: 'invalid' } });
      expect(JSON.stringify(result.result).length).toBeLessThan(160);
    }
    expect(looked).toEqual([]);
    expect(await run('check_request_status', { request_id: 'req-1a2b3c4d' })).toMatchObject({
      result: { request_id: 'req-1a2b3c4d', status: 'not_found' },
    });
    expect(looked).toEqual(['req-1a2b3c4d']);
  });

  it('tells how it stands and what to do next, and nothing of the grant', async () => {
    const store = await openTestStore();
    const record = await opened(store);
    const { run } = createToolBench(store.requests);
    expect(await run('check_request_status', { request_id: record.id })).toMatchObject({
      message: `request ${record.id} is pending`,
      result: { status: 'pending', tool: 'stop_vm', title: record.title, expires_at: new Date(record.expiresAt).toISOString() },
      next: expect.stringContaining('wait for the person'),
    });
    const { id, grants } = await approved(
      store,
      createApprover(),
      Date.now(),
      draftOf({ action: { ...record.action, arguments: { vmid: 7 } } }),
    );
    const result = await run('check_request_status', { request_id: id });
    expect(result).toMatchObject({
      result: { status: 'approved', expires_at: new Date(grants?.[0]?.payload.expiresAt ?? 0).toISOString() },
      next: expect.stringContaining('it runs once'),
    });
    expect(JSON.stringify(result)).not.toContain(grants?.[0]?.payload.nonce);
  });

  it('marks as outside text what any tool’s result does', () => {
    const keys = catalog.flatMap((tool) => tool.outsideText ?? []);
    expect(catalog.find(({ name }) => name === 'check_request_status')?.outsideText).toEqual(expect.arrayContaining([...new Set(keys)]));
    expect(keys).toContain('stdout');
  });

  it.each(requestStatuses)('has a next step for %s', async (status) => {
    const store = await openTestStore();
    const record = await opened(store);
    const { run } = createToolBench({
      get: async () => ({ ...record, status, decision: { by: 'user:a', via: 'cli', at: 1, message: 'because' } }),
    });
    const result = await run('check_request_status', { request_id: record.id });
    expect(result.next).toMatch(/\w+/);
    expect(result.result).toMatchObject({ status, message: 'because' });
  });

  const entry = (name: AuditRecord['name'], attributes: AuditRecord['attributes'] = {}): AuditRecord => ({
    ...{ version: 1, sequence: 1, time: '2026-11-23T10:00:00.000Z', previous: '', hash: '', name },
    attributes: { 'gen_ai.tool.call.id': 'a', ...attributes },
  });
  const began = [entry('approval.consumed'), entry('tool.started')];
  // 19 of 180 consumed grants had run nothing, after kills: that one was consumed says nothing of the call.
  it.each([
    [
      'nothing',
      [],
      'unknown',
      { message: /nothing says that the call began: the outcome is unknown/, next: /do not repeat.*look at what/ },
    ],
    [
      'that it began',
      began,
      'unknown',
      { message: /no end of it is written down: the outcome is unknown/, next: /do not repeat.*look at/ },
    ],
    [
      'how it ended',
      [...began, entry('tool.finished', { status: 'error', code: 'pve_task_failed', message: 'VM is locked' })],
      { status: 'error', code: 'pve_task_failed' },
      { message: /the call ended with error \(pve_task_failed\): VM is locked/, next: /used up: do not repeat/ },
    ],
  ] as const)('of a consumed approval says what the trail knows: %s', async (_, records, outcome, said) => {
    const store = await openTestStore();
    const record = await opened(store);
    const trail = { read: async () => [], ofRequest: async () => records, head: async () => undefined };
    const { run } = createToolBench({ get: async () => ({ ...record, status: 'consumed', consumedAt: 1_800_000_000_000 }) }, { trail });
    const result = await run('check_request_status', { request_id: record.id });
    expect(result).toMatchObject({ message: expect.stringMatching(said.message), next: expect.stringMatching(said.next) });
    expect(result.result).toMatchObject({ status: 'consumed', outcome });
    expect(JSON.stringify(result)).not.toContain('has run');
  });
});
