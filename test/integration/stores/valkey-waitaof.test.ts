/**
 * `WAITAOF` (https://valkey.io/commands/waitaof/): with real servers that have it, where one is to be had, and for each answer with one by script. That an
 * older server is asked with `WAIT` is tried with real ones (`valkey-replicas.test.ts`).
 */
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { Redis } from 'iovalkey';
import { describe, expect, it, onTestFinished } from 'vitest';
import { faultMessage } from '#kernel/errors';
import { inWords } from '#kernel/text/message';
import { createReplication } from '#stores/valkey/store-context';
import { readBundle } from '../../../scripts/l10n/translations.ts';
import { onceBack } from './once-back.ts';
import { approved, createApprover } from './store-fixtures.ts';
import { openTestValkey } from './valkey-fixtures.ts';
import { programWithDisks } from './valkey-program.ts';
import { startValkey } from './valkey-server.ts';

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

const replication = () => createReplication({ replicas: 1, timeoutMs: 1000, location: 'here', mark: 'mark' });

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

  it('says what lacks in the reader’s language', async () => {
    const { client } = await scripted({ WAITAOF: '*2\r\n:1\r\n:0\r\n' });
    const german = { tag: 'de', texts: readBundle() };
    const { require, confirm } = replication();
    for (const look of [require, confirm]) {
      const fault: unknown = await look(client).catch((thrown: unknown) => thrown);
      expect(inWords(faultMessage(fault), german)).toMatch(/0 statt 1 Replikate/);
    }
  });
});

const program = programWithDisks();

describe.skipIf(program === undefined)('real servers that have WAITAOF', { timeout: 300_000 }, () => {
  const start = async (config: readonly string[]) => {
    const options = program === undefined ? {} : { program };
    const primary = await startValkey(options);
    const replica = await startValkey({ ...options, replicaOf: primary, config });
    onTestFinished(async () => {
      await replica.close();
      await primary.close();
    });
    const store = await openTestValkey(primary, { url: `${primary.url}?replicas=1`, timeoutMs: 60_000 });
    return { primary, replica, store };
  };
  const approver = createApprover();

  it('a grant is used once the replica has it on its disk, and none is asked with WAIT', async () => {
    const { primary, replica, store } = await start([]);
    const { id, digest } = await onceBack(() => approved(store, approver, Date.now()));
    expect(await onceBack(() => store.requests.consume(id, digest, 'x'))).toMatchObject({ ok: true });
    const asked = await primary.operator.info('commandstats');
    expect(asked).toMatch(/^cmdstat_waitaof:calls=[1-9]/m);
    expect(asked).not.toMatch(/^cmdstat_wait:calls/m);
    await replica.kill();
    await replica.start();
    await replica.operator.replicaof('NO', 'ONE');
    const promoted = await openTestValkey(replica);
    expect(await promoted.requests.consume(id, digest, 'y')).toMatchObject({ ok: false, record: { status: 'consumed' } });
  });

  it('what a replica has in its memory alone is not confirmed: no call runs for it', async () => {
    const { primary, replica, store } = await start([]);
    const { id, digest } = await onceBack(() => approved(store, approver, Date.now()));
    await replica.operator.config('SET', 'appendonly', 'no');
    const brief = await openTestValkey(primary, { url: `${primary.url}?replicas=1`, timeoutMs: 2000 });
    await expect(brief.requests.consume(id, digest, 'x')).rejects.toMatchObject({
      code: expect.stringMatching(/^store_(?:unavailable|unconfirmed)$/),
    });
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
