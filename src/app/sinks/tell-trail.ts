/**
 * Tells the trail to every sink of the configuration, and says in `doctor` how each stands: a file of its own (`dist/sinks.cjs`), loaded
 * where there are any.
 */

import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { isChained } from '#audit/verify-trail';
import { openJournalSink, openOcsfSink, openSyslogSink } from '#connectors/telemetry/line-sinks';
import { createMeter, exposition } from '#connectors/telemetry/meter';
import { openOtlpSink } from '#connectors/telemetry/otlp-sink';
import type { Finding } from '#kernel/app';
import { Fault, faultMessage, reasonOf, toFault } from '#kernel/errors';
import type { AuditLog } from '#kernel/ports/audit-log';
import type { Log } from '#kernel/ports/log';
import type { RequestStore } from '#kernel/ports/request-store';
import type { MeasuredSink, Measures, Sink, ToldElsewhere } from '#kernel/ports/sink';
import { joined, type Message, say } from '#kernel/text/message';
import { holdLock, isLocked } from '#stores/sqlite/hold-lock';
import { expandPath } from '../config/paths.ts';
import { finding } from '../finding.ts';
import {
  type Cursor,
  type Follower,
  followTrail,
  fromNow,
  fromTheStart,
  readSinkState,
  type SinkState,
  trailReader,
} from './follow-trail.ts';
import { type SinkConfig, type SinkOf, sinkName } from './sink-schema.ts';

export interface TellParts extends FindingParts {
  readonly sinks: readonly SinkConfig[];
  readonly requests: Pick<RequestStore, 'countPending'>;
  readonly log: Log;
  /** Whether this process lasts, and may be the one that tells. */
  readonly isHolder: boolean;
  readonly tools: ReadonlySet<string>;
  /** In ms; shorter in tests. */
  readonly periodMs?: number;
}

/** How often a process looks whether the one that tells has ended, in ms. */
const takeOverMs = 10_000;

/** Resolves once it is known where what is new begins: no call of this process is missed. @throws {Fault} where the trail cannot be read */
export async function tellTrail(parts: TellParts): Promise<Omit<ToldElsewhere, 'wantsStages'>> {
  const closing = new AbortController();
  const running: Running = { began: await fromNow(parts.audit), followers: [], meter: createMeter(parts.tools, Date.now()) };
  let askedAt: string | undefined;
  const done = parts.isHolder ? tellInTurn(parts, running, closing.signal) : Promise.resolve();
  return {
    findings: async () => Promise.all(parts.sinks.map((sink) => sinkFinding(sink, { ...parts, askedAt }))),
    metrics: async () => {
      askedAt = new Date().toISOString();
      return exposition(await measuresOf(parts, running));
    },
    close: async () => {
      closing.abort();
      await done;
    },
  };
}

interface Running {
  readonly began: Cursor;
  readonly followers: Follower[];
  readonly meter: ReturnType<typeof createMeter>;
}

/** One process of this machine tells; the others wait until it has ended. */
async function tellInTurn(parts: TellParts, running: Running, signal: AbortSignal): Promise<void> {
  const { periodMs = 1_000 } = parts;
  const release = await lockOnce(parts, signal);
  if (release === undefined) return;
  try {
    const opened = parts.sinks.flatMap((sink) => openOne(sink, parts));
    running.followers.push(...opened.map(({ config, sink }) => followTrail({ ...parts, ...followed(config, running), sink })));
    const measured = opened.flatMap(({ sink }) => ('measure' in sink && sink.metricsMs > 0 ? [sink] : []));
    await Promise.all([count(parts, running, periodMs, signal), ...measured.map((sink) => measureOften(sink, { parts, running, signal }))]);
    await Promise.all(running.followers.map((follower) => follower.close()));
  } finally {
    release();
  }
}

async function lockOnce({ stateDir }: TellParts, signal: AbortSignal): Promise<(() => void) | undefined> {
  while (!signal.aborted) {
    try {
      return holdLock(stateDir, sinksLock);
    } catch {
      await pause(takeOverMs, signal);
    }
  }
  return undefined;
}

