/** A witness for the logs of others, over HTTP: every answer of https://c2sp.org/tlog-witness, and what it never does. */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createCosigner } from '#app/witness/cosigner';
import { witnessFiles } from '#app/witness/witness-files';
import { serveWitness } from '#hosts/witness/serve-witness';
import type { Log } from '#kernel/ports/log';
import { temporaryFolder } from '../stores/store-fixtures.ts';
import { isCosigned, testLog } from './witness-log.ts';

const quiet: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

async function bench(log = testLog(), stateDir = temporaryFolder()) {
  const files = witnessFiles(stateDir);
  await files.addLog(log.key);
  const cosigner = await createCosigner(files, quiet);
  const server = await serveWitness({ cosigner, host: '127.0.0.1', port: 0, log: quiet });
  let open = true;
  const close = async () => {
    if (!open) return;
    open = false;
    await server.close();
    await cosigner.close();
  };
  onTestFinished(close);
  const post = async (body: string | Uint8Array) => {
    const answer = await fetch(`${server.url}/add-checkpoint`, { method: 'POST', body });
    return { status: answer.status, type: answer.headers.get('content-type'), text: await answer.text() };
  };
  const file = (end: string) => join(stateDir, 'witness', `${createHash('sha256').update(log.origin).digest('hex')}.${end}`);
  return { ...{ log, files, post, close, stateDir, file }, url: server.url, key: cosigner.key };
}

const conflict = (size: number) => ({ status: 409, type: 'text/x.tlog.size', text: `${size}\n` });

describe('a checkpoint that goes on', () => {
  it('from nothing, from any size, and from itself is cosigned with the witness’s key', async () => {
    const { log, post, key } = await bench();
    let old = 0;
    for (const size of [0, 1, 2, 3, 7, 8, 9, 64, 100, 100]) {
      const { status, text } = await post(log.request(old, size));
      expect([size, status]).toEqual([size, 200]);
      expect(isCosigned(log.note(size), text, key)).toBe(true);
      expect(isCosigned(log.note(size + 1), text, key)).toBe(false);
      old = size;
    }
  });

  it('is remembered by the next process, with the same key', async () => {
    const { log, post, close, stateDir, key } = await bench();
    await post(log.request(0, 5));
    await close();
    const again = await bench(log, stateDir);
    expect(again.key).toBe(key);
    expect(await again.post(log.request(0, 9))).toEqual(conflict(5));
    expect(await again.post(log.request(5, 9))).toMatchObject({ status: 200 });
    const { note = '' } = await again.files.head(log.origin);
    expect(note.startsWith(log.note(9))).toBe(true);
    expect(isCosigned(log.note(9), note.slice(log.note(9).length), key)).toBe(true);
  });

  it('may bear signatures of others, which are not kept', async () => {
    const { log, post, files } = await bench();
    const stranger = testLog('other.example');
    const [, other = ''] = stranger.note(3).split('\n\n');
    expect(await post(`old 0\n\n${log.note(3)}${other}`)).toMatchObject({ status: 200 });
    expect((await files.head(log.origin)).note).not.toContain('other.example');
  });
});

