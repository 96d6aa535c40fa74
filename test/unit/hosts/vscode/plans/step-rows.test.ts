/** Steps as rows: what a person reads of each, whatever somebody wrote into the store. */
import { describe, expect, it } from 'vitest';
import { shownSteps, stepRows, stepWord } from '#hosts/vscode/plans/step-rows';
import type { JsonObject } from '#kernel/json';
import type { PlanProgress, StepProgress } from '#kernel/plans/plan-progress';

const plan: JsonObject = {
  steps: [
    {
      tool: 'create_snapshot',
      input: { vmid: 100, name: 'before' },
      title: 'Take snapshot before of VM 100',
      undo: { tool: 'delete_snapshot', input: {} },
    },
    {
      tool: 'restart_vm',
      input: { vmid: 100 },
      title: 'Restart VM 100',
      wait_seconds: 10,
      undo: { none: 'what ran inside is interrupted' },
    },
  ],
};

const progress = (standing: PlanProgress['standing'], ...steps: readonly Partial<StepProgress>[]): PlanProgress => ({
  ...{ id: 'req-00000001', title: 'Run a plan', standing, message: '' },
  steps: steps.map((step, index) => ({ number: index + 1, title: '', state: 'not_done', ...step })),
});

describe('a step that waits for a person', () => {
  it('says its tool, what it waits for and what can be undone', () => {
    const [first, second] = stepRows(plan, undefined);
    expect(first).toMatchObject({ label: '1. Take snapshot before of VM 100', description: 'create_snapshot' });
    expect(first?.tooltip).toContain('It can be taken back by delete_snapshot.');
    expect(second).toMatchObject({ description: 'restart_vm · 10 s later' });
    expect(second?.tooltip).toContain('Begins after step 1 has ended, and 10 s more.');
    expect(second?.tooltip).toContain('It cannot be taken back: what ran inside is interrupted.');
    expect(second?.spoken).toBe('Step 2: Restart VM 100, restart_vm, after step 1 has ended, and 10 s more');
  });
});

describe('a step of a plan that began', () => {
  it.each([
    ['running', { state: 'done' }, 'done'],
    ['running', { state: 'running' }, 'running'],
    ['paused', { state: 'not_done' }, 'to-come'],
    ['stopped', { state: 'not_done' }, 'not-run'],
    ['over', { state: 'not_done' }, 'not-run'],
    ['stopped', { state: 'refused' }, 'not-run'],
    ['stopped', { state: 'failed' }, 'failed'],
    ['stopped', { state: 'unknown' }, 'not-known'],
    ['waiting', { state: 'not_done' }, 'waits'],
  ] as const)('of one that is %s, %o, is “%s”', (standing, step, word) => {
    expect(stepWord(step, { standing })).toBe(word);
  });

  it('says why it did not run, and of a step that is done not what the cluster said', () => {
    const stopped = progress('stopped', { state: 'done', message: 'OK' }, { state: 'refused', message: 'its node changed' });
    expect(stepRows(plan, stopped).map(({ description }) => description)).toEqual([
      'done · create_snapshot',
      'not run: its node changed · restart_vm',
    ]);
  });
});

describe('what somebody wrote into the store', () => {
  it.each<[string, JsonObject]>([
    ['no steps', {}],
    ['steps that are none', { steps: 'all' }],
    ['a step that is a text', { steps: ['restart_vm'] }],
    ['parts of other kinds', { steps: [{ tool: 7, input: [], title: {}, undo: 'yes', wait_seconds: 'long' }] }],
  ])('is shown as little as it says: %s', (_, forged) => {
    expect(() => stepRows(forged, progress('running'))).not.toThrow();
    for (const { title, tool } of shownSteps(forged)) expect([title, tool]).toEqual(['?', '?']);
  });

  it('hides nothing and reorders nothing', () => {
    const [row] = stepRows({ steps: [{ tool: 'stop_vm', title: 'Start\u202eVM\n2. Done', input: {}, undo: { none: '' } }] }, undefined);
    expect(`${row?.label}${row?.spoken}`).not.toMatch(/[\u202e\n]/);
  });
});
