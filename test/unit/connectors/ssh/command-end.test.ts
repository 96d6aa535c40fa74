import { describe, expect, it } from 'vitest';
import { type Progress, readCommandEnd } from '#connectors/ssh/create-node-shell';
import type { CommandPlace } from '#connectors/ssh/run-command';
import { ConnectionLost } from '#connectors/ssh/ssh-fault';
import { TimeLimitReached } from '#connectors/time-limit';
import { Fault } from '#kernel/errors';

const at = { node: 'pve', user: 'root', host: '10.0.0.12', port: 22 };
const place = {} as CommandPlace;
const open = new AbortController().signal;
const limit = AbortSignal.abort(new TimeLimitReached(30_000));
const caller = AbortSignal.abort(new Error('no more'));

/** How far the command had come: its address unknown, known, or it could have started. */
const unknown: Progress = { node: 'pve' };
const located: Progress = { node: 'pve', at };
const started: Progress = { node: 'pve', at, run: { place, at, seconds: 27, signal: open, asked: true } };

const read = (thrown: unknown, progress: Progress, signal: AbortSignal) => readCommandEnd(thrown, progress, signal, 30_000);

describe('readCommandEnd', () => {
  it.each([
    ['before its address was known', unknown, /address of node `pve` was not found within 30\.0s/],
    ['before it was connected', located, /not connected, or no free channel, within 30\.0s; nothing was run/],
    [
      'once it could run',
      started,
      /no end within 30\.0s; if the command still runs, the node's own `timeout` ends it 27 s after its start/,
    ],
  ])('a limit %s', (_when, progress, message) => {
    expect(read(limit.reason, progress, limit)).toMatchObject({
      code: 'ssh_timeout',
      retryable: true,
      message: expect.stringMatching(message) as string,
    });
  });

  it('never says that something may still run when nothing was', () => {
    for (const progress of [unknown, located]) expect((read(limit.reason, progress, limit) as Fault).message).not.toMatch(/still runs/);
  });

  it('a cancel says that the node ends the command only if there is one', () => {
    expect((read(caller.reason, located, caller) as Fault).message).toBe('cancelled by the caller: ssh to `pve`');
    expect(read(caller.reason, started, caller)).toMatchObject({
      code: 'cancelled',
      message: expect.stringContaining("node's own `timeout` ends the command at the latest 27 s after its start") as string,
    });
  });

  it('a lost connection says what may still run', () => {
    expect(read(new ConnectionLost(), started, open)).toMatchObject({
      code: 'ssh_connection_lost',
      message: expect.stringContaining('27 s') as string,
    });
  });

  it('any other failure passes as it is, also when the time is over meanwhile', () => {
    const fault = new Fault('ssh_auth_failed', 'x');
    for (const signal of [open, limit]) {
      expect(read(fault, located, signal)).toMatchObject({ code: 'ssh_auth_failed', message: 'x', effect: { state: 'not_sent' } });
    }
  });
});
