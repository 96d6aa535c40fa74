/** Checkpoints go to witnesses of every kind, and each finds a trail that was set back or rewritten. */
import { execFileSync } from 'node:child_process';
import { appendFileSync, copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it, onTestFinished } from 'vitest';
import { witnessesSchema } from '#app/config/witness-schema';
import { trailLog } from '#app/store/trail-log';
import { checkpointsIn } from '#app/witness/witness';
import { sendCheckpoints, startWitnessing, witnessFindings } from '#app/witness/witnesses';
import type { Log } from '#kernel/ports/log';
import type { Store } from '#kernel/ports/store';
import { openTestStore, temporaryFolder } from '../stores/store-fixtures.ts';
import { serve, startTimestampServer, startWitness } from './witness-server.ts';

const quiet: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

async function bench() {
  const folder = temporaryFolder();
  const stateDir = join(folder, 'state');
  const file = join(stateDir, 'banksman.db');
  let store = await openTestStore({ file });
  const log = () => trailLog(store.audit, { stateDir });
  const parts = (witnesses: unknown) => ({
    ...{ witnesses: witnessesSchema.parse(witnesses) ?? [], stateDir, baseDir: folder, log: quiet },
    ...{ audit: store.audit, checkpoint: log().checkpoint },
  });
  await write(store, 3);
  return {
    ...{ folder, stateDir, log, parts },
    write: (count: number) => write(store, count),
    send: (witnesses: unknown) => sendCheckpoints(parts(witnesses)),
    size: async () => (await store.audit.tree?.state())?.size,
    /** The store's file as it is now, to be put back later. */
    copy: () => {
      const raw = new DatabaseSync(file);
      raw.exec('PRAGMA wal_checkpoint(TRUNCATE)');
      raw.close();
      copyFileSync(file, join(folder, 'older.db'));
    },
    putBack: async () => {
      await store.close();
      for (const end of ['', '-wal', '-shm']) rmSync(`${file}${end}`, { force: true });
      copyFileSync(join(folder, 'older.db'), file);
      store = await openTestStore({ file });
    },
    /** Takes the store away, and what is remembered of the witnesses with it. */
    begin: async () => {
      await store.close();
      for (const name of [file, `${file}-wal`, `${file}-shm`, join(stateDir, 'witnessed.json')]) rmSync(name, { force: true });
      store = await openTestStore({ file });
      await write(store, 9);
    },
  };
}

async function write(store: Store, count: number): Promise<void> {
  for (let index = 0; index < count; index += 1) await store.audit.append({ name: 'tool.finished', attributes: { index } });
}

const another = { state: 'failed', message: expect.stringContaining('another trail') };
const older = { state: 'failed', message: expect.stringContaining('older copy') };

describe('a file elsewhere', () => {
  it('gets every checkpoint added, and shows an older copy of the store that was put back', async () => {
    const { folder, write: more, send, size, copy, putBack } = await bench();
    const file = join(folder, 'elsewhere');
    const witnesses = [{ file }];
    expect(await send(witnesses)).toMatchObject([{ state: 'ok' }]);
    copy();
    await more(300);
    expect(await send(witnesses)).toMatchObject([{ state: 'ok', message: expect.stringContaining(`${await size()} records`) }]);
    expect(await send(witnesses)).toMatchObject([{ state: 'ok' }]);
    expect(checkpointsIn(readFileSync(file, 'utf8')).map((one) => one.size)).toEqual([4, 304]);
    await putBack();
    expect(await send(witnesses)).toMatchObject([older]);
    expect(checkpointsIn(readFileSync(file, 'utf8'))).toHaveLength(2);
  });

  it('shows a store that was made anew, and gets nothing of it', async () => {
    const { folder, send, begin } = await bench();
    const witnesses = [{ file: join(folder, 'elsewhere') }];
    expect(await send(witnesses)).toMatchObject([{ state: 'ok' }]);
    await begin();
    expect(await send(witnesses)).toMatchObject([another]);
    expect(checkpointsIn(readFileSync(join(folder, 'elsewhere'), 'utf8'))).toHaveLength(1);
    // What a person gives it then.
    expect(await send([{ file: join(folder, 'new-list') }])).toMatchObject([{ state: 'ok' }]);
  });

  it('shows a rewritten trail, though its checkpoint was added to the list', async () => {
    const { folder, log, write: more, send, copy, putBack } = await bench();
    const file = join(folder, 'elsewhere');
    await send([{ file }]);
    copy();
    await more(300);
    await send([{ file }]);
    await putBack();
    await more(400);
    appendFileSync(file, `\n${(await log().checkpoint()).note}`);
    expect(await send([{ file }])).toMatchObject([{ state: 'failed', message: expect.stringContaining('rewritten') }]);
  });

  it('that cannot be written is said with since when, and gets the next one', async () => {
    const { folder, stateDir, write: more, send } = await bench();
    const file = join(folder, 'not-yet', 'elsewhere');
    const witnesses = [{ file }];
    const [failed] = await send(witnesses);
    expect(failed).toMatchObject({ topic: 'witness', state: 'warning', message: expect.stringMatching(/fails since .*ENOENT/s) });
    await more(1);
    const [again] = await witnessFindings({ witnesses: witnessesSchema.parse(witnesses) ?? [], stateDir });
    expect(again).toEqual(failed);
    mkdirSync(join(folder, 'not-yet'));
    expect(await send(witnesses)).toMatchObject([{ state: 'ok' }]);
  });
});

