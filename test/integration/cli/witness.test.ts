/** Two Banksmen: one's trail is witnessed by the other's `banksman witness serve`. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, readdirSync, rmSync, watch, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { isCosigned, type TestLog, testLog } from '../audit/witness-log.ts';
import { type Person, personAt } from './person.ts';
import { type Bench, cli, startBench } from './support.ts';

let bench: Bench;
let person: Person;
/** The second Banksman's state. */
let second: string;

beforeAll(async () => {
  bench = await startBench();
  person = personAt(bench);
  second = join(bench.folder, 'second');
}, 120_000);
afterAll(() => bench.close());

interface Serving {
  readonly url: string;
  readonly key: string;
  /** At once, whatever is under way. */
  kill(): Promise<void>;
}

async function serve(state = second): Promise<Serving> {
  const words = [cli, 'witness', 'serve', '--http', '127.0.0.1:0', '--state', state];
  const child: ChildProcess = spawn(process.execPath, words, { env: bench.env, stdio: ['ignore', 'pipe', 'ignore'] });
  const ended = once(child, 'exit');
  const kill = async () => {
    child.kill('SIGKILL');
    await ended;
  };
  onTestFinished(kill);
  const [line] = (await once(createInterface({ input: child.stdout as NonNullable<typeof child.stdout> }), 'line')) as [string];
  return { ...(JSON.parse(line) as { url: string; key: string }), kill };
}

async function name(key: string, state = second): Promise<void> {
  const named = await person.at(['witness', 'add', key, '--state', state], [['to go on', 'add\r']]);
  expect(named.status).toBe(0);
  expect(named.screen).not.toContain('\\n');
}

