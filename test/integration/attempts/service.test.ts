/** The service is killed inside a call: the next one finds out what came of it, and tells the user whose call it was, and no other. */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { LocalApp } from '#app/create-app';
import { type Machine, startMachine, whyNoUsers } from '../service/os-users.ts';
import { rawClient } from '../service/support.ts';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

describe.skipIf(whyNoUsers !== undefined)(`a killed service${whyNoUsers === undefined ? '' : ` (${whyNoUsers})`}`, () => {
  let machine: Machine;
  let root: LocalApp;
  beforeAll(async () => {
    machine = await startMachine();
    await machine.start();
    root = await machine.inside();
  });
  afterAll(async () => {
    await root?.close();
    await machine?.close();
  });

  const told = async (user: string, words: readonly string[]): Promise<unknown> => {
    const { out } = await machine.as(user, [...words, '--json']);
    return out === '' ? undefined : JSON.parse(out);
  };
  /** Asked by alice and approved; the service is killed once `when` holds, and another one started. */
  const killedIn = async (tool: string, input: object, when: () => void): Promise<string> => {
    const { alice } = machine.users;
    const asked = (await told(alice, ['call', tool, '--input', JSON.stringify(input)])) as { request_id?: string };
    const id = asked.request_id ?? '';
    expect(await root.approvals.approve(id, machine.person)).toMatchObject({ ok: true });
    const client = await rawClient(join(machine.sockets, `${alice}.sock`));
    const agent = { id: `cli:${alice}`, host: 'cli', modelTier: 'advanced' };
    client.send({ kind: 'call', id: 1, method: 'call', values: [{ tool, input, agent, waitMs: 0 }] });
    await vi.waitFor(when, { interval: 5 });
    process.kill(machine.servicePid(), 'SIGKILL');
    await client.ended;
    await machine.stop();
    await machine.start();
    return id;
  };
  const outcomeOf = async (id: string): Promise<unknown> =>
    (
      (await told(machine.users.alice, ['call', 'check_request_status', '--input', JSON.stringify({ request_id: id })])) as {
        result?: { outcome?: unknown };
      }
    ).result?.outcome;

  it('has ended the call whose task went on', async () => {
    const stops = () => machine.demo.cluster.tasks.list().filter(({ type, id }) => type === 'qmstop' && id === '100');
    const before = stops().length;
    const id = await killedIn('stop_vm', { vmid: 100 }, () => expect(stops().length).toBeGreaterThan(before));
    await vi.waitFor(async () => expect(await outcomeOf(id)).toMatchObject({ status: 'ok', code: 'ok' }), {
      timeout: 60_000,
      interval: 200,
    });
    expect(stops()).toHaveLength(before + 1);
  });

  it('lists an unknown one to its user alone, who marks it as seen', async () => {
    const { alice, bob } = machine.users;
    const fault = machine.demo.faults.api({ method: 'PUT', path: '/config$', effect: { kind: 'silence' } });
    const id = await killedIn('set_guest_config', { vmid: 101, description: 'changed' }, () => expect(fault.hits()).toBeGreaterThan(0));
    fault.remove();
    const list = (user: string) => told(user, ['attempts', 'list']);
    await vi.waitFor(async () => expect(await list(alice)).toEqual([expect.objectContaining({ standing: 'unknown', request_id: id })]), {
      timeout: 60_000,
      interval: 200,
    });
    expect(await outcomeOf(id)).toBe('unknown');
    expect(await list(bob)).toEqual([]);
    expect(JSON.stringify(await told(bob, ['doctor']))).not.toContain('outcome unknown');
    expect(JSON.stringify(await told(alice, ['doctor']))).toContain('outcome unknown');
    const [{ call }] = (await list(alice)) as [{ call: string }];
    const seen = async (user: string) => {
      const client = await rawClient(join(machine.sockets, `${user}.sock`));
      const answer = await client.ask('attempts.seen', call);
      client.socket.destroy();
      return answer;
    };
    expect(await seen(bob)).toMatchObject({ value: { ok: false } });
    expect(await seen(alice)).toMatchObject({ value: { ok: true } });
    expect(await list(alice)).toEqual([]);
  });
});
