import { expect, it } from 'vitest';
import { createConnectionPool } from '#connectors/ssh/connection-pool';
import { Fault } from '#kernel/errors';
import { createFakeClock } from '../fake-clock.ts';

it('a connection that never came leaves no timer behind: a command line would wait for it', async () => {
  const clock = createFakeClock();
  const unreadable = new Fault('ssh_known_hosts_unreadable', 'a directory');
  const pool = createConnectionPool({
    clock,
    knownHosts: { path: '/x', read: () => Promise.reject(unreadable) },
    identities: { identityFiles: [] },
    timeoutMs: 1_000,
  });
  const at = { node: 'pve', user: 'root', host: '127.0.0.1', port: 22 };
  await expect(pool.use(at, new AbortController().signal, () => Promise.resolve('ran'))).rejects.toBe(unreadable);
  expect(clock.sleeping).toBe(0);
  pool.close();
});
