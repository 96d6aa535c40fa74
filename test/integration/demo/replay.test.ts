/** Every recording of the real cluster that the tools of today meet, asked of the emulator from the state it was made in. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { compareAnswers, differences, type WireAnswer } from '../../../scripts/replay/compare.ts';
import { type Recording, readRecordings } from '../../../scripts/replay/recordings.ts';
import { type Replayed, replayFile } from '../../../scripts/replay/replay.ts';

const folder = fileURLToPath(new URL('../../fixtures/pve/', import.meta.url));
const fileOf = (name: string) => `${folder}${name}`;
const operations = fileOf('operations-exchanges.json.gz');

describe('recorded exchanges', () => {
  it.each([
    ['exchanges.json', 103],
    ['exchanges-degraded.json', 12],
    ['operations-exchanges.json.gz', 843],
  ])(
    '%s: all of its %i match',
    async (name, count) => {
      const results = await replayFile(readRecordings(fileOf(name)), () => true);
      expect(results).toHaveLength(count);
      expect(results.filter((one) => one.differences.length > 0)).toEqual([]);
    },
    120_000,
  );

  it('matches a recording as well when it is all that is known', async () => {
    const file = readRecordings(operations);
    // Of a task's end and log alone nobody can tell what was asked.
    const alone = file.recordings.filter(({ of }) => of === undefined);
    const results: Replayed[] = [];
    for (const one of alone) results.push(...(await replayFile({ ...file, recordings: [one] }, () => true)));
    expect(results.length).toBeGreaterThan(500);
    expect(results.filter(({ differences: found }) => found.length > 0)).toEqual([]);
  }, 120_000);
});

/** The same recording with one thing changed that the real cluster did not say. */
const mutations: readonly (readonly [string, (recording: Recording) => Recording])[] = [
  ['another status', (one) => ({ ...one, response: { ...one.response, status: one.response.status + 1 } })],
  ['another reason', (one) => ({ ...one, response: { ...one.response, statusMessage: 'No' } })],
  ['another body', (one) => ({ ...one, response: { ...one.response, body: mutated(one.response.body) } })],
];

/** Each leaf changed in type; an empty answer becomes a row. */
function mutated(value: unknown): unknown {
  if (Array.isArray(value)) return value.length === 0 ? [{ sid: 'vm:1' }] : value.map(mutated);
  if (typeof value === 'object' && value !== null && Object.keys(value).length === 0) return { '/vms': { 'VM.Audit': 1 } };
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, mutated(one)]));
  return typeof value === 'string' ? 7 : 'mutated';
}

describe('a recording that was never made', () => {
  it.each(mutations)('with %s is seen', async (_name, mutate) => {
    const file = readRecordings(operations);
    const families = ['index', 'permissions', 'ha', 'power-lxc', 'storage'];
    // A question about a task needs its request as it was.
    const chosen = file.recordings.filter(({ family, of }) => families.includes(family) && of === undefined);
    const results = await replayFile({ ...file, recordings: chosen.map(mutate) }, () => true);
    expect(results.filter((one) => one.differences.length === 0).map((one) => one.recording.name)).toEqual([]);
  });

  it('told by another identity is refused or filtered', async () => {
    const file = readRecordings(operations);
    const listed = file.recordings.filter(
      ({ family, request, response }) => family === 'order' && request.auth === 'ro' && response.status === 200,
    );
    const asNobody = listed.map((one) => ({ ...one, request: { ...one.request, auth: 'nobody' } }));
    const results = await replayFile({ ...file, recordings: asNobody }, () => true);
    expect(results.length).toBeGreaterThan(5);
    expect(results.filter((one) => one.differences.length === 0)).toEqual([]);
  });
});

describe('the comparison', () => {
  const body = { data: [{ id: 'node/pve', status: 'online', cpu: 0.1 }], message: 'a\n' };
  const row = { id: 'node/pve', status: 'online', cpu: 0.1 };

  it.each([
    ['the same', body, 0],
    ['another message', { ...body, message: 'b\n' }, 1],
    ['no rows', { data: [] }, 2],
    ['another state', { ...body, data: [{ ...row, status: 'offline' }] }, 1],
    ['another figure', { ...body, data: [{ ...row, cpu: 0.7 }] }, 0],
    ['another type', { ...body, data: [{ ...row, cpu: '0.1' }] }, 1],
    ['a field more', { ...body, data: [{ ...row, mem: 1 }] }, 1],
    ['a field less', { ...body, data: [{ id: 'node/pve', status: 'online' }] }, 1],
  ])('%s: %j', (_name, answered, count) => {
    expect(differences(body, answered)).toHaveLength(count);
  });

  it('takes rows in any order, and no other rows', () => {
    const [one, other] = [
      { vmid: 100, name: 'web' },
      { vmid: 101, name: 'nas' },
    ];
    expect(differences([one, other], [other, one])).toEqual([]);
    expect(differences([one, other], [one, { ...other, name: 'x' }])).toHaveLength(1);
    expect(differences([one, other], [one])).toHaveLength(1);
  });

  it('knows a task by its node, type, guest and user', () => {
    const upid = (type: string, pid: string) => ({ data: `UPID:pve:${pid}:00000001:6B01FA26:${type}:100:u@pve!t:` });
    expect(differences(upid('qmstart', '000001A0'), upid('qmstart', '000001A1'))).toEqual([]);
    expect(differences(upid('qmstart', '000001A0'), upid('qmstop', '000001A0'))).toHaveLength(1);
  });

  it('wants every shape of a list that was cut', () => {
    const recording = {
      name: 'x',
      family: 'x',
      rowsInAll: 9,
      request: { method: 'GET', path: '/' },
      response: { status: 200, body: { data: [{ time: 1 }] } },
    };
    const answer = (data: unknown): WireAnswer => ({
      status: 200,
      statusMessage: 'OK',
      headers: { connection: 'Keep-Alive' },
      body: { data },
    });
    expect(compareAnswers(recording, answer([{ time: 1, cpu: 2 }, { time: 3 }]))).toEqual([]);
    expect(compareAnswers(recording, answer([{ time: 1, cpu: 2 }]))).toHaveLength(1);
    expect(compareAnswers(recording, answer([]))).toHaveLength(1);
  });
});

describe('the script', () => {
  const run = promisify(execFile);
  const script = fileURLToPath(new URL('../../../scripts/replay-exchanges.ts', import.meta.url));

  it('prints the differences, the families and the sum, and fails below its limit', async () => {
    const args = [script, '--family', 'deviations,nextid', operations];
    const { stdout } = await run(process.execPath, args);
    expect(stdout.trim().split('\n')).toEqual(['deviations: matched 4 of 4', 'nextid: matched 3 of 3', 'matched 7 of 7']);
    await expect(run(process.execPath, [...args, '--at-least', '101'])).rejects.toMatchObject({ code: 1 });
    await expect(run(process.execPath, [script])).rejects.toMatchObject({ code: 2 });
  });
});
