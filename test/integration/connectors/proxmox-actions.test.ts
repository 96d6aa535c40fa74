import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import type { GuestAction, GuestRef } from '#kernel/ports/cluster';
import { useCleanup } from './cleanup.ts';
import { fasterClock } from './faster-clock.ts';
import { closedPort, clientOf as connect, data, failure, type Handler, never, type PveServer, startPve, tokenId } from './pve-server.ts';

const start = useCleanup();
const clock = fasterClock(3);
const clientOf: typeof connect = (servers, options) => connect(servers, { clock, timeoutMs: 30_000, ...options });
const vm: GuestRef = { node: 'pve', vmid: 100, guestType: 'qemu' };
const ct: GuestRef = { node: 'pve', vmid: 201, guestType: 'lxc' };

let counter = 0;
/** A task id no other call has returned. */
function upid(type: string, vmid: number, user = tokenId): string {
  counter++;
  return `UPID:pve:${counter.toString(16).padStart(8, '0').toUpperCase()}:00067A48:6B01FA40:${type}:${vmid}:${user}:`;
}

interface Node extends PveServer {
  /** The cluster's task list, newest first. */
  readonly tasks: string[];
  posts(): number;
}

/** A node that answers `/cluster/tasks` truthfully and does with an action what `onPost` says. */
async function node(onPost: (tasks: string[], ...rest: Parameters<Handler>) => void, tasks: string[] = []): Promise<Node> {
  const server = await startPve((request, response, seen) => {
    if (seen.method === 'GET')
      return data(
        response,
        tasks.map((one) => ({ upid: one, node: 'pve' })),
      );
    onPost(tasks, request, response, seen);
  });
  return start({ ...server, tasks, posts: () => server.seen.filter((one) => one.method === 'POST').length });
}

describe('an action', () => {
  it.each([
    [vm, 'start', '/api2/json/nodes/pve/qemu/100/status/start'],
    [vm, 'reboot', '/api2/json/nodes/pve/qemu/100/status/reboot'],
    [ct, 'stop', '/api2/json/nodes/pve/lxc/201/status/stop'],
  ] as [GuestRef, GuestAction, string][])('%o %s is one POST without parameters, and gives the task', async (guest, action, path) => {
    const task = upid('x', guest.vmid);
    const server = await node((_tasks, _request, response) => data(response, task));
    const client = start(clientOf([server]));
    await expect(client.changeGuest(guest, action, never)).resolves.toBe(task);
    expect(server.seen.filter((one) => one.method === 'POST')).toMatchObject([{ path, body: '' }]);
  });

  it('a shutdown carries its time and what comes after it, and nothing else', async () => {
    const server = await node((_tasks, _request, response) => data(response, upid('qmshutdown', 100)));
    const client = start(clientOf([server]));
    await client.changeGuest(vm, 'shutdown', never, { timeoutSeconds: 30, forceStop: true });
    expect(server.seen.filter((one) => one.method === 'POST')).toMatchObject([
      { path: '/api2/json/nodes/pve/qemu/100/status/shutdown', body: 'timeout=30&forceStop=1' },
    ]);
  });

  it.each(['template', 'migrate', '../../../access/users', ''])('`%s` is not sent', async (action) => {
    const server = await node((_tasks, _request, response) => data(response, upid('x', 100)));
    const client = start(clientOf([server]));
    await expect(client.changeGuest(vm, action as GuestAction, never)).rejects.toMatchObject({ code: 'bad_target' });
    expect(server.seen).toEqual([]);
  });

  it('that the API refuses is a fault, not an unknown outcome', async () => {
    const server = await node((_tasks, _request, response) => failure(response, 500, 'CT 201 already running'));
    const client = start(clientOf([server]));
    await expect(client.changeGuest(ct, 'start', never)).rejects.toMatchObject({
      code: 'pve_error',
      message: expect.stringContaining('already running') as string,
    });
    expect(server.posts()).toBe(1);
  });

  it('whose node is down for certain (595) is not looked for', async () => {
    const server = await node((_tasks, _request, response) => failure(response, 595, 'Connection refused'));
    const client = start(clientOf([server]));
    await expect(client.changeGuest(vm, 'stop', never)).rejects.toMatchObject({ code: 'pve_node_unreachable' });
    expect(server.seen.map((one) => one.method)).toEqual(['GET', 'POST']);
  });

  it('is not sent at all when the task list cannot be read first', async () => {
    const server = start(await startPve((_request, response) => failure(response, 500, 'got no worker')));
    const client = start(clientOf([server]));
    await expect(client.changeGuest(vm, 'stop', never)).rejects.toMatchObject({ code: 'pve_error' });
    expect(server.seen.map((one) => one.method)).toEqual(['GET']);
  });
});