describe('what is refused', () => {
  it('another old size than the witness’s: with the size that it has', async () => {
    const { log, post } = await bench();
    expect(await post(log.request(2, 5))).toEqual(conflict(0));
    await post(log.request(0, 5));
    for (const [old, size] of [
      [0, 5],
      [4, 5],
      [4, 9],
      [0, 3],
      [3, 3],
      [7, 9],
    ] as const)
      expect(await post(log.request(old, size))).toEqual(conflict(5));
  });

  it('another tree of the same size, and one that does not go on; the first is kept as evidence', async () => {
    const { log, post, files } = await bench();
    await post(log.request(0, 6));
    expect(await files.refused(log.origin)).toBeUndefined();
    expect(await post(log.request(6, 6, 'b'))).toEqual(conflict(6));
    expect(await files.refused(log.origin)).toBe(log.note(6, 'b'));
    expect(await post(log.request(6, 11, 'b'))).toMatchObject({ status: 422 });
    expect(await files.refused(log.origin)).toBe(log.note(6, 'b'));
    const [first, ...rest] = log.request(6, 11).split('\n');
    expect(await post([first, ...rest.slice(1)].join('\n'))).toMatchObject({ status: 422 });
    expect(await post([first, log.root(3), ...rest].join('\n'))).toMatchObject({ status: 422 });
    expect(await post(log.request(6, 6).replace('\n', `\n${log.root(3)}\n`))).toMatchObject({ status: 422 });
    expect(await post(log.request(6, 11))).toMatchObject({ status: 200 });
  });

  it('a log that nobody named, and one whose key is another', async () => {
    const { log, post } = await bench();
    expect(await post(testLog('unknown.example').request(0, 3))).toMatchObject({ status: 404 });
    expect(await post(testLog(log.origin).request(0, 3))).toMatchObject({ status: 403 });
    const forged = log.request(0, 3).replace(log.root(3), log.root(4));
    expect(await post(forged)).toMatchObject({ status: 403 });
    expect(await post(log.request(0, 3))).toMatchObject({ status: 200 });
  });

  it('what is no request', async () => {
    const { log, post } = await bench();
    const good = log.request(0, 3);
    await post(good);
    const next = log.request(3, 9);
    const bad = {
      nothing: '',
      'no empty line': good.replaceAll('\n\n', '\n'),
      'old is larger': log.request(9, 3),
      'no old': next.replace('old 3\n', ''),
      'leading zero': next.replace('old 3', 'old 03'),
      negative: next.replace('old 3', 'old -3'),
      'two spaces': next.replace('old 3', 'old  3'),
      'no number': next.replace('old 3', 'old x'),
      'a hash too short': next.replace('\n', '\nAAAA\n'),
      'a hash with bits left over': next.replace('\n', `\n${'A'.repeat(42)}B=\n`),
      '64 hashes': next.replace('\n', `\n${`${log.root(1)}\n`.repeat(64)}`),
      'size with a leading zero': next.replace('\n9\n', '\n09\n'),
      'no signature': next.slice(0, next.lastIndexOf('—')),
      'no line feed at the end': next.slice(0, -1),
      'carriage returns': next.replaceAll('\n', '\r\n'),
      'a NUL': next.replace('old 3', 'old 3\0'),
    };
    for (const [what, body] of Object.entries(bad)) expect([what, (await post(body)).status]).toEqual([what, 400]);
    expect(await post(Buffer.concat([Buffer.from(next), Buffer.of(0xff, 0x0a)]))).toMatchObject({ status: 400 });
    expect(await post(next)).toMatchObject({ status: 200 });
  });

  it('another path, another method, too much', async () => {
    const { url, log, post } = await bench();
    const status = async (path: string, init: RequestInit) => (await fetch(`${url}${path}`, init)).status;
    expect(await status('/', { method: 'POST', body: log.request(0, 3) })).toBe(404);
    expect(await status('/add-checkpoint/', { method: 'POST', body: log.request(0, 3) })).toBe(404);
    expect(await status('/add-checkpoint', {})).toBe(405);
    expect(await status('/add-checkpoint', { method: 'PUT', body: log.request(0, 3) })).toBe(405);
    expect(await post(log.request(0, 3) + 'x'.repeat(64 * 1024))).toMatchObject({ status: 413 });
    expect(await post(log.request(0, 3))).toMatchObject({ status: 200 });
  });

  it('a connection that says nothing, and one that stops in the middle, are closed and hold nobody up', async () => {
    const { url, log, post } = await bench();
    const { port } = new URL(url);
    const closed = [
      `POST /add-checkpoint HTTP/1.1\r\n`,
      'POST /add-checkpoint HTTP/1.1\r\nhost: x\r\ncontent-length: 900\r\n\r\nold 0\n',
    ].map((start) => {
      const socket = connect(Number(port), '127.0.0.1', () => socket.write(start));
      onTestFinished(() => void socket.destroy());
      return new Promise<void>((resolve) =>
        socket
          .on('error', () => undefined)
          .on('close', () => resolve())
          .resume(),
      );
    });
    expect(await post(log.request(0, 3))).toMatchObject({ status: 200 });
    await Promise.all(closed);
  }, 120_000);
});

