/** The trail, told elsewhere: real calls on the demo cluster, real receivers. */
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { LocalApp } from '#app/create-app';
import type { JsonObject } from '#kernel/json';
import { ocsfFlaws } from '../../fixtures/ocsf/ocsf-schema.ts';
import { protoFlaws } from '../../fixtures/otlp/proto-schema.ts';
import { approvedCall, call, startWorld, type World } from '../app/support.ts';
import { attributeOf, type Collector, found, startCollector, startDatagrams, startStream } from './receivers.ts';

let world: World;
const ends: (() => unknown)[] = [];
beforeEach(async () => {
  world = await startWorld();
});
afterEach(async () => {
  await world.close();
  for (const end of ends.splice(0)) await end();
});

const patient = { timeout: 30_000, interval: 50 };

/** As a person wrote them into the machine's file. */
function configure(...sinks: readonly object[]): void {
  writeFileSync(join(dirname(world.stateDir), 'config.json'), JSON.stringify({ ...world.config, sinks }));
}

const openStaying = (): Promise<LocalApp> => world.open({}, undefined, 'test', { stays: true });

async function collecting(port?: number): Promise<Collector> {
  const collector = await startCollector(port);
  ends.push(() => collector.close());
  return collector;
}

async function findingOf(app: LocalApp, topic: string) {
  return (await app.doctor(new AbortController().signal)).find((entry) => entry.topic === topic);
}

const hashesOf = async (app: LocalApp) => (await app.audit.tail(1_000)).map(({ hash }) => hash);