/** Ways to lose the answer of an action that was carried out. */
const losses: Record<string, Handler> = {
  'the connection is reset': (request) => request.socket.destroy(),
  'it ends in the middle': (request, response) => {
    response.writeHead(200, { 'content-length': '500' });
    response.write('{"data":"UPID', () => request.socket.destroy());
  },
  'it hangs': () => undefined,
  'it is not JSON': (_request, response) => response.end('<html>'),
  'it names no task': (_request, response) => data(response, null),
  'a proxy gives up (504)': (_request, response) => failure(response, 504, 'Gateway Time-out'),
  'the node behind breaks off (596)': (_request, response) => failure(response, 596, 'Connection timed out'),
  'something is odd (599)': (_request, response) => failure(response, 599, 'Too many redirections'),
};

describe.each(Object.entries(losses))('when the answer is lost because %s', (_what, lose) => {
  it('finds the task it started', async () => {
    const server = await node(
      (tasks, ...rest) => {
        tasks.unshift(upid('qmstop', 100));
        lose(...rest);
      },
      [upid('qmstop', 100), upid('qmstart', 100)],
    );
    const other = await node((_tasks, _request, response) => data(response, upid('qmstop', 100)));
    const client = start(clientOf([server, other]));
    const found = await client.changeGuest(vm, 'stop', never);
    expect(found).toBe(server.tasks[0]);
    expect(server.posts() + other.posts()).toBe(1);
  });
});

describe('when the answer is lost', () => {
  const reset: Handler = (request) => request.socket.destroy();

  it('waits for a task that shows late', async () => {
    let looks = 0;
    const late = upid('qmstop', 100);
    const server = start(
      await startPve((request, response, seen) => {
        if (seen.method === 'POST') return request.socket.destroy();
        data(response, ++looks > 2 ? [{ upid: late }] : []);
      }),
    );
    const client = start(clientOf([server]));
    await expect(client.changeGuest(vm, 'stop', never)).resolves.toBe(late);
  });

  it.each([
    ['of another kind', () => upid('qmstart', 100)],
    ['of another guest', () => upid('qmstop', 101)],
    ['of another user', () => upid('qmstop', 100, 'root@pam')],
    ['of another token of the same user', () => upid('qmstop', 100, 'jarvis@pve!other')],
    ['that is no task at all', () => 'UPID:pve:x'],
  ])('does not take a new task %s for its own', async (_what, task) => {
    const server = await node((tasks, ...rest) => {
      tasks.unshift(task());
      reset(...rest);
    });
    const client = start(clientOf([server]));
    await expect(client.changeGuest(vm, 'stop', never)).rejects.toMatchObject({ code: 'outcome_unknown', retryable: false });
    expect(server.posts()).toBe(1);
  });

  it('does not take an earlier task of the same kind for its own', async () => {
    const server = await node((_tasks, ...rest) => reset(...rest), [upid('qmstop', 100)]);
    const client = start(clientOf([server]));
    await expect(client.changeGuest(vm, 'stop', never)).rejects.toMatchObject({
      code: 'outcome_unknown',
      next: expect.stringContaining('do not repeat') as string,
    });
  });

  it('does not guess between two', async () => {
    const both = [upid('qmstop', 100), upid('qmstop', 100)];
    const server = await node((tasks, ...rest) => {
      tasks.unshift(...both);
      reset(...rest);
    });
    const client = start(clientOf([server]));
    await expect(client.changeGuest(vm, 'stop', never)).rejects.toMatchObject({
      code: 'outcome_unknown',
      message: expect.stringContaining(both.join(', ')) as string,
    });
  });

  it('knows the task of a guest under high availability', async () => {
    const server = await node((tasks, ...rest) => {
      tasks.unshift(upid('hastop', 100));
      reset(...rest);
    });
    const client = start(clientOf([server]));
    const found = await client.changeGuest(vm, 'stop', never);
    expect(found).toBe(server.tasks[0]);
  });

  it('finds the task through another endpoint when the first is gone since', async () => {
    const task = upid('vzstop', 201);
    const second = await node((_tasks, _request, response) => data(response, upid('vzstop', 201)));
    const first = await node((_tasks, request) => {
      second.tasks.unshift(task);
      first.server.close();
      request.socket.destroy();
    });
    const client = start(clientOf([first, second]));
    await expect(client.changeGuest(ct, 'stop', never)).resolves.toBe(task);
    expect(first.posts() + second.posts()).toBe(1);
    start({ close: () => first.server.listen(0) });
  });

  it('says so when the list cannot be read any more', async () => {
    const server = await node((_tasks, request) => {
      server.server.close();
      request.socket.destroy();
    });
    const client = start(clientOf([server]));
    await expect(client.changeGuest(vm, 'stop', never)).rejects.toMatchObject({ code: 'outcome_unknown' });
    start({ close: () => server.server.listen(0) });
  });
});

