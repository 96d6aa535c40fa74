/** Checkpoints and proofs through the command line: what somebody who kept one finds, and what a script without Banksman says. */
import { spawnSync } from 'node:child_process';
import { appendFileSync, copyFileSync, existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type Bench, startBench } from './support.ts';

let bench: Bench;
let key = '';

beforeAll(async () => {
  bench = await startBench();
  await callSome(3);
  key = (await bench.run(['audit', 'key'])).stdout.trim();
}, 120_000);
afterAll(() => bench.close());

async function callSome(count: number): Promise<void> {
  for (let done = 0; done < count; done += 1) await bench.call('list_nodes');
}

async function checkpoint(): Promise<string> {
  const { status, stdout } = await bench.run(['audit', 'checkpoint']);
  expect(status).toBe(0);
  return stdout;
}

const script = join(import.meta.dirname, '../../../docs/check-proof.mjs');

function check(proof: unknown, by = key) {
  const file = join(bench.folder, 'proof.json');
  writeFileSync(file, JSON.stringify(proof));
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, file, by], { encoding: 'utf8' });
  return { status, said: stdout + stderr };
}

const store = () => join(bench.state, 'banksman.db');

/** Puts back the store as it was, whatever the test does to it. */
function keepStore(): void {
  const copy = join(bench.folder, 'store-as-it-was.db');
  fold();
  copyFileSync(store(), copy);
  onTestFinished(() => putIn(copy));
}

/** All of it in one file. */
function fold(): void {
  const raw = new DatabaseSync(store());
  raw.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  raw.close();
}

function putIn(copy: string | undefined): void {
  for (const end of ['', '-wal', '-shm']) rmSync(`${store()}${end}`, { force: true });
  if (copy !== undefined) copyFileSync(copy, store());
}

describe('a checkpoint', () => {
  it('is a signed note of three lines by the key that `audit key` shows, and that the trail has named', async () => {
    const note = await checkpoint();
    const [origin = '', size, root, empty, signature] = note.split('\n');
    expect(key).toMatch(/^banksman\/trail\/[0-9a-f]{32}\+[0-9a-f]{8}\+[A-Za-z0-9+/]{44}$/);
    expect(origin).toBe(key.split('+')[0]);
    expect(Number(size)).toBeGreaterThan(3);
    expect(Buffer.from(root ?? '', 'base64')).toHaveLength(32);
    expect([empty, signature?.startsWith(`— ${origin} `)]).toEqual(['', true]);
    const tail = await bench.run(['audit', 'tail', '--json']);
    const named = tail.stdout.split('\n').filter((line) => line.includes('"audit.key"'));
    expect(named).toHaveLength(1);
    expect(JSON.parse(named[0] ?? '')).toMatchObject({ attributes: { key } });
    expect(statSync(join(bench.state, 'log.key')).mode & 0o777).toBe(0o600);
  });

  it('shows with `--since` that a later trail goes on from it: as a file, and as text', async () => {
    const file = join(bench.folder, 'kept.note');
    await bench.run(['audit', 'checkpoint', '--output', file]);
    await callSome(2);
    for (const since of [file, readFileSync(file, 'utf8')])
      expect(await bench.run(['audit', 'verify', '--since', since])).toMatchObject({
        status: 0,
        stdout: expect.stringContaining('goes on from the checkpoint'),
      });
    writeFileSync(file, 'this is nothing\n');
    expect(await bench.run(['audit', 'verify', '--since', file])).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('checkpoint'),
    });
  });

  it('finds an older copy that was put back, and a store that was made anew', async () => {
    keepStore();
    const old = join(bench.folder, 'older.db');
    copyFileSync(store(), old);
    await callSome(2);
    const note = await checkpoint();
    putIn(old);
    expect(await bench.run(['audit', 'verify'])).toMatchObject({ status: 0 });
    expect(await bench.run(['audit', 'verify', '--since', note])).toMatchObject({
      status: 1,
      stdout: expect.stringContaining('older copy'),
    });
    putIn(undefined);
    await callSome(1);
    expect(existsSync(store())).toBe(true);
    expect(await bench.run(['audit', 'verify'])).toMatchObject({ status: 0 });
    expect(await bench.run(['audit', 'verify', '--since', note])).toMatchObject({
      status: 1,
      stdout: expect.stringContaining('another trail'),
    });
  });
});

describe('a list of checkpoints', () => {
  it('shows a rewritten trail and one made anew, whatever was added to it since', async () => {
    keepStore();
    const list = join(bench.folder, 'list');
    writeFileSync(list, await checkpoint());
    const old = join(bench.folder, 'older-still.db');
    copyFileSync(store(), old);
    await callSome(2);
    appendFileSync(list, `\n${await checkpoint()}`);
    expect(await bench.run(['audit', 'verify', '--since', list])).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(/goes on from the checkpoint of \d+ records, and from all 2 of the list/),
    });
    for (const [place, found] of [
      [old, 'rewritten'],
      [undefined, 'another trail'],
    ] as const) {
      putIn(place);
      await callSome(4);
      appendFileSync(list, `\n${await checkpoint()}`);
      expect(await bench.run(['audit', 'verify', '--since', list])).toMatchObject({ status: 1, stdout: expect.stringContaining(found) });
    }
  });
});