describe('a witness over HTTP', () => {
  it('gets proofs that the trail goes on, and its cosignature is kept', async () => {
    const { stateDir, log, write: more, send } = await bench();
    const witness = await startWitness((await log().checkpoint()).key);
    const witnesses = [{ witness: `${witness.url}/`, key: witness.key }];
    for (const count of [0, 1, 260, 0]) {
      await more(count);
      expect(await send(witnesses)).toMatchObject([{ state: 'ok' }]);
    }
    expect(witness.answered).toEqual([200, 200, 200, 200]);
    expect(readFileSync(join(stateDir, 'witnessed.json'), 'utf8')).toContain('— witness.example/w1 ');
  });

  it('that knows more than is remembered here says how much, and gets the proof from there', async () => {
    const { stateDir, log, write: more, send } = await bench();
    const witness = await startWitness((await log().checkpoint()).key);
    const witnesses = [{ witness: witness.url, key: witness.key }];
    await send(witnesses);
    rmSync(join(stateDir, 'witnessed.json'));
    await more(7);
    expect(await send(witnesses)).toMatchObject([{ state: 'ok' }]);
    expect(witness.answered).toEqual([200, 409, 200]);
  });

  it('finds an older copy and a rewritten trail', async () => {
    const { log, write: more, send, copy, putBack } = await bench();
    const witness = await startWitness((await log().checkpoint()).key);
    const witnesses = [{ witness: witness.url, key: witness.key }];
    copy();
    await more(5);
    expect(await send(witnesses)).toMatchObject([{ state: 'ok' }]);
    await putBack();
    expect(await send(witnesses)).toMatchObject([older]);
    await more(9);
    expect(await send(witnesses)).toMatchObject([{ state: 'failed', message: expect.stringContaining('rewritten') }]);
  });

  it('that signs with another key than the configured one, does not know the log, or does not answer, has failed', async () => {
    const { log, send } = await bench();
    const witness = await startWitness((await log().checkpoint()).key);
    witness.lie();
    expect(await send([{ witness: witness.url, key: witness.key }])).toMatchObject([
      { state: 'warning', message: expect.stringContaining('signature') },
    ]);
    const stranger = await startWitness(`another/log+00000000+${Buffer.alloc(33).toString('base64')}`);
    expect(await send([{ witness: stranger.url, key: stranger.key }])).toMatchObject([
      { state: 'warning', message: expect.stringContaining('404') },
    ]);
    expect(await send([{ witness: 'http://127.0.0.1:9', key: witness.key }])).toMatchObject([{ state: 'warning' }]);
  });
});

describe('a Git remote', () => {
  it('gets a commit for each checkpoint on top of the last, and shows an older copy and a store that was made anew', async () => {
    const { folder, write: more, send, copy, putBack, begin } = await bench();
    const remote = join(folder, 'remote.git');
    const git = (...args: readonly string[]) => execFileSync('git', ['-C', remote, ...args], { encoding: 'utf8' });
    execFileSync('git', ['init', '-q', '--bare', remote]);
    const witnesses = [{ git: remote }];
    expect(await send(witnesses)).toMatchObject([{ state: 'ok' }]);
    copy();
    await more(2);
    expect(await send(witnesses)).toMatchObject([{ state: 'ok' }]);
    expect(await send(witnesses)).toMatchObject([{ state: 'ok' }]);
    expect(git('log', '--format=%s', 'checkpoints').trim().split('\n')).toEqual(['Checkpoint of 6 records', 'Checkpoint of 4 records']);
    expect(checkpointsIn(git('show', 'checkpoints:checkpoint'))).toMatchObject([{ size: 6 }]);
    await putBack();
    expect(await send(witnesses)).toMatchObject([older]);
    await begin();
    expect(await send(witnesses)).toMatchObject([another]);
  });

  it('that is not there has failed, and one that would run a program is no remote', async () => {
    const { folder, send } = await bench();
    expect(await send([{ git: join(folder, 'nothing.git') }])).toMatchObject([
      { state: 'warning', message: expect.stringContaining('git ls-remote') },
    ]);
    const mark = join(folder, 'ran');
    for (const remote of [`ext::sh -c touch% ${mark}`, '--upload-pack=touch', 'relative/path'])
      expect(witnessesSchema.safeParse([{ git: remote }]).success).toBe(false);
    expect(existsSync(mark)).toBe(false);
  });
});

