/**
 * OpenTelemetry's environment variables (SDK configuration specification; OTLP exporter specification). They only fill what the configuration of a
 * sink leaves open. SECURITY: of the service alone, whose environment is root's. Elsewhere the environment is whoever's started the program: a
 * project's list of MCP servers could send the trail where it likes, or stop it (`OTEL_SDK_DISABLED`, which is not honoured anywhere).
 */

export interface OtelEnvironment {
  readonly endpoint?: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
  readonly caFile?: string;
  readonly serviceName?: string;
  readonly resource: Readonly<Record<string, string>>;
}

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