describe('a trail that another Banksman witnesses', () => {
  const store = () => join(bench.state, 'banksman.db');
  const putIn = (copy: string | undefined) => {
    for (const end of ['', '-wal', '-shm']) rmSync(`${store()}${end}`, { force: true });
    if (copy !== undefined) copyFileSync(copy, store());
  };
  const copyTo = (file: string) => {
    const raw = new DatabaseSync(store());
    raw.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    raw.close();
    copyFileSync(store(), file);
  };

  it('is said by `doctor`, and an older copy, a rewritten and a replaced store are refused and said', async () => {
    await bench.call('list_nodes');
    const key = (await bench.run(['audit', 'key'])).stdout.trim();
    const [origin = ''] = key.split('+');
    const witness = await serve();
    const config = join(bench.folder, 'witnessed.json');
    writeFileSync(config, JSON.stringify({ witnesses: [{ witness: witness.url, key: witness.key }] }));
    const send = async () => (await bench.run(['audit', 'witness', '--config', config])).stdout;
    const doctor = async () => {
      const found = JSON.parse((await bench.run(['doctor', '--config', config, '--json'])).stdout) as readonly { topic: string }[];
      return found.find(({ topic }) => topic === 'witness');
    };
    const since = async () => {
      const { stdout: note } = await bench.run(['witness', 'checkpoint', origin, '--state', second]);
      expect(note).toContain(`\n— ${witness.key.split('+')[0]} `);
      return bench.run(['audit', 'verify', '--since', note]);
    };
    const listed = async () => JSON.parse((await bench.run(['witness', 'list', '--state', second, '--json'])).stdout);

    expect(await send()).toContain('answered 404');
    await name(key);
    expect((await bench.run(['witness', 'key', '--state', second])).stdout.trim()).toBe(witness.key);
    expect(await send()).toMatch(/^ok: /);
    expect(await doctor()).toMatchObject({ state: 'ok', message: expect.stringContaining('has the checkpoint of') });
    const older = join(bench.folder, 'older.db');
    copyTo(older);
    for (let calls = 0; calls < 3; calls += 1) await bench.call('list_nodes');
    expect(await send()).toMatch(/^ok: /);
    expect(await since()).toMatchObject({ status: 0 });
    expect(await listed()).toMatchObject([{ origin, refused: null }]);
    const whole = join(bench.folder, 'whole.db');
    copyTo(whole);

    putIn(older);
    expect(await send()).toMatch(/^failed: .*older copy/);
    expect(await doctor()).toMatchObject({ state: 'failed', message: expect.stringContaining('its end was cut off, or an older copy') });
    expect(await since()).toMatchObject({ status: 1, stdout: expect.stringContaining('older copy') });
    for (let calls = 0; calls < 5; calls += 1) await bench.call('list_nodes');
    expect(await send()).toMatch(/^failed: .*rewritten/);
    expect(await doctor()).toMatchObject({ state: 'failed', message: expect.stringContaining('rewritten') });
    expect(await since()).toMatchObject({ status: 1, stdout: expect.stringContaining('rewritten') });
    expect(await listed()).toMatchObject([{ origin, refused: expect.stringMatching(/^banksman\/trail\//) }]);

    putIn(undefined);
    await bench.call('list_nodes');
    expect(await send()).toMatch(/^failed: .*another trail/);
    expect(await doctor()).toMatchObject({ state: 'failed', message: expect.stringContaining('another trail') });
    expect(await since()).toMatchObject({ status: 1, stdout: expect.stringContaining('another trail') });

    putIn(whole);
    expect(await send()).toMatch(/^ok: /);
    expect(await since()).toMatchObject({ status: 0 });
  }, 240_000);
});

describe('`banksman witness`', () => {
  it('names and removes logs at a terminal only, and says what it takes', async () => {
    const state = join(bench.folder, 'third');
    const { key, origin } = testLog('log.example/named');
    expect(await bench.run(['witness', 'add', key, '--state', state], { stdin: 'add\n' })).toMatchObject({ status: 2 });
    expect(await person.at(['witness', 'add', key, '--state', state], [['to go on', 'no\r']])).toMatchObject({ status: 2 });
    expect((await bench.run(['witness', 'list', '--state', state])).stdout).toContain('no log is known');
    await name(key, state);
    expect((await bench.run(['witness', 'list', '--state', state])).stdout).toContain(`${origin}  nothing cosigned yet`);
    expect(await bench.run(['witness', 'remove', origin, '--state', state], { stdin: 'remove\n' })).toMatchObject({ status: 2 });
    expect(await person.at(['witness', 'remove', origin, '--state', state], [['to go on', 'remove\r']])).toMatchObject({ status: 0 });
    expect((await bench.run(['witness', 'list', '--state', state])).stdout).toContain('no log is known');
    for (const [words, said] of [
      [[], 'takes `serve`'],
      [['add'], 'missing KEY'],
      [['add', 'nothing'], 'no verifier key'],
      [['serve'], '--http HOST:PORT'],
      [['checkpoint', 'nobody.example'], 'nothing was cosigned'],
    ] as const)
      expect(await bench.run(['witness', ...words, '--state', state])).toMatchObject({ status: 1, stderr: expect.stringContaining(said) });
  }, 120_000);

  it('serves one at a time from one state', async () => {
    const state = join(bench.folder, 'fourth');
    await serve(state);
    const again = await bench.run(['witness', 'serve', '--http', '127.0.0.1:0', '--state', state]);
    expect(again).toMatchObject({ status: 1, stderr: expect.stringContaining('another witness works on') });
  }, 120_000);
});

/** The first thing that is seen of an answer that is being made, the n-th time: a file's name, or the answer itself. */
type Moment = 'written' | 'kept' | 'answered';

describe('killed in the middle of answers', () => {
  it('has never cosigned two trees of one size, nor goes back', async () => {
    const state = join(bench.folder, 'killed');
    const log = testLog('log.example/killed', 2);
    await name(log.key, state);
    const cosigned = new Map<number, Set<string>>();
    const moments: readonly Moment[] = ['written', 'kept', 'answered'];
    let size = 0;
    for (let round = 0; round < 12; round += 1) {
      const witness = await serve(state);
      const has = await sizeAt(witness, log);
      expect(has).toBeGreaterThanOrEqual(Math.max(0, ...cosigned.keys()));
      size = has;
      await killedAt(moments[round % 3] ?? 'written', 1 + (round % 4), { witness, state, log, size, cosigned });
    }
    const end = await serve(state);
    expect(await sizeAt(end, log)).toBeGreaterThanOrEqual(Math.max(...cosigned.keys()));
    expect(cosigned.size).toBeGreaterThan(3);
    for (const roots of cosigned.values()) expect(roots.size).toBe(1);
    // What a killed process left half-written is gone with the next start.
    expect(readdirSync(join(state, 'witness')).filter((file) => file.endsWith('.tmp'))).toEqual([]);
  }, 240_000);
});

/** By the answer to a size that it cannot have. */
async function sizeAt({ url }: Serving, log: TestLog): Promise<number> {
  const answer = await fetch(`${url}/add-checkpoint`, { method: 'POST', body: log.request(399, 400) });
  expect(answer.status).toBe(409);
  return Number(await answer.text());
}

interface Killing {
  readonly witness: Serving;
  readonly state: string;
  readonly log: TestLog;
  readonly size: number;
  /** Roots by size. */
  readonly cosigned: Map<number, Set<string>>;
}

/** Two branches ask for the next sizes again and again, until the witness is killed at the n-th such moment. */
async function killedAt(moment: Moment, count: number, { witness, state, log, size, cosigned }: Killing): Promise<void> {
  let left = count;
  const over = new AbortController();
  const reached = (what: Moment) => {
    if (what !== moment || over.signal.aborted) return;
    left -= 1;
    if (left === 0) {
      over.abort();
      void witness.kill();
    }
  };
  const watcher = watch(join(state, 'witness'), (_event, file) => {
    if (file?.endsWith('.tmp')) reached('written');
    else if (file?.endsWith('.head')) reached('kept');
  });
  const ask = async (branch: string): Promise<void> => {
    for (let [old, to] = [size, size + 1]; !over.signal.aborted; to += 1) {
      const answer = await fetch(`${witness.url}/add-checkpoint`, { method: 'POST', body: log.request(old, to, branch) });
      const text = await answer.text();
      if (answer.status === 200) {
        if (!isCosigned(log.note(to, branch), text, witness.key)) throw new Error(`no cosignature: ${text}`);
        cosigned.set(to, (cosigned.get(to) ?? new Set()).add(log.root(to, branch)));
        old = to;
        reached('answered');
      } else if (answer.status === 409) [old, to] = [Number(text), Math.max(to - 1, Number(text))];
      else return;
    }
  };
  // What is under way when it is killed ends without an answer.
  const ends = await Promise.allSettled(['a', 'b', 'a', 'b'].map(ask));
  expect(ends.filter((end) => end.status === 'rejected' && !isCutOff(end.reason))).toEqual([]);
  watcher.close();
  await witness.kill();
}

/** By undici: the other side went away. */
function isCutOff(reason: unknown): boolean {
  return reason instanceof TypeError && /^(?:fetch failed|terminated)$/.test(reason.message);
}
