/**
 * rsyslog over TLS and Prometheus, real ones, as processes of this test with configurations of their own. `npm test` does not install them: Debian's rsyslog
 * starts a service, and Prometheus is 19 MB to fetch. Where they are not there, the tests are skipped.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { parseConfig } from '#app/config/config';
import { serveMetrics } from '#hosts/service/serve-metrics';
import { createAuthority } from '../../../src/demo/certificate.ts';
import { call, startWorld, type World } from '../app/support.ts';
import { freePort } from '../stores/valkey-server.ts';

const rsyslogd = '/usr/sbin/rsyslogd';
const modules = ['/usr/lib/x86_64-linux-gnu/rsyslog', '/usr/lib/aarch64-linux-gnu/rsyslog'];
const driver = ['gtls', 'ossl'].find((name) => modules.some((folder) => existsSync(join(folder, `lmnsd_${name}.so`))));
const noRsyslog = !existsSync(rsyslogd) || driver === undefined;
if (noRsyslog) console.warn('SKIPPED: rsyslog with TLS is not installed; on Debian: apt-get install rsyslog rsyslog-gnutls');

const prometheus = [process.env['BANKSMAN_PROMETHEUS'], '/usr/bin/prometheus'].find((file) => file !== undefined && existsSync(file)) ?? '';
if (prometheus === '') console.warn('SKIPPED: Prometheus is not installed; name its program in BANKSMAN_PROMETHEUS');

let world: World;
let folder: string;
const ends: (() => unknown)[] = [];
beforeEach(async () => {
  world = await startWorld();
  folder = join(dirname(world.stateDir), 'receivers');
  mkdirSync(folder);
});
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
  await world.close();
});

const patient = { timeout: 60_000, interval: 100 };

/** An App that stays, with this in the machine's file. */
function telling(sink: object) {
  writeFileSync(join(dirname(world.stateDir), 'config.json'), JSON.stringify({ ...world.config, sinks: [sink] }));
  return world.open({}, undefined, 'test', { stays: true });
}

/** @returns what it has said so far */
function started(program: string, args: readonly string[]): () => string {
  const child: ChildProcess = spawn(program, [...args], { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk: Buffer) => {
      said += chunk.toString('utf8');
    });
  ends.push(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  });
  return () => said;
}

function write(name: string, text: string): string {
  const file = join(folder, name);
  writeFileSync(file, text, { mode: 0o600 });
  return file;
}

function rsyslogConfig(port: number, file: string): string {
  const authority = createAuthority('logs test', Date.now());
  const { certificatePem, privateKeyPem } = authority.issue('logs.test', ['logs.test'], ['127.0.0.1']);
  const ca = write('ca.pem', authority.certificatePem);
  const tls = `defaultNetstreamDriverCAFile="${ca}" defaultNetstreamDriverCertFile="${write('cert.pem', certificatePem)}"`;
  const key = `defaultNetstreamDriverKeyFile="${write('key.pem', privateKeyPem)}"`;
  return [
    `global(workDirectory="${folder}" maxMessageSize="64k" ${tls} ${key})`,
    `module(load="imtcp" streamDriver.name="${driver}" streamDriver.mode="1" streamDriver.authMode="anon")`,
    'module(load="mmjsonparse")',
    'template(name="line" type="string" string="%syslogfacility-text% %app-name% %msgid% %parsesuccess% %$!all-json%\\n")',
    `ruleset(name="told") { action(type="mmjsonparse") action(type="omfile" file="${file}" template="line") }`,
    `input(type="imtcp" port="${port}" address="127.0.0.1" ruleset="told")`,
    '',
  ].join('\n');
}

/** Lines that rsyslog has written whole. */
function linesOf(file: string): readonly string[] {
  return existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1) : [];
}

describe.skipIf(noRsyslog)('rsyslog', () => {
  it('takes what comes over TLS, and its JSON apart', { timeout: 180_000 }, async () => {
    const [port, file] = [await freePort(), join(folder, 'told.log')];
    const said = started(rsyslogd, ['-n', '-f', write('rsyslog.conf', rsyslogConfig(port, file)), '-i', join(folder, 'pid')]);
    const app = await telling({ type: 'syslog', to: `tls://127.0.0.1:${port}`, caFile: join(folder, 'ca.pem'), facility: 'authpriv' });
    expect(await call(app, 'get_cluster_status')).toMatchObject({ status: 'ok' });
    await call(app, 'no_such_tool_é');
    const records = await app.audit.tail(1_000);
    const expected = records.map(({ hash }) => hash);
    await vi.waitFor(() => expect(linesOf(file).length, said()).toBeGreaterThanOrEqual(expected.length), patient);
    const lines = linesOf(file).map((line) => /^(\S+) (\S+) (\S+) (\S+) (\{.*\})$/.exec(line));
    expect(lines.map((line) => line?.[1])).toEqual(expected.map(() => 'authpriv'));
    expect(new Set(lines.map((line) => `${line?.[2]} ${line?.[4]}`))).toEqual(new Set(['banksman OK']));
    expect(lines.map((line) => (JSON.parse(line?.[5] ?? 'null') as { hash?: string } | null)?.hash)).toEqual(expected);
  });
});

interface Found {
  readonly data: {
    readonly result: readonly { readonly metric: Readonly<Record<string, string>>; readonly value: readonly [number, string] }[];
  };
}

describe.skipIf(prometheus === '')('Prometheus', () => {
  it('scrapes the numbers, and answers with them', { timeout: 180_000 }, async () => {
    const [port, own] = [await freePort(), await freePort()];
    const app = await telling({ type: 'prometheus', port });
    expect(await call(app, 'get_cluster_status')).toMatchObject({ status: 'ok' });
    const { sinks } = parseConfig({ sinks: [{ type: 'prometheus', port }] }, 'test');
    const silent = () => undefined;
    const log = { debug: silent, info: silent, warn: silent, error: silent };
    const served = serveMetrics({ sinks, baseDir: folder, metrics: () => app.metrics(), log });
    ends.push(() => served.close());
    const job = { job_name: 'banksman', static_configs: [{ targets: [`127.0.0.1:${port}`] }] };
    const config = write('prometheus.yml', JSON.stringify({ global: { scrape_interval: '1s' }, scrape_configs: [job] }));
    const places = [`--config.file=${config}`, `--storage.tsdb.path=${join(folder, 'data')}`, `--web.listen-address=127.0.0.1:${own}`];
    const said = started(prometheus, places);
    const ask = async (query: string) => {
      const answer = await fetch(`http://127.0.0.1:${own}/api/v1/query?query=${encodeURIComponent(query)}`);
      return ((await answer.json()) as Found).data.result;
    };
    const is = (value: string) => [expect.anything(), value];
    // What was told is counted a moment after the call, and scraped each second.
    await vi.waitFor(async () => {
      expect(await ask('up{job="banksman"}'), said()).toMatchObject([{ value: is('1') }]);
      expect(await ask('banksman_calls_total{tool="get_cluster_status"}')).toMatchObject([{ metric: { outcome: 'ok' }, value: is('1') }]);
    }, patient);
    expect(await ask('banksman_requests_pending')).toMatchObject([{ value: is('0') }]);
    expect(await ask('banksman_call_duration_seconds_count')).not.toEqual([]);
  });
});