describe('a time stamp server', () => {
  it('gives a token for the checkpoint that OpenSSL verifies, and for no other', async () => {
    const { folder, stateDir, write: more, send } = await bench();
    const url = await startTimestampServer(folder);
    expect(await send([{ timestamp: url }])).toMatchObject([{ state: 'ok' }]);
    const { answer } = (JSON.parse(readFileSync(join(stateDir, 'witnessed.json'), 'utf8')) as Record<string, { last: { answer: string } }>)[
      `timestamp ${url}`
    ]?.last ?? { answer: '' };
    const note = answer.replace(/tsr$/, 'note');
    const verify = (data: string) =>
      execFileSync('openssl', ['ts', '-verify', '-data', data, '-in', answer, '-CAfile', join(folder, 'ca.pem')], {
        encoding: 'utf8',
        stdio: 'pipe',
      });
    expect(verify(note)).toContain('Verification: OK');
    writeFileSync(join(folder, 'other.note'), readFileSync(note, 'utf8').replace('4', '5'));
    expect(() => verify(join(folder, 'other.note'))).toThrow('ts -verify');
    await more(1);
    expect(await send([{ timestamp: await serve(() => ({ status: 200, body: readFileSync(answer) })) }])).toMatchObject([
      { state: 'warning', message: expect.stringContaining('something else') },
    ]);
  });

  it('that refuses, or answers what is none, has failed', async () => {
    const { send } = await bench();
    const refusing = await serve(() => ({ status: 200, body: Buffer.from('30053003020102', 'hex') }));
    expect(await send([{ timestamp: refusing }])).toMatchObject([{ state: 'warning', message: expect.stringContaining('status 2') }]);
    const other = await serve(() => ({ status: 200, body: 'hello' }));
    expect(await send([{ timestamp: other }])).toMatchObject([{ state: 'warning', message: expect.stringContaining('no time stamp') }]);
    const endless = await serveEndlessly();
    expect(await send([{ timestamp: endless }])).toMatchObject([
      { state: 'warning', message: expect.stringContaining('more than 65536 bytes') },
    ]);
  });
});

describe('a process that stays', () => {
  it('sends soon after its start, and ends at once though a witness does not answer', async () => {
    const { folder, stateDir, parts } = await bench();
    const file = join(folder, 'elsewhere');
    const { witnesses, ...rest } = parts([{ file }]);
    const witnessing = startWitnessing({ ...rest, config: { witnesses }, stays: true });
    await expect.poll(() => existsSync(file)).toBe(true);
    await witnessing.close();
    expect(await witnessFindings({ witnesses, stateDir })).toMatchObject([{ state: 'ok' }]);
    const hung = Promise.withResolvers<void>();
    const silent = await serveNothing(hung.resolve);
    const { witnesses: none } = parts([{ timestamp: silent }]);
    const waiting = startWitnessing({ ...rest, config: { witnesses: none }, stays: true });
    await hung.promise;
    await waiting.close();
  });

  it('of a user beside the service sends nothing', async () => {
    const { folder, parts } = await bench();
    const file = join(folder, 'elsewhere');
    const { witnesses, ...rest } = parts([{ file }]);
    await startWitnessing({ ...rest, config: { witnesses }, stays: true, service: {} }).close();
    expect(existsSync(file)).toBe(false);
  });
});

/** Takes requests and never answers. */
function serveNothing(onRequest: () => void): Promise<string> {
  return serveRaw(onRequest);
}

/** Answers as long as anybody reads. */
function serveEndlessly(): Promise<string> {
  const zeros = Buffer.alloc(64 * 1024);
  return serveRaw((_request, response) => {
    const goOn = (): void => {
      while (response.write(zeros));
    };
    response.on('drain', goOn).on('error', () => undefined);
    goOn();
  });
}

async function serveRaw(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
}
