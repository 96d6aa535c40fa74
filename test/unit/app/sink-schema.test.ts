import { describe, expect, it } from 'vitest';
import { parseConfig } from '#app/config/config';
import { otelEnvironment } from '../../../src/app/sinks/tell-trail.ts';

const sinks = (...entries: readonly object[]) => parseConfig({ sinks: entries }, 'test').sinks;

describe('sinks in the configuration', () => {
  it('have defaults that keep to this machine', () => {
    expect(sinks({ type: 'prometheus' }, { type: 'syslog', to: 'udp://10.0.0.5:514' })).toMatchObject([
      { address: '127.0.0.1', port: 9_469 },
      { facility: 'authpriv', from: 'now' },
    ]);
  });

  it.each([
    [{ type: 'otlp', endpoint: 'ftp://collector:4318' }, 'must be a URL'],
    [{ type: 'otlp', endpoint: 'https://user:pass@collector:4318' }, 'must hold no user name or password'],
    [{ type: 'otlp', endpoint: 'https://collector:4318', headers: { 'bad header': 'x' } }, 'headers'],
    [{ type: 'otlp', endpoint: 'https://collector:4318', keyFile: 'k' }, 'must stand beside `keyFile`'],
    [{ type: 'ocsf', to: 'relative.jsonl' }, 'must be an absolute path'],
    [{ type: 'ocsf' }, 'to'],
    [{ type: 'syslog', to: 'syslog.example:514' }, 'must be `unix:/path`'],
    [{ type: 'syslog', to: 'tls://h:6514', facility: 'mail' }, 'facility'],
    [{ type: 'kafka' }, 'type'],
    [{ type: 'journald', name: 'No Name' }, 'must be small letters'],
    [{ type: 'journald', more: 1 }, 'more'],
  ])('%j is refused', (entry, words) => {
    expect(() => sinks(entry)).toThrow(words);
  });

  it('two of one name are refused, two of one kind have names', () => {
    expect(() => sinks({ type: 'journald' }, { type: 'journald' })).toThrow('two are named `journald`');
    expect(sinks({ type: 'journald' }, { type: 'journald', name: 'second' })).toHaveLength(2);
  });
});

describe('OpenTelemetry’s environment', () => {
  it('is read as its specification says', () => {
    expect(
      otelEnvironment({
        OTEL_EXPORTER_OTLP_ENDPOINT: ' https://collector.example:4318 ',
        OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20abc,x-scope-orgid=lab=1',
        OTEL_EXPORTER_OTLP_TIMEOUT: '2500',
        OTEL_SERVICE_NAME: 'banksman-lab',
        OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=lab',
      }),
    ).toEqual({
      endpoint: 'https://collector.example:4318',
      headers: { authorization: 'Bearer abc', 'x-scope-orgid': 'lab=1' },
      timeoutMs: 2_500,
      serviceName: 'banksman-lab',
      resource: { 'deployment.environment.name': 'lab' },
    });
  });

  it('that does not fit counts as none', () => {
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: 'not a url', OTEL_EXPORTER_OTLP_HEADERS: 'a=%zz', OTEL_EXPORTER_OTLP_TIMEOUT: 'soon' };
    expect(otelEnvironment(env)).toEqual({ headers: {}, resource: {} });
    expect(otelEnvironment({ OTEL_SDK_DISABLED: 'true' })).toEqual({ headers: {}, resource: {} });
  });
});
