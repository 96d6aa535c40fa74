/** Where the trail is told besides (docs/telemetry.md): the configuration's `sinks`. Only the machine's own file has them. */
import * as z from 'zod';

const place = z.string().min(1).max(1_000);
const host = '(?:\\[[0-9A-Fa-f:.]+\\]|[A-Za-z0-9._-]+)';
const endpoint = (schemes: string, example: string) =>
  z
    .string()
    .max(1_000)
    .regex(new RegExp(`^(?:unix:/.+|(?:${schemes})://${host}:[0-9]{1,5})$`), `must be ${example}`);

const common = {
  /** In `doctor`, the log and the cursor's file. Absent: the sink's type. */
  name: z
    .string()
    .regex(/^[a-z0-9-]{1,40}$/, 'must be small letters, digits or `-`')
    .exactOptional(),
  /** A new sink is told what happens from now on, or the whole trail. */
  from: z.enum(['now', 'start']).default('now'),
  /** What is older is not told any more, and counted. Absent: whatever the trail still has. */
  maxAgeHours: z.number().int().min(1).max(8_760).exactOptional(),
};

/** Never the secret itself: a configuration is shown, copied and kept in Git. */
const headerValue = z.union([z.string().max(2_000), z.strictObject({ file: place })], 'must be a text, or `{ "file": "…" }` for a secret');

const tlsFiles = { caFile: place.exactOptional(), certFile: place.exactOptional(), keyFile: place.exactOptional() };

const otlp = z
  .strictObject({
    type: z.literal('otlp'),
    ...common,
    /** Without `/v1/…`. Absent: `OTEL_EXPORTER_OTLP_ENDPOINT`, in the service alone. */
    endpoint: z
      .url({ protocol: /^https?$/, error: 'must be a URL such as `https://collector.example:4318`' })
      .refine((url) => !URL.canParse(url) || new URL(url).username === '', 'must hold no user name or password: use `headers`')
      .exactOptional(),
    headers: z.record(z.string().regex(/^[A-Za-z0-9-]{1,100}$/), headerValue).default({}),
    ...tlsFiles,
    /** Lets `http` leave this machine: what is told can then be read on the way. */
    plaintext: z.boolean().default(false),
    signals: z.array(z.enum(['logs', 'traces', 'metrics'])).default(['logs', 'traces', 'metrics']),
    gzip: z.boolean().default(true),
    timeoutMs: z.number().int().min(100).max(120_000).exactOptional(),
    metricsSeconds: z.number().int().min(1).max(3_600).default(60),
  })
  .refine(({ certFile, keyFile }) => (certFile === undefined) === (keyFile === undefined), {
    path: ['certFile'],
    error: 'must stand beside `keyFile`',
  });

const ocsf = z.strictObject({
  type: z.literal('ocsf'),
  ...common,
  to: z.union(
    [z.literal('stdout'), z.string().regex(/^\/./).max(1_000), endpoint('tcp|tls', '')],
    'must be an absolute path, `stdout`, `unix:/path`, `tcp://host:port` or `tls://host:port`',
  ),
  caFile: place.exactOptional(),
});

const facilities = [
  'user',
  'daemon',
  'auth',
  'authpriv',
  'audit',
  'local0',
  'local1',
  'local2',
  'local3',
  'local4',
  'local5',
  'local6',
  'local7',
] as const;

const syslog = z.strictObject({
  type: z.literal('syslog'),
  ...common,
  to: endpoint('udp|tcp|tls', '`unix:/path` (a stream socket), `udp://host:514`, `tcp://host:601` or `tls://host:6514`'),
  facility: z.enum(facilities).default('authpriv'),
  caFile: place.exactOptional(),
});

const journald = z.strictObject({ type: z.literal('journald'), ...common, socket: place.default('/run/systemd/journal/stdout') });

const prometheus = z
  .strictObject({
    type: z.literal('prometheus'),
    name: common.name,
    /** Where the service answers `GET /metrics`. */
    address: z.union([z.ipv4(), z.ipv6()], 'must be an IP address').default('127.0.0.1'),
    port: z.number().int().min(1).max(65_535).default(9_469),
    /** Who asks has to send what is in it (`Authorization: Bearer …`). Needed where the address is not this machine's own. */
    tokenFile: place.exactOptional(),
  })
  .refine(({ address, tokenFile }) => tokenFile !== undefined || address === '::1' || address.startsWith('127.'), {
    path: ['tokenFile'],
    error: 'is needed where `address` is not this machine’s own: else anybody on the network may ask',
  });

export const sinksSchema = z
  .array(z.discriminatedUnion('type', [otlp, ocsf, syslog, journald, prometheus]))
  .max(16)
  .superRefine((sinks, context) => {
    const names = sinks.map(sinkName);
    const twice = names.findIndex((name, index) => names.indexOf(name) !== index);
    if (twice >= 0)
      context.addIssue({ code: 'custom', path: [twice], message: `two are named \`${names[twice]}\`; give each its own \`name\`` });
  });
export type SinkConfig = z.output<typeof sinksSchema>[number];
export type SinkOf<Type extends SinkConfig['type']> = Extract<SinkConfig, { readonly type: Type }>;

export function sinkName({ name, type }: Pick<SinkConfig, 'name' | 'type'>): string {
  return name ?? type;
}

/** The files with secrets that they name. */
export function secretsOfSink(sink: SinkConfig): readonly string[] {
  if (sink.type === 'prometheus') return sink.tokenFile === undefined ? [] : [sink.tokenFile];
  if (sink.type !== 'otlp') return [];
  const headers = Object.values(sink.headers).flatMap((value) => (typeof value === 'string' ? [] : [value.file]));
  return [...headers, ...(sink.keyFile === undefined ? [] : [sink.keyFile])];
}

/** The same, with each such file where it lies now. */
export function withSecretsAt(sinks: readonly SinkConfig[], moved: (file: string) => string): SinkConfig[] {
  return sinks.map((sink) => {
    if (sink.type === 'prometheus') return sink.tokenFile === undefined ? sink : { ...sink, tokenFile: moved(sink.tokenFile) };
    if (sink.type !== 'otlp') return sink;
    const entries = Object.entries(sink.headers).map(([key, value]) => [
      key,
      typeof value === 'string' ? value : { file: moved(value.file) },
    ]);
    return { ...sink, headers: Object.fromEntries(entries), ...(sink.keyFile === undefined ? {} : { keyFile: moved(sink.keyFile) }) };
  });
}