describe('many at once', () => {
  it('two branches of one log: one of them alone is cosigned, and no size twice', async () => {
    const log = testLog('log.example/two-branches', 4);
    const { post, key } = await bench(log);
    await post(log.request(0, 4));
    const cosigned = new Map<number, Set<string>>();
    let size = 4;
    for (let round = 0; round < 6; round += 1) {
      const asked = Array.from({ length: 12 }, (_, at) => ({ to: size + 1 + (at % 3), branch: at % 2 === 0 ? 'a' : 'b' }));
      const answers = await Promise.all(
        asked.map(async ({ to, branch }) => ({ to, branch, ...(await post(log.request(size, to, branch))) })),
      );
      expect(answers.filter(({ status }) => ![200, 409, 422].includes(status))).toEqual([]);
      const signed = answers.filter(({ status }) => status === 200);
      expect(signed.every(({ to, branch, text }) => isCosigned(log.note(to, branch), text, key))).toBe(true);
      for (const { to, branch } of signed) cosigned.set(to, (cosigned.get(to) ?? new Set()).add(branch));
      size = Math.max(size, ...signed.map(({ to }) => to));
    }
    expect(size).toBeGreaterThan(4);
    expect(new Set([...cosigned.values()].flatMap((branches) => [...branches])).size).toBe(1);
  });

  it('logs do not know of each other', async () => {
    const { log, post, files } = await bench();
    const other = testLog('other.example');
    await files.addLog(other.key);
    const answers = await Promise.all([log, other].map((one) => post(one.request(0, 7))));
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    expect(await post(log.request(7, 8))).toMatchObject({ status: 200 });
    expect(await post(other.request(8, 9))).toEqual(conflict(7));
  });
});

describe('the files', () => {
  it('are of this user alone, and one process at a time has them', async () => {
    const { log, post, files, stateDir } = await bench();
    await post(log.request(0, 3));
    const folder = join(stateDir, 'witness');
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    for (const name of readdirSync(folder).filter((one) => !one.includes('.lock')))
      expect([name, statSync(join(folder, name)).mode & 0o777]).toEqual([name, 0o600]);
    await expect(createCosigner(files, quiet)).rejects.toMatchObject({ code: 'already_running' });
    expect(await post(log.request(3, 4))).toMatchObject({ status: 200 });
  });

  it('that are gone or damaged are no beginning: nothing is cosigned', async () => {
    const { log, post, file } = await bench();
    await post(log.request(0, 3));
    const head = readFileSync(file('head'));
    for (const damage of [
      () => rmSync(file('head')),
      () => writeFileSync(file('head'), head.subarray(0, 20), { mode: 0o600 }),
      () => writeFileSync(file('head'), '', { mode: 0o600 }),
    ]) {
      damage();
      for (const old of [0, 3]) expect(await post(log.request(old, 5, old === 0 ? 'b' : 'a'))).toMatchObject({ status: 500 });
    }
    writeFileSync(file('head'), head, { mode: 0o600 });
    expect(await post(log.request(3, 5))).toMatchObject({ status: 200 });
  });

  it('remember what was cosigned of a log that was removed and named again', async () => {
    const { log, post, files } = await bench();
    await post(log.request(0, 5));
    await files.removeLog(log.origin);
    expect(await post(log.request(5, 6))).toMatchObject({ status: 404 });
    await files.addLog(log.key);
    expect(await post(log.request(0, 6, 'b'))).toEqual(conflict(5));
    expect(await post(log.request(5, 6))).toMatchObject({ status: 200 });
    await expect(files.removeLog('nobody.example')).rejects.toMatchObject({ code: 'not_found' });
  });

  it('know several keys of one log: any of them may sign', async () => {
    const { log, post, files } = await bench();
    const renewed = testLog(log.origin);
    await post(log.request(0, 5));
    expect(await post(renewed.request(5, 6))).toMatchObject({ status: 403 });
    await files.addLog(renewed.key);
    expect(await post(renewed.request(5, 6))).toMatchObject({ status: 200 });
    expect(await post(log.request(6, 7))).toMatchObject({ status: 200 });
  });

  it('take no key that is a witness’s, or none', async () => {
    const { files, key } = await bench();
    for (const text of [key, 'nothing', '']) await expect(files.addLog(text)).rejects.toMatchObject({ code: 'bad_log_key' });
  });
});