describe('an OpenTelemetry collector', () => {
  it('is told records and spans in the published form', async () => {
    const collector = await collecting();
    configure({ type: 'otlp', endpoint: collector.endpoint, headers: { 'x-scope-orgid': 'lab' } });
    const app = await openStaying();
    expect(await call(app, 'get_cluster_status')).toMatchObject({ status: 'ok' });
    expect(await call(app, 'stop_vm', { vmid: 'nonsense' })).toMatchObject({ status: 'error' });
    const hashes = await hashesOf(app);
    await vi.waitFor(() => expect(collector.logged('log.record.uid')).toEqual(hashes), patient);
    await vi.waitFor(() => expect(spansOf(collector).filter(({ parentSpanId }) => parentSpanId === undefined)).toHaveLength(2), patient);
    for (const { path, body } of collector.posted) expect(protoFlaws(body, messageOf(path))).toEqual([]);
    const headers = { 'x-scope-orgid': 'lab', 'content-type': 'application/json', 'content-encoding': 'gzip' };
    expect(collector.posted[0]?.headers).toMatchObject(headers);
    const failed = spansOf(collector).find(({ status }) => (status as JsonObject | undefined)?.['code'] === 2) ?? {};
    expect([failed['name'], attributeOf(failed, 'error.type'), attributeOf(failed, 'gen_ai.operation.name')]).toEqual([
      'execute_tool stop_vm',
      'invalid_input',
      'execute_tool',
    ]);
  });

  it('is told one span a stage, and the request as a span that the call links to', async () => {
    const collector = await collecting();
    configure({ type: 'otlp', endpoint: collector.endpoint, signals: ['traces'] });
    const app = await openStaying();
    expect(await approvedCall(world, app, { tool: 'stop_vm', input: { vmid: 100 } })).toMatchObject({ status: 'ok' });
    await vi.waitFor(() => expect(spansOf(collector).map(({ name }) => name)).toContain('execute_tool stop_vm'), patient);
    for (const { path, body } of collector.posted) expect(protoFlaws(body, messageOf(path))).toEqual([]);
    const spans = spansOf(collector);
    const named = (name: string) => spans.find((span) => span['name'] === name) ?? {};
    const [stop, approval] = [named('execute_tool stop_vm'), named('approval stop_vm')];
    expect(stop['links']).toMatchObject([{ traceId: approval['traceId'], spanId: approval['spanId'] }]);
    expect(attributeOf(approval, 'banksman.answer')).toBe('approved');
    const stages = spans.filter(({ parentSpanId }) => parentSpanId === stop['spanId']);
    const names = 'identify validate authorize pause protect scope times classify approve record execute redact';
    expect(stages.map(({ name }) => name)).toEqual(names.split(' '));
    const edges = stages.flatMap(({ startTimeUnixNano: start, endTimeUnixNano: end }) => [BigInt(String(start)), BigInt(String(end))]);
    expect(edges).toEqual(edges.toSorted((a, b) => (a < b ? -1 : 1)));
    expect(String(edges[0])).toBe(stop['startTimeUnixNano']);
  });

  it('is told metrics, with their sums since this process began', async () => {
    const collector = await collecting();
    configure({ type: 'otlp', endpoint: collector.endpoint, signals: ['metrics'], metricsSeconds: 1 });
    const app = await openStaying();
    await vi.waitFor(() => expect(collector.posted.length).toBeGreaterThan(0), patient);
    await call(app, 'get_cluster_status');
    await call(app, 'stop_vm', { vmid: 100 });
    const pointsOf = (name: string) =>
      found(
        found(collector.posted.at(-1)?.body, 'metrics').find((metric) => metric['name'] === name),
        'dataPoints',
      );
    await vi.waitFor(() => expect(pointsOf('banksman.calls')).toHaveLength(2), patient);
    expect(
      pointsOf('banksman.calls').map((point) => [attributeOf(point, 'gen_ai.tool.name'), attributeOf(point, 'banksman.outcome')]),
    ).toEqual([
      ['get_cluster_status', 'ok'],
      ['stop_vm', 'pending'],
    ]);
    expect(pointsOf('banksman.requests.pending')).toMatchObject([{ asInt: '1' }]);
    expect(pointsOf('banksman.call.duration')[0]).toMatchObject({ count: '1' });
    for (const { path, body } of collector.posted) expect(protoFlaws(body, messageOf(path))).toEqual([]);
    expect(collector.posted.every(({ path }) => path === '/v1/metrics')).toBe(true);
  });

  it('that is away fails no call, is named by doctor and the log, and gets every record once it is back', async () => {
    const first = await startCollector();
    const port = Number(new URL(first.endpoint).port);
    await first.close();
    configure({ type: 'otlp', endpoint: first.endpoint, signals: ['logs'] });
    const app = await openStaying();
    for (let index = 0; index < 5; index += 1) expect(await call(app, 'get_cluster_status')).toMatchObject({ status: 'ok' });
    await vi.waitFor(() => expect(world.lines.some((line) => line.startsWith('warn sink otlp: is down: '))).toBe(true), patient);
    expect(await findingOf(app, 'sink otlp')).toMatchObject({
      state: 'failed',
      message: expect.stringMatching(/^down since .*5 wait in the trail$/),
    });
    const collector = await collecting(port);
    const hashes = await hashesOf(app);
    await vi.waitFor(() => expect(collector.logged('log.record.uid')).toEqual(hashes), patient);
    await vi.waitFor(
      async () => expect(await findingOf(app, 'sink otlp')).toMatchObject({ state: 'ok', message: `${hashes.length} records told` }),
      patient,
    );
    expect(world.lines.some((line) => line.startsWith('info sink otlp: is told again'))).toBe(true);
  });

  it('is told by the next process what the last one could not, and by one process at a time', async () => {
    const first = await startCollector();
    const port = Number(new URL(first.endpoint).port);
    configure({ type: 'otlp', endpoint: first.endpoint, signals: ['logs'] });
    const before = await openStaying();
    await call(before, 'get_cluster_status');
    await vi.waitFor(() => expect(first.logged('log.record.uid')).toHaveLength(1), patient);
    await first.close();
    await call(before, 'get_cluster_status');
    await before.close();
    const collector = await collecting(port);
    const [here, there] = [await openStaying(), await openStaying()];
    await call(there, 'get_cluster_status');
    const hashes = await hashesOf(here);
    await vi.waitFor(() => expect(collector.logged('log.record.uid')).toEqual(hashes.slice(1)), patient);
  });

  it('that refuses one record is told the others, and doctor counts it', async () => {
    const collector = await collecting();
    collector.answer = ({ body }) => (JSON.stringify(body).includes('poison') ? { status: 400, body: { message: 'bad' } } : undefined);
    configure({ type: 'otlp', endpoint: collector.endpoint, signals: ['logs'] });
    const app = await openStaying();
    const tools = ['get_cluster_status', 'poison', 'get_cluster_status', 'get_permissions'];
    await Promise.all(tools.map((tool) => call(app, tool)));
    await vi.waitFor(
      () =>
        expect(collector.logged('gen_ai.tool.name').toSorted()).toEqual(['get_cluster_status', 'get_cluster_status', 'get_permissions']),
      patient,
    );
    await vi.waitFor(
      async () =>
        expect(await findingOf(app, 'sink otlp')).toMatchObject({
          state: 'warning',
          message: expect.stringContaining('0 lost, 1 refused'),
        }),
      patient,
    );
  });

  it('that says it took only a part is believed', async () => {
    const collector = await collecting();
    collector.answer = () => ({ status: 200, body: { partialSuccess: { rejectedLogRecords: '1', errorMessage: 'too old' } } });
    configure({ type: 'otlp', endpoint: collector.endpoint, signals: ['logs'] });
    const app = await openStaying();
    await call(app, 'get_cluster_status');
    await vi.waitFor(
      async () =>
        expect(await findingOf(app, 'sink otlp')).toMatchObject({ message: expect.stringMatching(/^0 records told, 0 lost, 1 refused/) }),
      patient,
    );
  });

  it('gets the secret of a header from its file, read anew, and no line says it', async () => {
    const collector = await collecting();
    const file = join(dirname(world.stateDir), 'otlp.header');
    writeFileSync(file, 'Bearer first-secret\n');
    configure({ type: 'otlp', endpoint: collector.endpoint, signals: ['logs'], headers: { authorization: { file } } });
    const app = await openStaying();
    await call(app, 'get_cluster_status');
    await vi.waitFor(() => expect(collector.posted.at(-1)?.headers.authorization).toBe('Bearer first-secret'), patient);
    writeFileSync(file, 'Bearer second-secret\n');
    await call(app, 'get_cluster_status');
    await vi.waitFor(() => expect(collector.posted.at(-1)?.headers.authorization).toBe('Bearer second-secret'), patient);
    writeFileSync(file, 'two\nlines');
    await call(app, 'get_cluster_status');
    await vi.waitFor(() => expect(world.lines.some((line) => line.includes('must hold one line of ASCII text'))).toBe(true), patient);
    expect(JSON.stringify([world.lines, await findingOf(app, 'sink otlp')])).not.toMatch(/secret"|first-|second-/);
  });

  it('is named nowhere but in the machine’s own file', async () => {
    const collector = await collecting();
    vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', collector.endpoint);
    ends.push(() => vi.unstubAllEnvs());
    const app = await world.open({ sinks: [{ type: 'otlp', endpoint: collector.endpoint }] }, undefined, 'test', { stays: true });
    await call(app, 'get_cluster_status');
    expect(await findingOf(app, 'sinks')).toMatchObject({ state: 'warning', message: expect.stringContaining('the trail is told nobody') });
    configure({ type: 'otlp' });
    const other = await openStaying();
    await call(other, 'get_cluster_status');
    expect(await findingOf(other, 'sink otlp')).toMatchObject({ state: 'failed', message: 'is not told: `endpoint` is missing' });
    expect(collector.posted).toEqual([]);
  });

  it('over http beyond this machine is refused', async () => {
    configure({ type: 'otlp', endpoint: 'http://192.0.2.1:4318' });
    const app = await openStaying();
    expect(await findingOf(app, 'sink otlp')).toMatchObject({ state: 'failed', message: expect.stringContaining('leaves this machine') });
    expect(world.lines).toContainEqual(expect.stringContaining('error sink otlp: is not told'));
  });
});

describe('OCSF', () => {
  it('is written as lines that fit the published class, on into a new file after logrotate', async () => {
    const file = join(dirname(world.stateDir), 'banksman.ocsf.jsonl');
    configure({ type: 'ocsf', to: file });
    const app = await openStaying();
    await call(app, 'get_cluster_status');
    await approvedCall(world, app, { tool: 'stop_vm', input: { vmid: 100 } });
    await call(app, 'stop_vm', { vmid: 'nonsense' });
    await app.security.setLevel('strict', world.person).catch(() => undefined);
    const linesIn = (path: string) => readFileSync(path, 'utf8').trimEnd().split('\n');
    const hashes = await hashesOf(app);
    const uids = (path: string) => linesIn(path).map((line) => JSON.parse(line).metadata.uid as string);
    await vi.waitFor(() => expect(uids(file)).toEqual(hashes), patient);
    const events = linesIn(file).map((line) => JSON.parse(line) as JsonObject);
    for (const event of events) expect(ocsfFlaws(event)).toEqual([]);
    expect(events.find(({ type_uid: type, status_id: status }) => type === 600_303 && status === 1)).toMatchObject({
      status_id: 1,
      api: { operation: 'stop_vm' },
      resources: [{ type: 'guest' }],
    });
    renameSync(file, `${file}.1`);
    await call(app, 'get_cluster_status');
    const [newest = ''] = (await hashesOf(app)).slice(-1);
    await vi.waitFor(() => expect(uids(file)).toEqual([newest]), patient);
    expect(uids(`${file}.1`)).toEqual(hashes);
  });

  it('on standard output is for the service alone', async () => {
    configure({ type: 'ocsf', to: 'stdout' });
    const app = await openStaying();
    expect(await findingOf(app, 'sink ocsf')).toMatchObject({ state: 'failed', message: 'is not told: `stdout` is for the service alone' });
  });
});

describe('syslog and the journal', () => {
  const header = /^<(\d+)>1 (\S+) (\S+) banksman (\d+) (\S+) \[meta sequenceId="(\d+)"\] @cee: (\{.*\})$/;

  it('over TCP counts octets, and goes on after the connection broke', async () => {
    const receiver = await startStream();
    ends.push(() => receiver.close());
    configure({ type: 'syslog', to: `tcp://127.0.0.1:${receiver.port}`, facility: 'local3' });
    const app = await openStaying();
    await call(app, 'get_cluster_status');
    await call(app, 'no_such_tool_é');
    const told = async () => {
      const hashes = await hashesOf(app);
      await vi.waitFor(
        () => expect(messagesIn(receiver.text()).map((message) => JSON.parse(header.exec(message)?.[7] ?? 'null')?.hash)).toEqual(hashes),
        patient,
      );
    };
    await told();
    const [first, second] = messagesIn(receiver.text()).map((message) => header.exec(message));
    expect([first?.[1], first?.[5], first?.[6]]).toEqual([String(19 * 8 + 6), 'tool.finished', '1']);
    expect(second?.[1]).toBe(String(19 * 8 + (second?.[5] === 'tool.denied' ? 4 : 3)));
    expect(receiver.text()).toMatch(/^[\x20-\x7e]*$/);
    receiver.drop();
    await call(app, 'get_cluster_status');
    await told();
  });

  it('over UDP is one datagram a record', async () => {
    const receiver = await startDatagrams();
    ends.push(() => receiver.close());
    configure({ type: 'syslog', to: `udp://127.0.0.1:${receiver.port}` });
    const app = await openStaying();
    await call(app, 'get_cluster_status');
    await vi.waitFor(() => expect(receiver.got).toHaveLength(1), patient);
    expect(receiver.got[0]).toMatch(header);
  });

  it('the journal’s stream gets its greeting, then a line a record', async () => {
    const socket = join(dirname(world.stateDir), 'journal');
    const receiver = await startStream(socket);
    ends.push(() => receiver.close());
    configure({ type: 'journald', socket });
    const app = await openStaying();
    await call(app, 'get_cluster_status');
    await vi.waitFor(() => expect(receiver.text().split('\n').length).toBeGreaterThan(8), patient);
    const [identifier, unit, priority, prefix, , , , line = ''] = receiver.text().split('\n');
    expect([identifier, unit, priority, prefix]).toEqual(['banksman', '', '6', '1']);
    expect(line.slice(0, 3)).toBe('<6>');
    expect(JSON.parse(line.slice(3))).toMatchObject({ name: 'tool.finished', sequence: 1 });
  });
});

/** RFC 6587 § 3.4.1: each message behind its length. */
function messagesIn(text: string): readonly string[] {
  const messages: string[] = [];
  for (let rest = text; rest !== ''; ) {
    const [count = ''] = /^\d+ /.exec(rest) ?? [];
    messages.push(rest.slice(count.length, count.length + Number(count)));
    rest = count === '' ? '' : rest.slice(count.length + Number(count));
  }
  return messages;
}

function spansOf(collector: Collector): readonly JsonObject[] {
  return collector.posted.flatMap(({ body }) => found(body, 'spans'));
}

function messageOf(path: string): string {
  return path === '/v1/logs'
    ? 'ExportLogsServiceRequest'
    : path === '/v1/traces'
      ? 'ExportTraceServiceRequest'
      : 'ExportMetricsServiceRequest';
}
