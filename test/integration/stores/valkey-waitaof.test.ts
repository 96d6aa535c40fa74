/**
 * `WAITAOF` against a server by script, since the one that these tests run on may be older than 7.2: what it answers is as documented
 * (https://valkey.io/commands/waitaof/). That an older one is asked with `WAIT` is tried with real servers (`valkey-replicas.test.ts`).
 */
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { Redis } from 'iovalkey';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createReplication } from '#stores/valkey/store-context';

interface Scripted {
  readonly client: Redis;
  /** What it was asked to wait for. */
  readonly asked: string[];
}

/** @param answers by the command's name, as they go over the wire */
async function scripted(answers: Readonly<Record<string, string>>): Promise<Scripted> {
  const asked: string[] = [];
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.on('data', (data) => {
      for (const command of commandsIn(data.toString())) {
        const words = command.join(' ').toUpperCase();
        if (words.startsWith('WAIT')) asked.push(words);
        socket.write(answers[words.split(' ', 1)[0] ?? ''] ?? '+OK\r\n');
      }
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = new Redis({ port: (server.address() as AddressInfo).port, enableReadyCheck: false, maxRetriesPerRequest: 0 });
  onTestFinished(() => {
    client.disconnect();
    server.close();
  });
  await once(client, 'ready');
  return { client, asked };
}

/** Each as its words: `*2`, then length and text of each (RESP 2). */
function commandsIn(text: string): readonly (readonly string[])[] {
  return text
    .split(/^\*\d+\r\n/m)
    .filter((command) => command !== '')
    .map((command) => command.split('\r\n').filter((_, index) => index % 2 === 1));
}

const replication = () => createReplication({ replicas: 1, timeoutMs: 1000, location: 'here' });

describe('a server that has WAITAOF', () => {
  it('is asked for disks, its own and its replicas’', async () => {
    const { client, asked } = await scripted({ WAITAOF: '*2\r\n:1\r\n:1\r\n' });
    const { confirm, require } = replication();
    await require(client);
    await confirm(client);
    expect(asked).toEqual(['WAITAOF 1 1 500', 'WAITAOF 1 1 500']);
  });

  it.each([
    ['no replica has written', '*2\r\n:1\r\n:0\r\n'],
    ['it has not written itself', '*2\r\n:0\r\n:1\r\n'],
  ])('%s: a change is not confirmed', async (_, answer) => {
    const { client } = await scripted({ WAITAOF: answer });
    await expect(replication().confirm(client)).rejects.toMatchObject({ code: 'store_unconfirmed' });
    await expect(replication().require(client)).rejects.toMatchObject({ code: 'store_unavailable' });
  });
});

it.each([
  ['does not know it', "-ERR unknown command 'WAITAOF', with args beginning with: '1' '1' '500' \r\n"],
  ['does not allow it', "-NOPERM User exec has no permissions to run the 'waitaof' command\r\n"],
  ['keeps no file', '-ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled.\r\n'],
])('a server that %s is asked with WAIT, and not again', async (_, answer) => {
  const { client, asked } = await scripted({ WAITAOF: answer, WAIT: ':1\r\n' });
  const { confirm } = replication();
  await confirm(client);
  await confirm(client);
  expect(asked.map((command) => command.split(' ')[0])).toEqual(['WAITAOF', 'WAIT', 'WAIT']);
});
