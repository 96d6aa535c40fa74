/** The trail as lines: OCSF (https://schema.ocsf.io), syslog and the journal. */

import { createSocket } from 'node:dgram';
import { constants, readFileSync } from 'node:fs';
import { type FileHandle, open, stat } from 'node:fs/promises';
import { connect, isIP, type Socket } from 'node:net';
import { hostname } from 'node:os';
import { connect as connectTls } from 'node:tls';
import type { AuditRecord } from '#kernel/audit-event';
import { Fault } from '#kernel/errors';
import { isJsonObject, type JsonObject } from '#kernel/json';
import type { Sink } from '#kernel/ports/sink';
import { say } from '#kernel/text/message';
import { asciiJson, factsOf, type RecordFacts, type Weight } from './record-facts.ts';

/** OCSF API Activity as JSON Lines, to a file, `stdout`, `unix:/path`, `tcp://host:port` or `tls://host:port`. */
export function openOcsfSink({ to, version, ...tls }: { readonly to: string; readonly version: string; readonly caFile?: string }): Sink {
  const output = to === 'stdout' ? standardOutput() : to.startsWith('/') ? fileOutput(to) : streamOutput(to, tls);
  return toldBy(output, (record) => `${JSON.stringify(ocsfEvent(record, { version, host: hostname() }))}\n`);
}

function toldBy(output: Output, frame: (record: AuditRecord) => string): Sink {
  return {
    send: async (records) => {
      await output.write(records.map(frame));
      return 0;
    },
    close: () => output.close(),
  };
}

// syslog, RFC 5424.

/** RFC 5424 § 6.2.1. */
const facilityNumbers: Readonly<Record<string, number>> = {
  user: 1,
  daemon: 3,
  auth: 4,
  authpriv: 10,
  audit: 13,
  ...{ local0: 16, local1: 17, local2: 18, local3: 19, local4: 20, local5: 21, local6: 22, local7: 23 },
};
const severities: Readonly<Record<Weight, number>> = { error: 3, warning: 4, notice: 5, info: 6 };

/** @param to `udp://…` (RFC 5426), `tcp://…` and `unix:/path` (octet counting of RFC 6587), `tls://…` (RFC 5425) */
export function openSyslogSink({
  to,
  facility,
  ...tls
}: {
  readonly to: string;
  readonly facility: string;
  readonly caFile?: string;
}): Sink {
  const number = facilityNumbers[facility] ?? 10;
  if (to.startsWith('udp:'))
    return toldBy(datagramOutput(to), (record) => fitted(record, longestDatagram, (one) => syslogMessage(one, number)));
  return toldBy(streamOutput(to, tls), (record) => {
    const message = syslogMessage(record, number);
    return `${Buffer.byteLength(message)} ${message}`;
  });
}

/** The record's JSON behind `@cee:`, which rsyslog's mmjsonparse and syslog-ng know; all of it ASCII, so that no BOM is needed. */
function syslogMessage(record: AuditRecord, facility: number): string {
  const priority = facility * 8 + severities[factsOf(record).weight];
  const host =
    hostname()
      .replace(/[^\x21-\x7e]/g, '-')
      .slice(0, 255) || '-';
  const meta = `[meta sequenceId="${((record.sequence - 1) % 2_147_483_647) + 1}"]`;
  return `<${priority}>1 ${record.time} ${host} banksman ${process.pid} ${record.name.slice(0, 32)} ${meta} @cee: ${asciiJson(record)}`;
}

// The journal, through the stream that it takes services' output from: Node has no datagram sockets for its native one (docs/adr/0032-told-elsewhere.md).

/** Identifier, unit, priority, whether lines begin with one of their own, and whether they go to syslog, the kernel's log and the console, too. */
const journalGreeting = 'banksman\n\n6\n1\n0\n0\n0\n';
/** `LineMax=` of journald.conf(5), as it is where nobody set it: a longer line would be cut in two. */
const journalLine = 48 * 1024;

