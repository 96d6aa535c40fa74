import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { expect, it, onTestFinished } from 'vitest';
import { fitted, openSyslogSink } from '#connectors/telemetry/line-sinks';
import type { AuditRecord } from '#kernel/audit-event';
import type { JsonObject } from '#kernel/json';

const recordOf = (attributes: JsonObject): AuditRecord => ({
  ...{ version: 1, sequence: 1, time: '2026-11-27T07:00:00.000Z', name: 'tool.finished', attributes, previous: '', hash: 'a'.repeat(64) },
});
const large = recordOf({ 'gen_ai.tool.name': 'run_command', status: 'ok', result: 'ä'.repeat(2_500_000) });

it('leaves a record as it is that fits, to the byte', () => {
  const record = recordOf({ text: 'x'.repeat(1_000) });
  const whole = JSON.stringify(record);
  expect(fitted(record, whole.length, JSON.stringify)).toBe(whole);
  expect(fitted(record, whole.length - 1, JSON.stringify)).not.toBe(whole);
});

it('tells a record of 5 MB without what is long, and says what lacks', () => {
  const told = fitted(large, 65_507, JSON.stringify);
  expect(JSON.parse(told)).toEqual({
    ...large,
    attributes: {
      ...{ 'gen_ai.tool.name': 'run_command', status: 'ok' },
      'banksman.shortened': { bytes: Buffer.byteLength(JSON.stringify(large)), without: ['result'] },
    },
  });
});

it('tells of one with thousands of attributes that it is there', () => {
  const many = recordOf(Object.fromEntries(Array.from({ length: 9_000 }, (_, at) => [`key-${at}-${'k'.repeat(200)}`, at])));
  const told = fitted(many, 65_507, JSON.stringify);
  expect(told.length).toBeLessThan(65_507);
  expect(JSON.parse(told)).toMatchObject({ hash: many.hash, attributes: { 'banksman.shortened': { without: [] } } });
});

it('reaches a real UDP socket, and what comes after it, too', async () => {
  const receiver = createSocket('udp4');
  receiver.bind(0, '127.0.0.1');
  await once(receiver, 'listening');
  const sink = openSyslogSink({ to: `udp://127.0.0.1:${receiver.address().port}`, facility: 'authpriv' });
  onTestFinished(async () => {
    await sink.close();
    receiver.close();
  });
  const heard: string[] = [];
  const both = new Promise<void>((resolve) => {
    receiver.on('message', (text) => {
      if (heard.push(text.toString()) === 2) resolve();
    });
  });
  await sink.send([large, recordOf({ status: 'next' })], new AbortController().signal);
  await both;
  expect(heard[0]).toContain('"banksman.shortened"');
  expect(heard[1]).toContain('"status":"next"');
});
