/** Taking back what commands changed: an agent its own runs, a person any; written down, refused where it would lose somebody's work. */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { cliAgent } from '#app/for-hosts';
import type { Agent } from '#kernel/agent';
import type { App } from '#kernel/app';
import { isJsonObject } from '#kernel/json';
import { cacheFolder } from '../../../scripts/lib/cache-folder.mjs';
import { canSandbox } from '../execution/support/bubblewrap.ts';
import { call, startWorld, type World } from './support.ts';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 60_000 });

let world: World;
let root: string;
let app: App;
beforeEach(async () => {
  world = await startWorld();
  mkdirSync(cacheFolder(), { recursive: true });
  root = mkdtempSync(join(cacheFolder(), 'runs-'));
  writeFileSync(join(root, 'a'), 'before\n');
  app = await world.open({}, root);
});
afterEach(async () => {
  await world.close();
  rmSync(root, { recursive: true, force: true });
});

const at = (name: string) => join(root, name);
const other: Agent = cliAgent('somebody-else', 'advanced');

async function run(command: string): Promise<string> {
  const { result } = await call(app, 'run_command', { command });
  const changes = isJsonObject(result) && isJsonObject(result['changes']) ? result['changes'] : {};
  return String(changes['run_id']);
}

const undo = (id: string, agent?: Agent, on = app) => call(on, 'undo_run', { run_id: id }, agent === undefined ? {} : { agent });

describe.skipIf(!canSandbox)('undo_run', () => {
  it('takes back an own run, and both records say so', async () => {
    const id = await run('echo after > a; mkdir d; echo x > d/x');
    const undone = await undo(id);
    expect(undone).toMatchObject({
      status: 'ok',
      message: expect.stringMatching(/^undone: 1 created, 1 changed, by `echo after/),
      result: { undone: id },
    });
    expect([readFileSync(at('a'), 'utf8'), existsSync(at('d'))]).toEqual(['before\n', false]);
    const records = await app.audit.tail(20);
    expect(records.find(({ name }) => name === 'run.undone')?.attributes).toEqual({
      run: id,
      forced: false,
      created: 1,
      changed: 1,
      deleted: 0,
    });
    expect(records.filter(({ attributes }) => attributes['gen_ai.tool.name'] === 'undo_run').map(({ name }) => name)).toEqual([
      'tool.started',
      'tool.finished',
    ]);
    expect(await undo(id)).toMatchObject({ status: 'error', code: 'not_undoable', effect: { state: 'not_sent' } });
  });

  it('is refused where a file changed since, says which, and leaves everything', async () => {
    const id = await run('echo after > a; echo new > b');
    writeFileSync(at('b'), 'mine');
    expect(await undo(id)).toMatchObject({
      status: 'error',
      code: 'undo_in_the_way',
      message: expect.stringContaining('`b`'),
      next: expect.stringMatching(/undo your later runs first; .*banksman runs undo ID --set-aside/),
      effect: { state: 'not_sent' },
    });
    expect([readFileSync(at('a'), 'utf8'), readFileSync(at('b'), 'utf8')]).toEqual(['after\n', 'mine']);
  });

  it('later runs first', async () => {
    const [first, second] = [await run('echo 1 >> a'), await run('echo 2 >> a')];
    expect(await undo(first)).toMatchObject({ code: 'undo_in_the_way' });
    expect(await undo(second)).toMatchObject({ status: 'ok' });
    expect(await undo(first)).toMatchObject({ status: 'ok' });
    expect(readFileSync(at('a'), 'utf8')).toBe('before\n');
  });

  it('of another agent’s run not even tells that it is there', async () => {
    const id = await run('echo after > a');
    const [theirs, unknown] = [await undo(id, other), await undo('0-00000000', other)];
    expect(theirs).toMatchObject({ status: 'error', code: 'no_such_run' });
    expect(theirs.message.replace(id, '')).toBe(unknown.message.replace('0-00000000', ''));
    expect(readFileSync(at('a'), 'utf8')).toBe('after\n');
  });

  it('asks at level strict, with what it takes back on the card', async () => {
    const id = await run('echo after > a');
    const strict = await world.open({ securityLevel: 'strict' }, root);
    const asked = await undo(id, undefined, strict);
    expect(asked).toMatchObject({ status: 'pending' });
    const record = await strict.approvals.get(asked.request_id ?? '');
    expect(record?.risk).toEqual(expect.arrayContaining(['It was: echo after > a', 'It takes back what it did: 1 changed.']));
  });

  it('of held changes says that nothing was applied', async () => {
    const { request_id: request = '' } = await call(app, 'run_command', { command: 'mkdir .vscode' });
    const [held] = (await (await app.runs())?.list()) ?? [];
    expect(held?.state).toBe('held');
    expect(await undo(held?.id ?? '')).toMatchObject({ code: 'not_undoable', message: expect.stringContaining('held') });
    await app.approvals.deny(request, 'user:alice');
  });
});

describe.skipIf(!canSandbox)('the journal’s limits', () => {
  it('are settings, and doctor says what is kept', async () => {
    const small = await world.open({ workspace: { undo: { bytes: 2 ** 20, days: 3 } } }, root);
    writeFileSync(at('big'), Buffer.alloc(700_000));
    writeFileSync(at('more'), Buffer.alloc(700_000));
    const gone = await call(small, 'run_command', { command: 'rm big' });
    await call(small, 'run_command', { command: 'rm more' });
    expect((await (await small.runs())?.list())?.map(({ deleted }) => deleted)).toEqual([['more']]);
    expect(gone.status).toBe('ok');
    const finding = (await small.doctor(new AbortController().signal)).find(({ topic }) => topic === 'undo');
    expect(finding).toMatchObject({
      topic: 'undo',
      state: 'ok',
      message: '1 runs can be undone, 0 wait for a person; 700000 bytes kept, at most 1 MB and 3 days (`workspace.undo`)',
    });
  });

  it('doctor names a run that is half done', async () => {
    const history = await app.runs();
    await run('echo after > a');
    const [{ id } = { id: '' }] = (await history?.list()) ?? [];
    const [workspace = ''] = readdirSync(join(world.stateDir, 'runs'));
    rmSync(join(world.stateDir, 'runs', workspace, id, 'applied'));
    const finding = (await app.doctor(new AbortController().signal)).find(({ topic }) => topic === 'undo');
    expect(finding).toMatchObject({ state: 'warning', message: expect.stringContaining(`half done: ${id}`) });
  });
});