function followed(config: ToldSink, { began }: Running) {
  const { from, maxAgeHours } = config;
  return { name: sinkName(config), begin: from === 'now' ? began : fromTheStart(), ...(maxAgeHours === undefined ? {} : { maxAgeHours }) };
}

function openOne(config: SinkConfig, parts: TellParts): readonly { readonly config: ToldSink; readonly sink: Sink | MeasuredSink }[] {
  if (config.type === 'prometheus') return [];
  try {
    return [{ config, sink: openSink(config, parts) }];
  } catch (thrown) {
    parts.log.error(`sink ${sinkName(config)}: is not told: ${reasonOf(thrown)}`);
    return [];
  }
}

/** Metrics begin when this process does: whoever adds them up knows a counter that starts anew. */
async function count({ audit, log }: TellParts, { meter, began }: Running, periodMs: number, signal: AbortSignal): Promise<void> {
  const read = trailReader(audit);
  let cursor = began;
  let wasDown = false;
  while (!signal.aborted) {
    try {
      const page = await read(cursor, 1_000);
      meter.note(page.records);
      cursor = page.cursor;
      wasDown = false;
      if (page.records.length === 0) await pause(periodMs, signal);
    } catch (thrown) {
      if (!wasDown) log.warn(`sinks: the trail cannot be counted: ${reasonOf(thrown)}`);
      wasDown = true;
      await pause(10 * periodMs, signal);
    }
  }
}

interface Measuring {
  readonly parts: TellParts;
  readonly running: Running;
  readonly signal: AbortSignal;
}

/** What was missed is in the next: the numbers are sums. */
async function measureOften(sink: MeasuredSink, { parts, running, signal }: Measuring): Promise<void> {
  let said = '';
  while (!signal.aborted) {
    await pause(sink.metricsMs, signal);
    if (signal.aborted) return;
    try {
      await sink.measure(await measuresOf(parts, running), signal);
      said = '';
    } catch (thrown) {
      const why = reasonOf(thrown);
      if (why !== said && !signal.aborted) parts.log.warn(`sinks: metrics were not taken: ${why}`);
      said = why;
    }
  }
}

async function measuresOf({ requests }: TellParts, { followers, meter }: Running): Promise<Measures> {
  const pending = await requests.countPending().catch(() => undefined);
  return { ...meter.read(), ...(pending === undefined ? {} : { pending }), sinks: followers.map((follower) => follower.measures()) };
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { ref: false, signal }).catch(() => undefined);
}

/** Who holds it tells the trail; in the state directory. */
const sinksLock = 'sinks';

interface FindingParts extends OpenParts {
  readonly audit: AuditLog;
  readonly stateDir: string;
  /** When Prometheus asked last, in this process. */
  readonly askedAt?: string | undefined;
}

async function sinkFinding(config: SinkConfig, parts: FindingParts): Promise<Finding> {
  const topic = `sink ${sinkName(config)}`;
  if (config.type === 'prometheus') return scrapeFinding(topic, config, parts);
  const flaw = flawOf(config, parts);
  if (flaw !== undefined) return finding(topic, 'failed', ...flaw);
  try {
    const state = await readSinkState(parts.stateDir, sinkName(config));
    return toldFinding(topic, { state, words: await wordsOf(state, parts), isTold: isLocked(parts.stateDir, sinksLock) });
  } catch (thrown) {
    const remedy = say`look at the state directory, and at the store`;
    return finding(topic, 'failed', say`how far it was told cannot be read: ${faultMessage(thrown)}`, remedy);
  }
}

interface Told {
  readonly state: SinkState | undefined;
  readonly words: Message;
  readonly isTold: boolean;
}

