/** From a sink's configuration to the sink. */
import { hostname } from 'node:os';
import { openJournalSink, openOcsfSink, openSyslogSink } from '#connectors/telemetry/line-sinks';
import { openOtlpSink } from '#connectors/telemetry/otlp-sink';
import { Fault } from '#kernel/errors';
import type { MeasuredSink, Sink } from '#kernel/ports/sink';
import { expandPath } from '../config/paths.ts';
import type { SinkConfig, SinkOf } from './sink-schema.ts';

/** One that is told records; Prometheus asks for itself. */
export type ToldSink = Exclude<SinkConfig, { readonly type: 'prometheus' }>;

export interface OpenParts {
  /** Relative paths count from here. */
  readonly baseDir: string;
  readonly version: string;
  readonly isService: boolean;
}

/** Nothing is sent yet. @throws {Fault} `bad_config`; what reading a file of its TLS options throws */
export function openSink(config: ToldSink, parts: OpenParts): Sink | MeasuredSink {
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
