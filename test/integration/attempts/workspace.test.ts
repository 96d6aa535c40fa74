/** A killed call of the workspace: the journal of runs says whether anything of it is there. */
import { once } from 'node:events';
import { existsSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { startWorld } from '../app/support.ts';
import { canSandbox } from '../execution/support/bubblewrap.ts';
import { bundleVersion, createCaller } from './support.ts';

it.runIf(canSandbox)(
  'a command that was killed with its process was not done: nothing of it is in the workspace',
  { timeout: 300_000 },
  async () => {
    const world = await startWorld();
    try {
      const workspace = join(dirname(world.stateDir), 'ws');
      mkdirSync(workspace);
      const app = await world.open({}, workspace, bundleVersion, { stays: true });
      const child = createCaller(world, {}, workspace).start('run_command', { command: 'echo x > made; sleep 100', timeout_ms: 100_000 });
      const exit = once(child, 'exit');
      const begun = async () => (await app.attempts.list()).some(({ tool, standing }) => tool === 'run_command' && standing === 'running');
      while (!(await begun()) && child.exitCode === null) await sleep(20);
      child.kill('SIGKILL');
      await exit;
      const resolved = async () => (await app.audit.tail(100)).filter(({ name }) => name === 'attempt.resolved');
      // Nothing asks for this very call: the look of every minute finds it.
      while ((await resolved()).length === 0) await sleep(500);
      expect((await resolved()).map(({ attributes }) => attributes)).toEqual([
        expect.objectContaining({
          end: 'not_done',
          'gen_ai.tool.name': 'run_command',
          message: expect.stringContaining('nothing of it is in the workspace'),
        }),
      ]);
      expect(existsSync(join(workspace, 'made'))).toBe(false);
      expect(await app.attempts.list()).toEqual([]);
    } finally {
      await world.close();
    }
  },
);

it.runIf(canSandbox)(
  'a command that was killed is looked up by who asks at the command line, where nothing stays that would',
  { timeout: 300_000 },
  async () => {
    const world = await startWorld();
    try {
      const workspace = join(dirname(world.stateDir), 'ws');
      mkdirSync(workspace);
      const child = createCaller(world, {}, workspace).start('run_command', { command: 'echo x > made; sleep 100', timeout_ms: 100_000 });
      const exit = once(child, 'exit');
      const app = await world.open({}, workspace, bundleVersion);
      while ((await app.attempts.list()).length === 0 && child.exitCode === null) await sleep(20);
      expect(await app.attempts.list()).toEqual([expect.objectContaining({ tool: 'run_command', standing: 'running' })]);
      child.kill('SIGKILL');
      await exit;
      expect(await app.attempts.list()).toEqual([]);
      expect(await app.audit.tail(1)).toEqual([
        expect.objectContaining({ name: 'attempt.resolved', attributes: expect.objectContaining({ end: 'not_done' }) }),
      ]);
    } finally {
      await world.close();
    }
  },
);

it.runIf(canSandbox)(
  'a command of which the trail holds a part is not said to be not done while its run is in the journal',
  { timeout: 300_000 },
  async () => {
    const world = await startWorld();
    try {
      const workspace = join(dirname(world.stateDir), 'ws');
      mkdirSync(workspace);
      const app = await world.open({}, workspace, bundleVersion, { stays: true });
      const command = `sleep 2; echo x > made; : ${'long '.repeat(1_500)}`;
      const child = createCaller(world, { defaultModelTier: 'advanced' }, workspace).start('run_command', { command });
      const exit = once(child, 'exit');
      while ((await app.attempts.list()).length === 0 && child.exitCode === null) await sleep(20);
      // Its outcome is not written: somebody holds the store's lock.
      const other = new DatabaseSync(join(world.stateDir, 'banksman.db'));
      other.exec('BEGIN IMMEDIATE');
      const runs = async () => (await (await app.runs())?.list()) ?? [];
      while ((await runs()).length === 0 && child.exitCode === null) await sleep(5);
      child.kill('SIGKILL');
      await exit;
      expect(child.signalCode).toBe('SIGKILL');
      other.exec('ROLLBACK');
      other.close();
      const resolved = async () => (await app.audit.tail(100)).find(({ name }) => name === 'attempt.resolved');
      while ((await resolved()) === undefined) await sleep(500);
      const [run] = await runs();
      expect(existsSync(join(workspace, 'made'))).toBe(true);
      expect((await resolved())?.attributes).toMatchObject({
        end: 'unknown',
        message: expect.stringContaining(`these runs could be its own: ${run?.id}`),
      });
    } finally {
      await world.close();
    }
  },
);