describe('fail-over of an action', () => {
  it('happens when the connection was refused: nothing can have been sent', async () => {
    const gone = { url: await closedPort() };
    const task = upid('qmstop', 100);
    const good = await node((_tasks, _request, response) => data(response, task));
    // The reads go to the good one first; only the order as configured puts the dead one first for the action.
    const client = start(clientOf([gone, good]));
    await expect(client.changeGuest(vm, 'stop', never)).resolves.toBe(task);
    expect(good.posts()).toBe(1);
  });

  it('happens when the endpoint that answered just now refuses connections', async () => {
    const task = upid('qmstop', 100);
    const second = await node((_tasks, _request, response) => data(response, task));
    const first = start(
      await startPve((_request, response) => {
        first.server.close();
        data(response, []);
      }),
    );
    const client = start(clientOf([first, second]));
    await expect(client.changeGuest(vm, 'stop', never)).resolves.toBe(task);
    expect(first.seen.map((one) => one.method)).toEqual(['GET']);
    expect(second.seen.map((one) => one.method)).toEqual(['POST']);
    start({ close: () => first.server.listen(0) });
  });

  it.each(Object.entries(losses))('does not happen after it was sent: %s', async (_what, lose) => {
    const first = await node((_tasks, ...rest) => lose(...rest));
    const second = await node((_tasks, _request, response) => data(response, upid('qmstop', 100)));
    const client = start(clientOf([first, second]));
    await expect(client.changeGuest(vm, 'stop', never)).rejects.toMatchObject({ code: 'outcome_unknown' });
    expect([first.posts(), second.posts()]).toEqual([1, 0]);
  });
});

describe('cancelling an action', () => {
  it('after it was sent says that its outcome is unknown, and closes the socket', async () => {
    const { promise: arrived, resolve: arrive } = Promise.withResolvers<void>();
    const server = await node(() => arrive());
    const client = start(clientOf([server]));
    const caller = new AbortController();
    const refused = expect(client.changeGuest(vm, 'stop', caller.signal)).rejects.toMatchObject({
      code: 'outcome_unknown',
      message: expect.stringContaining('cancelled by the caller after the request had been sent') as string,
    });
    await arrived;
    const closed = Promise.race([...server.sockets].map((socket) => once(socket, 'close')));
    caller.abort();
    await refused;
    await closed;
    expect(server.posts()).toBe(1);
  });

  it('before it was sent says that it was cancelled', async () => {
    const server = await node((_tasks, _request, response) => data(response, upid('qmstop', 100)));
    const client = start(clientOf([server]));
    await expect(client.changeGuest(vm, 'stop', AbortSignal.abort())).rejects.toMatchObject({ code: 'cancelled' });
    expect(server.posts()).toBe(0);
  });

  it('while the task list is read says that it was cancelled', async () => {
    const caller = new AbortController();
    const server = start(await startPve(() => caller.abort()));
    const client = start(clientOf([server]));
    await expect(client.changeGuest(vm, 'stop', caller.signal)).rejects.toMatchObject({ code: 'cancelled' });
    expect(server.seen.map((one) => one.method)).toEqual(['GET']);
  });
});

describe('tasks', () => {
  it('are asked for on the node that their id names', async () => {
    const text = 'UPID:agent1:0000018F:00067D76:6B01FA48:qmstop:103:jarvis@pve!ops:';
    const server = start(
      await startPve((_request, response, seen) => {
        if (seen.path.includes('/log'))
          return data(response, [
            { n: 1, t: 'TASK OK' },
            { n: 2, t: null },
          ]);
        data(response, { upid: text, node: 'agent1', status: 'stopped', exitstatus: 'WARNINGS: 1' });
      }),
    );
    const client = start(clientOf([server]));
    await expect(client.taskStatus(text, never)).resolves.toEqual({
      upid: text,
      node: 'agent1',
      running: false,
      exitStatus: 'WARNINGS: 1',
    });
    await expect(client.taskLog(text, never)).resolves.toEqual(['TASK OK', '']);
    const encoded = encodeURIComponent(text);
    expect(server.seen.map((one) => one.path)).toEqual([
      `/api2/json/nodes/agent1/tasks/${encoded}/status`,
      `/api2/json/nodes/agent1/tasks/${encoded}/log?limit=500`,
    ]);
  });
});

describe('waking a node', () => {
  it('answers with the MAC address', async () => {
    const server = await node((_tasks, _request, response) => data(response, 'aa:bb:cc:dd:ee:ff'));
    const client = start(clientOf([server]));
    await expect(client.wakeOnLan('agent1', never)).resolves.toBe('aa:bb:cc:dd:ee:ff');
    expect(server.seen).toMatchObject([{ method: 'POST', path: '/api2/json/nodes/agent1/wakeonlan' }]);
  });

  it.each(["'agent1' is local node, cannot wake my self!", "No wake on LAN MAC address defined for 'agent1'!"])(
    'tells why not: %s',
    async (text) => {
      const server = await node((_tasks, _request, response) => failure(response, 500, text));
      const client = start(clientOf([server]));
      await expect(client.wakeOnLan('agent1', never)).rejects.toMatchObject({
        code: 'pve_error',
        message: expect.stringContaining(text) as string,
      });
    },
  );

  it('is not repeated when the answer is lost', async () => {
    const server = await node((_tasks, request) => request.socket.destroy());
    const client = start(clientOf([server]));
    await expect(client.wakeOnLan('agent1', never)).rejects.toMatchObject({ code: 'outcome_unknown', retryable: true });
    expect(server.posts()).toBe(1);
  });
});