function toldFinding(topic: string, { state, words, isTold }: Told): Finding {
  if (state?.down !== undefined) {
    const remedy = say`make it reachable: it is told the rest by itself`;
    return finding(topic, 'failed', say`down since ${state.down.since}: ${state.down.why}; ${words}`, remedy);
  }
  if (!isTold) {
    const remedy = say`a window, \`banksman mcp\`, \`serve\` or the service does; until then it waits in the trail`;
    return finding(topic, 'warning', say`no process that stays tells it now; ${words}`, remedy);
  }
  if (state === undefined || state.lost + state.refused === 0) return finding(topic, 'ok', words);
  return finding(topic, 'warning', words, say`\`banksman audit export\` has what the sink lacks, as far as the trail is kept`);
}

async function wordsOf(state: SinkState | undefined, { audit }: FindingParts): Promise<Message> {
  if (state === undefined) return say`nothing told yet`;
  const { told, lost, refused, note, cursor } = state;
  const waiting = await waitingOf(audit, cursor.points['']?.sequence ?? 0);
  return joined([
    say`${told} records told`,
    ...(waiting > 0 ? [say`${waiting} wait in the trail`] : []),
    ...(lost + refused > 0 ? [say`${lost} lost, ${refused} refused (${note ?? say`no record says when`})`] : []),
  ]);
}

/** Of a store that several machines share that is not counted. */
async function waitingOf(audit: AuditLog, told: number): Promise<number> {
  if (isChained(audit)) return 0;
  const head = await audit.head();
  return Math.max(0, (head?.sequence ?? 0) - told);
}

function scrapeFinding(topic: string, { address, port }: SinkOf<'prometheus'>, { isService, askedAt }: FindingParts): Finding {
  const place = `http://${address.includes(':') ? `[${address}]` : address}:${port}/metrics`;
  if (isService)
    return finding(topic, 'ok', askedAt === undefined ? say`${place}: nobody has asked yet` : say`${place}: was asked last at ${askedAt}`);
  const remedy = say`\`banksman service install\`, or \`otlp\` with \`metrics\``;
  return finding(topic, 'warning', say`only the service answers Prometheus`, remedy);
}

/** Opened and closed again: nothing is sent. */
function flawOf(config: ToldSink, parts: FindingParts): readonly [message: Message, remedy: string | Message] | undefined {
  try {
    void openSink(config, parts).close();
    return undefined;
  } catch (thrown) {
    const { next, words } = toFault(thrown);
    return [say`is not told: ${faultMessage(thrown)}`, words.next ?? next ?? say`correct \`sinks\` in the configuration`];
  }
}

// From a sink's configuration to the sink.

/** One that is told records; Prometheus asks for itself. */
type ToldSink = Exclude<SinkConfig, { readonly type: 'prometheus' }>;

interface OpenParts {
  /** Relative paths count from here. */
  readonly baseDir: string;
  readonly version: string;
  readonly isService: boolean;
}

/** Nothing is sent yet. @throws {Fault} `bad_config`; what reading a file of its TLS options throws */
function openSink(config: ToldSink, parts: OpenParts): Sink | MeasuredSink {
  const { baseDir, version, isService } = parts;
  const ca = 'caFile' in config && config.caFile !== undefined ? { caFile: expandPath(config.caFile, baseDir) } : {};
  if (config.type === 'otlp') return openOtlp(config, parts);
  if (config.type === 'syslog') return openSyslogSink({ to: config.to, facility: config.facility, ...ca });
  if (config.type === 'journald') return openJournalSink(config);
  // SECURITY: elsewhere standard output is a client's: MCP's messages, a command's answer.
  if (config.to === 'stdout' && !isService) throw new Fault('bad_config', '`stdout` is for the service alone', { next: 'name a file' });
  return openOcsfSink({ to: config.to, version, ...ca });
}

const defaultTimeoutMs = 10_000;