export function openJournalSink({ socket }: { readonly socket: string }): Sink {
  return toldBy(streamOutput(`unix:${socket}`, { greeting: journalGreeting }), (record) => {
    return fitted(record, journalLine, (one) => `<${severities[factsOf(one).weight]}>${asciiJson(one)}\n`);
  });
}

/** Longest text that a shortened record keeps of one attribute. */
const keptText = 500;

/**
 * One that is too long for what it goes through is told without its long attributes: it says so (`banksman.shortened`: which, and how many bytes it would have
 * been), and its hash names the record that the trail has whole.
 */
export function fitted(record: AuditRecord, most: number, frame: (record: AuditRecord) => string): string {
  const whole = frame(record);
  const bytes = Buffer.byteLength(whole);
  if (bytes <= most) return whole;
  const short = Object.entries(record.attributes).filter(([, value]) => (JSON.stringify(value) ?? '').length <= keptText);
  const left = Object.keys(record.attributes).filter((key) => !short.some(([kept]) => kept === key));
  const named = { 'banksman.shortened': { bytes, without: left.slice(0, 20).map((key) => key.slice(0, 100)) } };
  const shortened = frame({ ...record, attributes: { ...Object.fromEntries(short), ...named } });
  return Buffer.byteLength(shortened) <= most ? shortened : frame({ ...record, attributes: named });
}

const schemaVersion = '1.2.0';
const apiActivity = 6003;
const activities = { Create: 1, Read: 2, Update: 3, Delete: 4, Other: 99 } as const;
type Activity = keyof typeof activities;

const ocsfSeverities: Readonly<Record<Weight, readonly [number, string]>> = {
  info: [1, 'Informational'],
  notice: [1, 'Informational'],
  warning: [3, 'Medium'],
  error: [2, 'Low'],
};

/**
 * A record as an event of the Open Cybersecurity Schema Framework: API Activity, class 6003, of schema 1.2.0. Pure.
 * @param source the product's version, and the machine that tells
 */
function ocsfEvent(record: AuditRecord, { version, host }: { readonly version: string; readonly host: string }): JsonObject {
  const facts = factsOf(record);
  const activity = activityOf(record, facts);
  const [severityId, severity] = ocsfSeverities[facts.weight];
  const time = Date.parse(record.time);
  return {
    activity_id: activities[activity],
    activity_name: activity === 'Other' ? record.name : activity,
    category_uid: 6,
    category_name: 'Application Activity',
    class_uid: apiActivity,
    class_name: 'API Activity',
    type_uid: apiActivity * 100 + activities[activity],
    type_name: `API Activity: ${activity}`,
    time,
    severity_id: severityId,
    severity,
    message: facts.message,
    ...statusOf(facts),
    ...(facts.durationMs === undefined ? {} : { duration: facts.durationMs, start_time: time - facts.durationMs, end_time: time }),
    metadata: {
      version: schemaVersion,
      product: { name: 'Banksman', vendor_name: 'Banksman', version },
      // The record's own hash: who gets an event twice drops the second.
      uid: record.hash,
      log_name: 'audit',
      log_provider: 'banksman',
      event_code: record.name,
      original_time: record.time,
      ...(facts.callId === undefined ? {} : { correlation_uid: facts.callId }),
    },
    actor: actorOf(facts, record),
    api: apiOf(facts, record),
    src_endpoint: { hostname: host, ...(facts.host === undefined ? {} : { svc_name: facts.host }) },
    ...(facts.targets.length === 0 ? {} : { resources: facts.targets.map(resourceOf) }),
    unmapped: unmappedOf(record),
  };
}

function activityOf({ name }: AuditRecord, { tool = '', tier }: RecordFacts): Activity {
  if (!name.startsWith('tool.') || tier === undefined) return 'Other';
  if (tier === 'green') return 'Read';
  if (/^(?:create|clone|restore|backup)_/.test(tool)) return 'Create';
  return tool.startsWith('delete_') ? 'Delete' : 'Update';
}

/** `status_id`: 1 success, 2 failure; a call that waits for a person is neither. */
function statusOf({ status, code, message }: RecordFacts): JsonObject {
  if (status === undefined) return {};
  const [id, word] = status === 'ok' ? [1, 'Success'] : status === 'pending' ? [99, 'pending'] : [2, 'Failure'];
  return {
    status_id: id,
    status: word,
    ...(code === undefined ? {} : { status_code: code }),
    ...(id === 2 ? { status_detail: message } : {}),
  };
}

