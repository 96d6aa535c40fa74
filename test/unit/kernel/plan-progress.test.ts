/** How a plan stands, from its request and the trail alone. */
import { describe, expect, it } from 'vitest';
import type { RequestRecord } from '#kernel/approval/request';
import type { AuditEventName, AuditRecord } from '#kernel/audit-event';
import type { JsonObject } from '#kernel/json';
import { planIn, progressOf, undoOf } from '#kernel/plans/plan-progress';

const now = 1_000_000;
const undo = { tool: 'start_vm', input: { vmid: 100 } };
const steps = ['one', 'two', 'three'].map((title) => ({ title, tool: 'stop_vm', input: {}, undo }));

function record(status: RequestRecord['status'], tool = 'apply_plan'): RequestRecord {
  const action = { tool, arguments: { steps }, targets: [], agentId: 'mcp:a', cluster: 'demo', policyVersion: '1' };
  return { id: 'req-1a2b3c4d', title: 'a plan', status, action, consumedAt: now - 60_000 } as unknown as RequestRecord;
}

function event(name: AuditEventName, attributes: JsonObject): AuditRecord {
  return { version: 1, sequence: 1, time: '', name, attributes, previous: '', hash: '' };
}

const began = (number: number) => event('tool.started', { plan_step: number });
const finished = (number: number, more: JsonObject = {}) => event('tool.finished', { plan_step: number, message: 'said', ...more });
const verdict = (number: number, state: string) => event('plan.step', { plan_step: number, state, message: `is ${state}` });
const alive = { by: 'plan', until: now + 10_000, seenAt: now };
const silent = { by: 'plan', until: now - 40_000, seenAt: now - 60_000 };

const standing = (records: readonly AuditRecord[], wait: typeof alive | undefined, status: RequestRecord['status'] = 'consumed') => {
  const progress = progressOf(record(status), records, wait, now);
  return [progress.standing, ...progress.steps.map(({ state }) => state)];
};

describe('a plan stands', () => {
  it.each([
    ['pending', 'waiting'],
    ['approved', 'approved'],
    ['denied', 'over'],
    ['expired', 'over'],
    ['cancelled', 'over'],
    ['revoked', 'over'],
  ] as const)('%s: %s, and nothing is done', (status, expected) => {
    expect(standing([], undefined, status)).toEqual([expected, 'not_done', 'not_done', 'not_done']);
  });

  it('as its steps have come, as long as its process is there', () => {
    expect(standing([began(1)], alive)).toEqual(['running', 'running', 'not_done', 'not_done']);
    expect(standing([began(1), finished(1)], alive)).toEqual(['running', 'running', 'not_done', 'not_done']);
    expect(standing([began(1), finished(1), verdict(1, 'done'), began(2)], alive)).toEqual(['running', 'done', 'running', 'not_done']);
  });

  it('stopped where its process is gone: what began is not known, and nobody guesses', () => {
    expect(standing([began(1), finished(1), verdict(1, 'done'), began(2)], silent)).toEqual(['stopped', 'done', 'unknown', 'not_done']);
    expect(standing([began(1), finished(1)], undefined)).toEqual(['stopped', 'unknown', 'not_done', 'not_done']);
  });

  it('with what was found out about a step whose process is gone, in place of a guess', () => {
    const found = (attributes: JsonObject) => event('attempt.resolved', { plan_step: 1, message: 'found', ...attributes });
    const first = (attributes: JsonObject) => standing([began(1), found(attributes)], silent)[1];
    expect(first({ end: 'done', status: 'ok' })).toBe('done');
    expect(first({ end: 'done', status: 'error' })).toBe('failed');
    expect(first({ end: 'not_done' })).toBe('not_done');
    expect(first({ end: 'unknown' })).toBe('unknown');
    // Its own process had said more.
    expect(standing([began(1), found({ end: 'unknown' }), verdict(1, 'failed')], silent)[1]).toBe('failed');
  });

  it('with a step that was refused and waits for another try as not done, and why', () => {
    const denied = event('tool.denied', { plan_step: 1, message: 'could not be read' });
    for (const wait of [alive, silent])
      expect(progressOf(record('consumed'), [denied], wait, now).steps[0]).toMatchObject({
        state: 'not_done',
        message: 'could not be read',
      });
    expect(standing([denied, began(1)], alive)[1]).toBe('running');
    expect(standing([denied, began(1)], silent)[1]).toBe('unknown');
  });

  it('with nothing that a user’s own process says of it', () => {
    expect(standing([finished(2, { reported_by: 'alice' })], alive)).toEqual(['running', 'not_done', 'not_done', 'not_done']);
  });

  it('by its own last word, whatever mark is left', () => {
    const end = (state: string) => event('plan.ended', { state, message: 'because' });
    expect(standing([verdict(1, 'done'), verdict(2, 'failed'), end('stopped')], alive)).toEqual(['stopped', 'done', 'failed', 'not_done']);
    expect(standing([1, 2, 3].map((number) => verdict(number, 'done')).concat(end('done')), alive)).toEqual([
      'done',
      'done',
      'done',
      'done',
    ]);
  });

  it('paused by a person until one signs that it goes on, after that pause; a stop stays one', () => {
    const control = (word: string) => event('plan.control', { control: word });
    const resume = (pauses: number) => event('plan.control', { control: 'resume', signed: { payload: { pauses } } });
    expect(standing([control('pause')], alive)[0]).toBe('paused');
    expect(standing([control('pause'), control('resume')], alive)[0]).toBe('paused');
    expect(standing([control('pause'), resume(1)], alive)[0]).toBe('running');
    expect(standing([control('pause'), resume(1), control('pause')], alive)[0]).toBe('paused');
    expect(standing([control('pause'), resume(1), control('pause'), resume(2)], alive)[0]).toBe('running');
    expect(standing([control('stop'), resume(1)], alive)[0]).toBe('running');
    expect(progressOf(record('consumed'), [control('stop'), resume(1)], alive, now).message).toContain('stops it');
  });

  it('with the task that a step left, and with what took its place', () => {
    const upid = 'UPID:pve:1:2:3:qmstart:100:a@pve!b:';
    const progress = progressOf(record('consumed'), [began(1), finished(1, { effect: { state: 'task', upid } })], silent, now);
    expect(progress.steps[0]).toMatchObject({ state: 'unknown', upid, message: 'said' });
    expect(progressOf(record('cancelled'), [event('plan.struck', { replaced_by: 'req-99999999' })], undefined, now).replacedBy).toBe(
      'req-99999999',
    );
  });
});

it('undoing goes through what is done, newest first', () => {
  const progress = progressOf(record('consumed'), [verdict(1, 'done'), verdict(2, 'done'), verdict(3, 'failed')], silent, now);
  const plan = planIn(record('consumed'));
  if (plan === undefined) throw new Error('no plan');
  expect(undoOf(progress, plan).map(({ number }) => number)).toEqual([2, 1]);
  expect(planIn(record('consumed', 'stop_vm'))).toBeUndefined();
});
