/** The trail as lines: OCSF, syslog and the journal. */
import { hostname } from 'node:os';
import type { AuditRecord } from '#kernel/audit-event';
import { Fault } from '#kernel/errors';
import type { Sink } from '#kernel/ports/sink';
import { ocsfEvent } from './ocsf.ts';
import { datagramOutput, fileOutput, type Output, standardOutput, streamOutput } from './outputs.ts';
import { asciiJson, factsOf, type Weight } from './record-facts.ts';

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
  if (to.startsWith('udp:')) return toldBy(datagramOutput(to), (record) => syslogMessage(record, number));
  return toldBy(streamOutput(to, tls), (record) => {
    const message = syslogMessage(record, number);
    return `${Buffer.byteLength(message)} ${message}`;
  });
}

/** The record's JSON behind `@cee:`, which rsyslog's mmjsonparse and syslog-ng know; all of it ASCII, so that no BOM is needed. */
export function syslogMessage(record: AuditRecord, facility: number): string {
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

/** @throws {Fault} `sink_refused` for a record that is longer than a line of the journal */
export function openJournalSink({ socket }: { readonly socket: string }): Sink {
  return toldBy(streamOutput(`unix:${socket}`, { greeting: journalGreeting }), (record) => {
    const line = `<${severities[factsOf(record).weight]}>${asciiJson(record)}\n`;
    if (line.length > journalLine) throw new Fault('sink_refused', `a record is longer than a line of the journal (${journalLine} bytes)`);
    return line;
  });
}