function actorOf({ agentId, host, model }: RecordFacts, { attributes: { agent } }: AuditRecord): JsonObject {
  const label = isJsonObject(agent) ? agent['label'] : undefined;
  const user = agentId === undefined ? {} : { user: { uid: agentId, name: typeof label === 'string' ? label : agentId } };
  return { app_name: model ?? host ?? 'banksman', ...user };
}

function apiOf({ tool, callId, requestId, status, code, message }: RecordFacts, record: AuditRecord): JsonObject {
  const asked = record.attributes['gen_ai.tool.call.arguments'];
  const failed = status === 'error' || status === 'denied';
  return {
    operation: tool ?? record.name,
    service: { name: 'banksman' },
    request: { uid: callId ?? requestId ?? record.hash, ...(asked === undefined ? {} : { data: asked }) },
    ...(status === undefined ? {} : { response: { message, ...(failed ? { error: code ?? status, error_message: message } : {}) } }),
  };
}

/** What names a target of its kind; the first that it has. */
const naming = ['vmid', 'node', 'path', 'service', 'storage', 'address', 'host', 'text', 'id'] as const;

function resourceOf(target: JsonObject): JsonObject {
  const { kind, cluster, name } = target;
  const id = naming.map((key) => target[key]).find((value) => typeof value === 'string' || typeof value === 'number') ?? '';
  return {
    type: typeof kind === 'string' ? kind : 'resource',
    uid: typeof cluster === 'string' && cluster !== '' ? `${cluster}/${id}` : `${id}`,
    ...(typeof name === 'string' ? { name } : {}),
    data: target,
  };
}

/** What has no place of its own in the class: nothing of the record is left out. */
function unmappedOf({ attributes, sequence, chain, previous }: AuditRecord): JsonObject {
  const { 'gen_ai.tool.call.arguments': _arguments, message: _message, target: _target, ...rest } = attributes;
  return { ...rest, record: { sequence, previous, ...(chain === undefined ? {} : { chain }) } };
}

// Where lines go: a file, standard output, a stream socket, datagrams.

interface Output {
  /** All of them, in their order, as they are: whoever calls has framed them. Resolves once they have left this process. */
  write(frames: readonly string[]): Promise<void>;
  close(): Promise<void>;
}

/**
 * Appends, and looks before each time whether the file is still there: after `logrotate` moved it, the next lines go into a new one. What it wrote
 * is on the disk when `write` resolves.
 */
function fileOutput(file: string): Output {
  let handle: FileHandle | undefined;
  return {
    write: async (frames) => {
      if (handle !== undefined && !(await isSame(handle, file))) handle = await handle.close().then(() => undefined);
      handle ??= await openAtLineStart(file);
      await handle.appendFile(frames.join(''));
      await handle.datasync();
    },
    close: async () => handle?.close(),
  };
}

/** Group-readable, so that a shipper's user can be given it; not through a link, which somebody else may have laid. */
async function openAtLineStart(file: string): Promise<FileHandle> {
  const handle = await open(file, constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | (constants.O_NOFOLLOW ?? 0), 0o640);
  const { size } = await handle.stat();
  const { buffer } = size === 0 ? { buffer: Buffer.from('\n') } : await handle.read(Buffer.alloc(1), 0, 1, size - 1);
  // A process that was killed while it wrote left half a line.
  if (buffer[0] !== 0x0a) await handle.appendFile('\n');
  return handle;
}

async function isSame(handle: FileHandle, file: string): Promise<boolean> {
  const [mine, there] = await Promise.all([handle.stat(), stat(file).catch(() => undefined)]);
  return there !== undefined && mine.ino === there.ino && mine.dev === there.dev;
}

function standardOutput(): Output {
  return {
    write: (frames) =>
      new Promise((resolve, reject) => void process.stdout.write(frames.join(''), (error) => (error == null ? resolve() : reject(error)))),
    close: async () => undefined,
  };
}