describe('the trail as static files', () => {
  it('is written, and added to', async () => {
    const folder = join(bench.folder, 'tiles');
    const first = JSON.parse((await bench.run(['audit', 'tiles', folder, '--json'])).stdout) as { checkpoint: { size: number } };
    await callSome(1);
    expect(await bench.run(['audit', 'tiles', folder])).toMatchObject({ status: 0, stdout: expect.stringContaining('bundles of entries') });
    const note = readFileSync(join(folder, 'checkpoint'), 'utf8');
    expect(Number(note.split('\n')[1])).toBeGreaterThan(first.checkpoint.size);
    expect(existsSync(join(folder, `tile/entries/000.p/${first.checkpoint.size}`))).toBe(true);
    expect(await bench.run(['audit', 'verify', '--since', note])).toMatchObject({ status: 0 });
  });
});

describe('the witnesses of the configuration', () => {
  it('get a checkpoint when asked, and `doctor` says what each has', async () => {
    const file = join(bench.folder, 'elsewhere');
    const config = join(bench.folder, 'witnessed.json');
    writeFileSync(config, JSON.stringify({ witnesses: [{ file }, { file: join(bench.folder, 'no-such-folder', 'elsewhere') }] }));
    const sent = await bench.run(['audit', 'witness', '--config', config, '--json']);
    expect(sent.status).toBe(1);
    expect(JSON.parse(sent.stdout)).toMatchObject([{ state: 'ok' }, { state: 'warning', message: expect.stringContaining('fails since') }]);
    await callSome(1);
    await bench.run(['audit', 'witness', '--config', config]);
    const list = await bench.run(['audit', 'verify', '--since', file]);
    expect(list).toMatchObject({ status: 0, stdout: expect.stringContaining('goes on from the checkpoint') });
    const sizes = readFileSync(file, 'utf8').match(/^\d+$/gm);
    expect(sizes).toHaveLength(2);
    expect(list.stdout).toContain(`checkpoint of ${sizes?.[1]} records`);
    const doctor = JSON.parse((await bench.run(['doctor', '--config', config, '--json'])).stdout) as readonly { topic: string }[];
    expect(doctor.filter(({ topic }) => topic === 'witness')).toMatchObject([{ state: 'ok' }, { state: 'warning' }]);
  });
});

describe('a proof', () => {
  it('of a record is checked by a script that knows nothing of Banksman, and a changed one is not', async () => {
    const proof = JSON.parse((await bench.run(['audit', 'prove', '2'])).stdout) as Record<string, unknown> & { path: string[] };
    expect(check(proof)).toMatchObject({ status: 0, said: expect.stringContaining('ok: number 2 of') });
    const flipped = (hex: string) => `${hex.startsWith('0') ? '1' : '0'}${hex.slice(1)}`;
    const bad = {
      record: { ...proof, record: String(proof['record']).replace('"version":1', '"version":2') },
      index: { ...proof, index: 0 },
      // In JavaScript `'1' + 1` is another number than the one that is proven.
      text: { ...proof, index: '1' },
      size: { ...proof, size: Number(proof['size']) + 1 },
      path: { ...proof, path: proof.path.map((hash, at) => (at === 1 ? flipped(hash) : hash)) },
      shorter: { ...proof, path: proof.path.slice(1) },
      checkpoint: { ...proof, checkpoint: String(proof['checkpoint']).replace('\n', '\n1') },
    };
    for (const [what, changed] of Object.entries(bad)) expect([what, check(changed).status]).toEqual([what, 1]);
    expect(
      check(
        proof,
        key.replace(/.$/, (end) => (end === 'A' ? 'B' : 'A')),
      ),
    ).toMatchObject({ status: 1 });
  });

  it('of an earlier checkpoint shows that the trail goes on from it, and of none that is not its own', async () => {
    const note = await checkpoint();
    await callSome(1);
    const proof = JSON.parse((await bench.run(['audit', 'prove', '--since', note])).stdout) as Record<string, unknown>;
    expect(check(proof)).toMatchObject({ status: 0, said: expect.stringContaining('goes on from') });
    const root = Buffer.alloc(32, 1).toString('base64');
    for (const changed of [{ from_root: root }, { from: 0, from_root: root, path: [] }, { from: Number(proof['from']) + 0.5 }])
      expect([changed, check({ ...proof, ...changed }).status]).toEqual([changed, 1]);
    const lines = note.split('\n');
    const forged = [lines[0], lines[1], root, ...lines.slice(3)].join('\n');
    expect(await bench.run(['audit', 'prove', '--since', forged])).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('rewritten'),
    });
  });

  it('of a record that there is not is none', async () => {
    expect(await bench.run(['audit', 'prove', '4000'])).toMatchObject({ status: 1, stderr: expect.stringContaining('4000') });
    expect(await bench.run(['audit', 'prove', 'x'])).toMatchObject({ status: 1, stderr: expect.stringContaining('RECORD') });
  });
});

describe('a record that was too large', () => {
  it('is cut, says so, and is proven as every other', async () => {
    await bench.call('run_command', { command: `echo ${'漢'.repeat(9_900)}` });
    const { stdout } = await bench.run(['audit', 'tail', '--json']);
    const record = JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '');
    expect(record).toMatchObject({ attributes: { 'gen_ai.tool.name': 'run_command', cut: { target: { bytes: expect.any(Number) } } } });
    expect(Buffer.byteLength(JSON.stringify(record.attributes))).toBeLessThanOrEqual(32 * 1024);
    expect(await bench.run(['audit', 'verify'])).toMatchObject({ status: 0 });
    const proof = JSON.parse((await bench.run(['audit', 'prove', String(record.sequence)])).stdout);
    expect(check(proof)).toMatchObject({ status: 0, said: expect.stringContaining('ok') });
  });
});
