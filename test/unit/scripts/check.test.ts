import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { runStep, runSteps, type Step, type StepResult } from '../../../scripts/check/run-step.ts';

const node = process.execPath;

function program(name: string, code: string): Step {
  return { name, command: [node, '-e', code] };
}

describe('a step', () => {
  test('passes with exit code 0 and keeps what it said on both streams', async () => {
    const result = await runStep(program('a', "console.log('out'); console.error('err')"), '.', process.env);
    expect(result).toMatchObject({ name: 'a', ok: true });
    expect(result.output.split('\n').toSorted()).toEqual(['', 'err', 'out']);
  });

  test.each([
    ['another exit code', "console.log('why'); process.exit(3)", 'why\n'],
    ['a signal', "process.kill(process.pid, 'SIGKILL')", ''],
  ])('fails with %s', async (_name, code, output) => {
    expect(await runStep(program('a', code), '.', process.env)).toMatchObject({ ok: false, output });
  });

  test('fails when its program is not there', async () => {
    const result = await runStep({ name: 'a', command: ['no-such-program-here'] }, '.', process.env);
    expect(result).toMatchObject({ ok: false, output: expect.stringContaining('could not start no-such-program-here') });
  });
});

describe('several steps', () => {
  test('all run, at most as many at once as wanted', async () => {
    let running = 0;
    let most = 0;
    const run = async (step: Step): Promise<StepResult> => {
      running += 1;
      most = Math.max(most, running);
      const result = await runStep(step, '.', process.env);
      running -= 1;
      return result;
    };
    const results = await runSteps(
      [1, 2, 3, 4, 5].map((n) => program(`${n}`, `process.exit(${n === 2 ? 1 : 0})`)),
      2,
      run,
    );
    expect(results.map(({ name }) => name).toSorted()).toEqual(['1', '2', '3', '4', '5']);
    expect(results.filter(({ ok }) => !ok).map(({ name }) => name)).toEqual(['2']);
    expect(most).toBe(2);
  });
});

test('a step that nobody knows is refused by name', () => {
  const script = path.resolve(import.meta.dirname, '../../../scripts/check.ts');
  const { status, stderr } = spawnSync(node, [script, 'typos'], { encoding: 'utf8' });
  expect({ status, stderr }).toEqual({ status: 1, stderr: expect.stringContaining('no step is named typos') });
});
