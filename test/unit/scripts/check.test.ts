import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { keysOf, type Scope, toLookAt } from '../../../scripts/check/green.ts';
import { runStep, runSteps, type Step, type StepResult } from '../../../scripts/check/run-step.ts';
import { steps } from '../../../scripts/check/steps.ts';
import { treeOf } from '../../../scripts/check/tree.ts';

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

const contents: Readonly<Record<string, string>> = {
  'src/kernel/json.ts': 'export const json = 1;',
  'src/kernel/text.ts': 'export const text = 1;',
  'src/app/paths.ts': "import { json } from '#kernel/json';\nexport { json };",
  'scripts/lib/root.mjs': 'export const root = import.meta.dirname;',
  'scripts/row.mjs': "export { root } from './lib/root.mjs';",
  'test/fixtures/rows.json': '[]',
  'test/unit/paths.test.ts': "import { json } from '#app/paths';",
  'test/unit/text.test.ts': "import { text } from '#kernel/text';\nimport rows from '../fixtures/rows.json' with { type: 'json' };",
  'test/unit/tree.test.ts': "import { root } from '../../scripts/row.mjs';",
  'test/unit/shell.test.ts': "import { spawnSync } from 'node:child_process';",
  'README.md': '# One',
};

/** The step's files to look at once it was green with `contents`, and these are changed. */
function changedBy(name: string, change: Readonly<Record<string, string | undefined>>, settings = 'a'): readonly string[] | undefined {
  const scope = steps.find((step) => step.name === name) as Scope;
  const keys = (files: Readonly<Record<string, string | undefined>>, of: string) => {
    const entries = Object.entries(files).flatMap(([file, text]) => (text === undefined ? [] : [[file, Buffer.from(text)] as const]));
    return keysOf(treeOf(entries), scope, of);
  };
  const green = keys(contents, 'a');
  return toLookAt(keys({ ...contents, ...change }, settings), { key: green.key, files: Object.fromEntries(green.files), milliseconds: 1 });
}

describe('what was green', () => {
  const asking = ['test/unit/shell.test.ts'];
  const reading = [...asking, 'test/unit/tree.test.ts'];

  test('is not looked at again, but for tests that start programs', () => {
    expect(changedBy('lint', {})).toEqual([]);
    expect(changedBy('types', {})).toEqual([]);
    expect(changedBy('test', {})).toEqual(asking);
  });

  test.each<[string, Readonly<Record<string, string | undefined>>, readonly string[]]>([
    ['a source, by whoever imports it through others', { 'src/kernel/json.ts': 'export const json = 2;' }, ['test/unit/paths.test.ts']],
    ['a fixture, by whoever names it', { 'test/fixtures/rows.json': '[1]' }, ['test/unit/text.test.ts']],
    ['a file that is gone', { 'src/kernel/text.ts': undefined }, ['test/unit/text.test.ts']],
    ['another with the same name', { 'src/kernel/text.mjs': '' }, ['test/unit/text.test.ts']],
    ['a new one', { 'test/unit/new.test.ts': '' }, ['test/unit/new.test.ts']],
    ['a page, only by what reads the repository', { 'README.md': '# Two' }, []],
  ])('is, after a change of %s', (_what, change, tests) => {
    expect(changedBy('test', change)).toEqual([...tests, ...reading].toSorted());
  });

  test('is linted again with all that its types come from', () => {
    expect(changedBy('lint', { 'src/kernel/json.ts': '' })).toEqual(['src/app/paths.ts', 'src/kernel/json.ts', 'test/unit/paths.test.ts']);
    expect(changedBy('format', { 'src/kernel/json.ts': '' })).toEqual(['src/kernel/json.ts']);
  });

  test('is looked at whole after a change of settings or tools', () => {
    expect(changedBy('format', {}, 'b')).toEqual(expect.arrayContaining(Object.keys(contents).filter((file) => !file.endsWith('.md'))));
    expect(changedBy('deadcode', {}, 'b')).toBeUndefined();
  });

  test.each(steps.filter(({ each }) => each === undefined))(
    'is looked at whole by the step $name after any change it reads',
    ({ name }) => {
      expect(changedBy(name, { 'src/kernel/json.ts': '' })).toBeUndefined();
    },
  );
});