function openOtlp(config: SinkOf<'otlp'>, { baseDir, version, isService }: OpenParts): MeasuredSink {
  const environment = isService ? otelEnvironment(process.env) : noEnvironment;
  const at = (file: string) => expandPath(file, baseDir);
  const headers = Object.entries(config.headers).map(([key, value]) => [key, typeof value === 'string' ? value : { file: at(value.file) }]);
  const files = { caFile: config.caFile ?? environment.caFile, certFile: config.certFile, keyFile: config.keyFile };
  const named = Object.entries(files).flatMap(([key, file]) => (file === undefined ? [] : [[key, at(file)]]));
  return openOtlpSink({
    endpoint: endpointOf(config, environment),
    headers: { ...environment.headers, ...Object.fromEntries(headers) },
    ...Object.fromEntries(named),
    ...{ signals: config.signals, gzip: config.gzip, metricsMs: config.metricsSeconds * 1_000 },
    timeoutMs: config.timeoutMs ?? environment.timeoutMs ?? defaultTimeoutMs,
    resource: {
      'host.name': hostname(),
      ...environment.resource,
      'service.name': environment.serviceName ?? 'banksman',
      'service.version': version,
    },
  });
}

const noEnvironment: OtelEnvironment = { headers: {}, resource: {} };

function endpointOf({ endpoint: configured, plaintext }: SinkOf<'otlp'>, environment: OtelEnvironment): string {
  const endpoint = configured ?? environment.endpoint;
  if (endpoint === undefined)
    throw new Fault('bad_config', '`endpoint` is missing', { next: 'name the collector: `https://collector.example:4318`' });
  if (plaintext || isPrivate(endpoint)) return endpoint;
  throw new Fault('bad_config', '`http` leaves this machine: what is told could be read on the way', {
    next: 'use https, or set `plaintext`',
  });
}

/** Goes over TLS, or stays on this machine. */
function isPrivate(endpoint: string): boolean {
  const { protocol, hostname: host } = new URL(endpoint);
  return protocol === 'https:' || host === 'localhost' || host === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(host);
}

interface OtelEnvironment {
  readonly endpoint?: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
  readonly caFile?: string;
  readonly serviceName?: string;
  readonly resource: Readonly<Record<string, string>>;
}

/**
 * OpenTelemetry's environment variables (SDK configuration specification; OTLP exporter specification). They only fill what the
 * configuration of a sink leaves open. SECURITY: of the service alone, whose environment is root's. Elsewhere the environment is whoever's
 * started the program: a project's list of MCP servers could send the trail where it likes, or stop it (`OTEL_SDK_DISABLED`, which is not
 * honoured anywhere).
 */
export function otelEnvironment(env: Readonly<Record<string, string | undefined>>): OtelEnvironment {
  const read = (name: string): string | undefined => env[name]?.trim() || undefined;
  const endpoint = read('OTEL_EXPORTER_OTLP_ENDPOINT');
  const timeoutMs = Number(read('OTEL_EXPORTER_OTLP_TIMEOUT'));
  const caFile = read('OTEL_EXPORTER_OTLP_CERTIFICATE');
  const serviceName = read('OTEL_SERVICE_NAME');
  return {
    ...(endpoint !== undefined && isWebAddress(endpoint) ? { endpoint } : {}),
    ...(Number.isInteger(timeoutMs) && timeoutMs >= 100 ? { timeoutMs } : {}),
    ...(caFile === undefined ? {} : { caFile }),
    ...(serviceName === undefined ? {} : { serviceName }),
    headers: pairs(read('OTEL_EXPORTER_OTLP_HEADERS')),
    resource: pairs(read('OTEL_RESOURCE_ATTRIBUTES')),
  };
}

function isWebAddress(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}

/** `key=value,key=value`, percent-encoded (W3C Baggage). What does not fit is left out whole. */
function pairs(text = ''): Readonly<Record<string, string>> {
  try {
    const entries = text.split(',').map((part) => part.split('=').map((side) => decodeURIComponent(side.trim())));
    return Object.fromEntries(
      entries.flatMap(([key, ...value]) => (key === undefined || key === '' || value.length === 0 ? [] : [[key, value.join('=')]])),
    );
  } catch {
    return {};
  }
}