/** How long connecting may take, and writing one batch, in ms. */
const streamMs = 10_000;

/**
 * A stream that is opened again when it has ended. LIMIT: what the kernel took and the receiver had not read when the connection broke is gone: the
 * protocols that go over it have no receipt.
 * @param greeting is written first on each connection
 */
function streamOutput(to: string, { caFile, greeting = '' }: { readonly caFile?: string; readonly greeting?: string } = {}): Output {
  let socket: Socket | undefined;
  const reach = async (): Promise<Socket> => {
    const opened = await connected(to, caFile);
    // A receiver that goes away is noticed while there is nothing to send, so that the next batch does not go into a dead connection.
    opened.on('error', () => opened.destroy());
    opened.on('end', () => opened.destroy());
    opened.on('close', () => {
      if (socket === opened) socket = undefined;
    });
    opened.resume();
    opened.unref();
    if (greeting !== '') await writeAll(opened, greeting);
    return opened;
  };
  return {
    write: async (frames) => {
      socket ??= await reach();
      await writeAll(socket, frames.join(''));
    },
    close: async () => void socket?.destroy(),
  };
}

function connected(to: string, caFile: string | undefined): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const { scheme, host, port, path } = partsOf(to);
  const ca = caFile === undefined ? {} : { ca: readFileSync(caFile) };
  const socket =
    scheme === 'unix'
      ? connect({ path })
      : scheme === 'tls'
        ? connectTls({ host, port, ...ca, ...(isIP(host) === 0 ? { servername: host } : {}) })
        : connect({ host, port });
  const late = setTimeout(() => socket.destroy(new Fault('sink_timeout', say`${to} did not answer within ${streamMs / 1000} s`)), streamMs);
  socket.once(scheme === 'tls' ? 'secureConnect' : 'connect', () => resolve(socket));
  socket.once('error', reject);
  return promise.finally(() => {
    clearTimeout(late);
    socket.off('error', reject);
  });
}

/** A receiver that does not read is one that is down. */
function writeAll(socket: Socket, text: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const gone = () => reject(new Fault('sink_failed', 'the connection ended'));
  const late = setTimeout(() => {
    reject(new Fault('sink_timeout', say`the receiver read nothing for ${streamMs / 1000} s`));
    socket.destroy();
  }, streamMs);
  socket.once('close', gone);
  socket.write(text, (error) => (error == null ? resolve() : reject(error)));
  return promise.finally(() => {
    clearTimeout(late);
    socket.off('close', gone);
  });
}

/** Longest text of one UDP datagram over IPv4. */
const longestDatagram = 65_507;

/** Each frame is a datagram. LIMIT: nobody says whether it arrives. @throws {Fault} `sink_refused` where one does not fit */
function datagramOutput(to: string): Output {
  const { host, port } = partsOf(to);
  const socket = createSocket(isIP(host) === 6 ? 'udp6' : 'udp4');
  socket.on('error', () => undefined);
  socket.unref();
  const send = (frame: string) =>
    new Promise<void>((resolve, reject) => socket.send(frame, port, host, (error) => (error == null ? resolve() : reject(error))));
  return {
    write: async (frames) => {
      const tooLong = frames.some((frame) => Buffer.byteLength(frame) > longestDatagram);
      if (tooLong) throw new Fault('sink_refused', say`a record is longer than a datagram (${longestDatagram} bytes); use tcp or tls`);
      for (const frame of frames) await send(frame);
    },
    close: async () => void socket.close(),
  };
}

function partsOf(to: string): { readonly scheme: string; readonly host: string; readonly port: number; readonly path: string } {
  if (to.startsWith('unix:')) return { scheme: 'unix', host: '', port: 0, path: to.slice('unix:'.length) };
  const { groups = {} } = /^(?<scheme>[a-z]+):\/\/\[?(?<host>.+?)\]?:(?<port>\d+)$/.exec(to) ?? {};
  return { scheme: groups['scheme'] ?? '', host: groups['host'] ?? '', port: Number(groups['port']), path: '' };
}
