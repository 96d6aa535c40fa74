import { beforeEach, describe, expect, it } from 'vitest';
import {
  createManualClock,
  type ManualClock,
  TaskEngine,
  TaskError,
  TaskFaults,
  TaskInterrupted,
  type TaskPlan,
  type TaskStart,
} from '#demo/pve/task-engine';
import { decodeUpid } from '#demo/pve/upid';

const start: TaskStart = { node: 'pve', type: 'qmstart', id: '100', user: 'ops@pve!banksman' };
const at = Date.UTC(2026, 10, 21);
let clock: ManualClock;
let faults: TaskFaults;
let engine: TaskEngine;

beforeEach(() => {
  clock = createManualClock(at);
  faults = new TaskFaults(100);
  engine = new TaskEngine(clock, () => at - 1_000_000, faults.filter);
});

function pass(ms: number): void {
  clock.advance(ms);
  engine.advance();
}

/** A plan that fails before it waits. */
function failsWith(error: Error): TaskPlan {
  return function* () {
    if (error !== undefined) throw error;
    yield 1;
  };
}

describe('a task', () => {
  it('runs as long as its plan waits, by the clock', () => {
    let done = false;
    const upid = engine.start(start, function* (task) {
      task.log('begun');
      yield 1000;
      done = true;
    });
    expect(engine.find(upid)).toMatchObject({ exitstatus: undefined, log: ['begun'] });
    pass(999);
    expect(done).toBe(false);
    pass(1);
    expect([done, engine.find(upid)]).toEqual([
      true,
      expect.objectContaining({ exitstatus: 'OK', endtime: at / 1000 + 1, log: ['begun', 'TASK OK'] }),
    ]);
  });

  it('is over at once when it does not wait', () => {
    const upid = engine.start(start, failsWith(new TaskError('VM is locked (backup)')));
    expect(engine.find(upid)).toMatchObject({ exitstatus: 'VM is locked (backup)', log: ['TASK ERROR: VM is locked (backup)'] });
  });

  it('has a UPID that says when and who', () => {
    const first = engine.start(start, function* () {});
    pass(60_000);
    const second = engine.start({ ...start, type: 'qmstop' }, function* () {});
    expect(first).toMatch(/^UPID:pve:[0-9A-F]{8}:[0-9A-F]{8}:[0-9A-F]{8}:qmstart:100:ops@pve!banksman:$/);
    expect(decodeUpid(second)).toMatchObject({ starttime: at / 1000 + 60, pstart: 106_000, type: 'qmstop', user: 'ops@pve!banksman' });
    expect(new Set([first, second]).size).toBe(2);
    expect(engine.list().map((task) => task.upid)).toEqual([second, first]);
  });

  it('counts its warnings', () => {
    const upid = engine.start(start, function* () {
      yield 1;
      return 2;
    });
    pass(10);
    expect(engine.find(upid)).toMatchObject({ exitstatus: 'WARNINGS: 2', log: ['TASK WARNINGS: 2'] });
  });

  it('lets a bug through instead of calling it a failed task', () => {
    expect(() => engine.start(start, failsWith(new Error('a bug')))).toThrow('a bug');
  });
});

describe('catching up on a long time', () => {
  it('does what is due in the order of time, each at its own instant', () => {
    const seen: string[] = [];
    const plan = (name: string, ms: number) =>
      engine.start({ ...start, id: name }, function* (task) {
        yield ms;
        seen.push(`${name} ${task.now() - at}`);
        yield ms;
        seen.push(`${name} ${task.now() - at}`);
      });
    plan('slow', 300);
    plan('fast', 200);
    pass(10_000);
    expect(seen).toEqual(['fast 200', 'slow 300', 'fast 400', 'slow 600']);
  });

  it('starts what a task leaves behind in that task’s time', () => {
    engine.start(start, function* () {
      yield 1000;
      engine.background(function* () {
        yield 500;
        engine.start({ ...start, type: 'qmstop' }, function* () {});
      });
    });
    pass(60_000);
    expect(engine.list()[0]).toMatchObject({ type: 'qmstop', starttime: at / 1000 + 1, exitstatus: 'OK' });
  });
});

describe('stopping a task', () => {
  it('ends it with what the signal left', () => {
    const upid = engine.start(start, function* () {
      yield Number.POSITIVE_INFINITY;
    });
    pass(1_000_000);
    expect(engine.interrupt(upid)).toBe(true);
    expect(engine.find(upid)).toMatchObject({ exitstatus: 'received interrupt', log: ['TASK ERROR: received interrupt'] });
    expect(engine.interrupt(upid)).toBe(false);
    expect(engine.interrupt('UPID:unknown')).toBe(false);
  });

  it('kills one that goes on, and it has no last line', () => {
    const upid = engine.start(start, function* (task) {
      try {
        yield 5000;
      } catch (thrown) {
        if (thrown instanceof TaskInterrupted) task.log('ignored');
        yield 5000;
      }
    });
    engine.interrupt(upid);
    expect(engine.find(upid)).toMatchObject({ exitstatus: 'unexpected status', log: ['ignored'] });
    pass(60_000);
    expect(engine.find(upid)?.exitstatus).toBe('unexpected status');
  });
});

describe('faults', () => {
  it.each([{}, { type: 'qmstart' }, { id: 100 }, { node: 'pve', id: '100', type: 'qmstart' }])('match %o', (match) => {
    faults.add(match, { kind: 'fails', text: 'no' });
    const upid = engine.start(start, function* () {});
    pass(1000);
    expect(engine.find(upid)?.exitstatus).toBe('no');
  });

  it.each([{ type: 'qmstop' }, { id: 101 }, { node: 'Home' }])('do not match %o', (match) => {
    faults.add(match, { kind: 'fails', text: 'no' });
    expect(engine.find(engine.start(start, function* () {}))?.exitstatus).toBe('OK');
  });

  it('let the last rule win, and go away', () => {
    faults.add({}, { kind: 'fails', text: 'no' });
    faults.add({}, { kind: 'never-ends' });
    const upid = engine.start(start, function* () {});
    pass(1e9);
    expect(engine.find(upid)?.exitstatus).toBeUndefined();
    faults.clear();
    expect(engine.find(engine.start(start, function* () {}))?.exitstatus).toBe('OK');
  });
});

it('keeps finished tasks of before', () => {
  engine.addFinished({ ...start, startedSecondsAgo: 100, seconds: 7, status: 'WARNINGS: 1', log: ['WARN: old'] });
  expect(engine.list()[0]).toMatchObject({
    starttime: at / 1000 - 100,
    endtime: at / 1000 - 93,
    exitstatus: 'WARNINGS: 1',
    log: ['WARN: old', 'TASK WARNINGS: 1'],
  });
});
