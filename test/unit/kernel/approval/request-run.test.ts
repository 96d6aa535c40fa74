import { describe, expect, it } from 'vitest';
import { alreadyRun, runOf } from '#kernel/approval/request-run';
import type { AuditRecord } from '#kernel/audit-event';

const record = (name: AuditRecord['name'], attributes: AuditRecord['attributes'] = {}): AuditRecord => ({
  version: 1,
  sequence: 1,
  time: '2026-11-23T10:00:00.000Z',
  name,
  attributes,
  previous: '',
  hash: '',
});
const of = (call: string, more: AuditRecord['attributes'] = {}) => ({ 'gen_ai.tool.call.id': call, ...more });
const consumed = record('approval.consumed');
const end = (call: string, code = 'ok') =>
  record('tool.finished', of(call, { status: code === 'ok' ? 'ok' : 'error', code, message: 'm' }));

describe('what became of a consumed grant', () => {
  it('is the end of the call that began with it, not of another', () => {
    const began = record('tool.started', of('a'));
    expect(runOf([consumed, began, end('b')])).toMatchObject({ known: 'began', told: false });
    expect(runOf([consumed, began, end('b', 'x'), end('a')])).toMatchObject({ known: 'outcome', code: 'ok' });
  });

  it('is nothing that was before it was consumed', () => {
    expect(runOf([end('a'), consumed])).toMatchObject({ known: 'nothing' });
  });

  it('is not the answer that its agent got to the same call later', () => {
    expect(runOf([consumed, end('b', alreadyRun)])).toEqual({ known: 'nothing', told: true });
  });
});
