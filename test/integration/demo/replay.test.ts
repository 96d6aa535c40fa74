/** Every pair recorded from the real cluster, asked of the emulator from a state that fits it. */
import { afterEach, describe, expect, it } from 'vitest';
import { differences } from './answer-shape.ts';
import { call, type WireAnswer, type WireRequest } from './api-client.ts';
import { labPassword, labTokens, type Recording, recordings } from './lab-state.ts';
import {
  type Action,
  actions,
  finish,
  hangingShutdown,
  type Lab,
  login,
  makeHistory,
  post,
  runningBefore,
  startLab,
  startWeb,
} from './recorded-actions.ts';

/** Differences that are right. A key is a pair's name, the value says why. Empty: the emulator answers all of them as recorded. */
const allowedDifferences: Readonly<Record<string, string>> = {};

let lab: Lab;
let replayed = 0;

afterEach(async () => {
  await lab.demo.close();
});

const pairs = recordings('exchanges');
const degraded = recordings('exchanges-degraded');

describe('recorded exchanges', () => {
  it.each(pairs.map((pair, index) => [`${index} ${pair.name}`, pair] as const))('%s', async (_title, pair) => {
    lab = await startLab();
    expect(compare(pair, await replay(pair))).toEqual([]);
    replayed += 1;
  });

  it('were all replayed', async () => {
    lab = await startLab();
    expect(pairs).toHaveLength(103);
    expect(replayed).toBe(103);
    expect(Object.keys(allowedDifferences)).toEqual([]);
  });
});

describe('recorded exchanges with a node down or without quorum', () => {
  let count = 0;

  it.each(degraded.map((pair, index) => [`${index} ${pair.phase} ${pair.request.path}`, pair] as const))('%s', async (_title, pair) => {
    lab = await startLab();
    await degrade(pair);
    expect(compare(pair, await replayDegraded(pair))).toEqual([]);
    count += 1;
  });

  it('were all replayed', async () => {
    lab = await startLab();
    expect(degraded).toHaveLength(12);
    expect(count).toBe(12);
  });
});

function compare(pair: Recording, answer: WireAnswer): string[] {
  const { status, statusMessage, contentType, body } = pair.response;
  const line = `${answer.status} ${answer.statusMessage}`;
  const type = answer.headers['content-type'] ?? null;
  return [
    ...(line === `${status} ${statusMessage}` ? [] : [`recorded ${status} ${statusMessage}, answered ${line}`]),
    ...(type === contentType ? [] : [`recorded content type ${contentType}, answered ${String(type)}`]),
    ...((answer.headers.connection === 'close') === status >= 400 ? [] : [`connection: ${String(answer.headers.connection)}`]),
    ...differences(body, answer.body),
  ];
}

/** The requests about a task name it by its recorded UPID or as `{upid}`. */
const taskOf = /^(.*) → task (?:status \(final\)|log)$/;

async function replay(pair: Recording): Promise<WireAnswer> {
  const name = pair.name ?? '';
  const action = taskOf.exec(name)?.[1];
  if (action === 'stopped task') return askAbout(pair, await stoppedTask());
  if (action !== undefined) return askAbout(pair, await finishedTask(action));
  if (/UPID%3A/.test(pair.request.path) || name === 'tasks source=active') return askAbout(pair, await hangingShutdown(lab));
  if (/tasks as nobody|^cluster tasks$|^node tasks/.test(name)) await makeHistory(lab);
  for (const one of runningBefore[name] ?? []) await finish(lab, one);
  return send(pair);
}

async function finishedTask(name: string): Promise<string> {
  const known = actions[name];
  if (known === undefined) throw new Error(`no action for \`${name}\``);
  for (const one of known.before ?? []) await finish(lab, one);
  return finish(lab, known.action);
}

async function stoppedTask(): Promise<string> {
  const upid = await hangingShutdown(lab);
  await call(lab.demo, { method: 'DELETE', path: `/nodes/pve/tasks/${encodeURIComponent(upid)}`, authorization: authorization('ops') });
  return upid;
}

function askAbout(pair: Recording, upid: string): Promise<WireAnswer> {
  return send(pair, pair.request.path.replace(/\{upid\}|UPID%3A[^/]+/, encodeURIComponent(upid)));
}

function authorization(auth: string | undefined): string | undefined {
  if (auth === 'none') return undefined;
  if (auth?.startsWith('PVEAPIToken=') === true) return auth;
  const token = labTokens[(auth ?? 'ops') as keyof typeof labTokens];
  return lab.demo.authorization[token];
}

async function send(pair: Recording, path = pair.request.path): Promise<WireAnswer> {
  const { method, auth, form, json } = pair.request;
  const request: WireRequest = {
    method,
    path,
    form,
    authorization: authorization(auth),
    headers: await cookieOf(pair.name ?? ''),
    ...(json === undefined ? {} : { json }),
  };
  return call(lab.demo, request);
}

/** Tickets were taken out of the recordings; the three pairs with one are told by their names. */
async function cookieOf(name: string): Promise<Record<string, string>> {
  if (!name.startsWith('cookie ')) return {};
  const cookie = await login(lab, labPassword);
  return name.includes('bad CSRF') ? { Cookie: cookie, CSRFPreventionToken: '6B01FA00:nonsense' } : { Cookie: cookie };
}

const startNas: Action = { path: '/nodes/Home/qemu/101/status/start' };

async function degrade(pair: Recording): Promise<void> {
  if (pair.request.path === '/cluster/tasks') await makeHistory(lab);
  lab.clock.advance(20_000);
  if (pair.phase === 'node-down') return withoutAgent(pair);
  await finish(lab, startNas);
  lab.demo.faults.loseQuorum();
}

/** In the recordings a VM of another node was started after the node had gone, just before the tasks were listed. */
async function withoutAgent(pair: Recording): Promise<void> {
  await lab.demo.faults.nodeDown('agent1');
  if (pair.request.path !== '/cluster/tasks') return;
  await post(lab, startNas);
  lab.clock.advance(1500);
}

async function replayDegraded(pair: Recording): Promise<WireAnswer> {
  const posted = /^task status of (.*)$/.exec(pair.request.path)?.[1];
  if (posted === undefined) return send(pair);
  return send(pair, `/nodes/Home/tasks/${encodeURIComponent(await finish(lab, { path: posted }))}/status`);
}

describe('the comparison', () => {
  it('notices each kind of difference', async () => {
    lab = await startLab();
    await finish(lab, startWeb);
    const body = { data: [{ id: 'node/pve', status: 'online', cpu: 0.1 }], message: 'a\n' };
    expect(differences(body, body)).toEqual([]);
    expect(differences(body, { ...body, message: 'b\n' })).toHaveLength(1);
    expect(differences(body, { data: [] })).toHaveLength(2);
    expect(differences(body, { ...body, data: [{ id: 'node/pve', status: 'offline', cpu: 0.1 }] })).toHaveLength(1);
    expect(differences(body, { ...body, data: [{ id: 'node/pve', status: 'online', cpu: '0.1' }] })).toHaveLength(1);
    expect(differences(body, { ...body, data: [{ id: 'node/pve', status: 'online', cpu: 0.1, mem: 1 }] })).toHaveLength(1);
    expect(differences(body, { ...body, data: [{ id: 'node/pve', status: 'online' }] })).toHaveLength(1);
    expect(
      differences(
        { data: 'UPID:pve:000001A0:00000001:6B01FA26:qmstart:100:u@pve!t:' },
        { data: 'UPID:pve:000001A1:00000002:6B01FA27:qmstop:100:u@pve!t:' },
      ),
    ).toHaveLength(1);
  });
});
