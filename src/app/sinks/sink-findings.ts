/** What `doctor` says of each sink; it reads what the process that tells has left in the state directory. */
import { isChained } from '#audit/verify-trail';
import type { Finding } from '#kernel/app';
import { Fault, reasonOf } from '#kernel/errors';
import type { AuditLog } from '#kernel/ports/audit-log';
import { isLocked } from '#stores/sqlite/hold-lock';
import { readSinkState, type SinkState } from './follow-trail.ts';
import { type OpenParts, openSink, type ToldSink } from './open-sink.ts';
import { type SinkConfig, type SinkOf, sinkName } from './sink-schema.ts';

/** Who holds it tells the trail; in the state directory. */
export const sinksLock = 'sinks';

export interface FindingParts extends OpenParts {
  readonly audit: AuditLog;
  readonly stateDir: string;
  /** When Prometheus asked last, in this process. */
  readonly askedAt?: string | undefined;
}

export async function sinkFinding(config: SinkConfig, parts: FindingParts): Promise<Finding> {
  const topic = `sink ${sinkName(config)}`;
  if (config.type === 'prometheus') return { topic, ...scrapeState(config, parts) };
  const flaw = flawOf(config, parts);
  if (flaw !== undefined) return { topic, state: 'failed', ...flaw };
  try {
    const state = await readSinkState(parts.stateDir, sinkName(config));
    return { topic, ...stateOf(state, await wordsOf(state, parts), isLocked(parts.stateDir, sinksLock)) };
  } catch (thrown) {
    const remedy = 'look at the state directory, and at the store';
    return { topic, state: 'failed', message: `how far it was told cannot be read: ${reasonOf(thrown)}`, remedy };
  }
}

function stateOf(state: SinkState | undefined, words: string, isTold: boolean): Omit<Finding, 'topic'> {
  if (state?.down !== undefined) {
    const remedy = 'make it reachable: it is told the rest by itself';
    return { state: 'failed', message: `down since ${state.down.since}: ${state.down.why}; ${words}`, remedy };
  }
  if (!isTold) {
    const remedy = 'a window, `banksman mcp`, `serve` or the service does; until then it waits in the trail';
    return { state: 'warning', message: `no process that stays tells it now; ${words}`, remedy };
  }
  if (state === undefined || state.lost + state.refused === 0) return { state: 'ok', message: words };
  const remedy = '`banksman audit export` has what the sink lacks, as far as the trail is kept';
  return { state: 'warning', message: words, remedy };
}

async function wordsOf(state: SinkState | undefined, { audit }: FindingParts): Promise<string> {
  if (state === undefined) return 'nothing told yet';
  const { told, lost, refused, note, cursor } = state;
  const waiting = await waitingOf(audit, cursor.points['']?.sequence ?? 0);
  return [
    `${told} records told`,
    ...(waiting > 0 ? [`${waiting} wait in the trail`] : []),
    ...(lost + refused > 0 ? [`${lost} lost, ${refused} refused (${note ?? 'no record says when'})`] : []),
  ].join(', ');
}

/** Of a store that several machines share that is not counted. */
async function waitingOf(audit: AuditLog, told: number): Promise<number> {
  if (isChained(audit)) return 0;
  const head = await audit.head();
  return Math.max(0, (head?.sequence ?? 0) - told);
}

function scrapeState({ address, port }: SinkOf<'prometheus'>, { isService, askedAt }: FindingParts): Omit<Finding, 'topic'> {
  const place = `http://${address.includes(':') ? `[${address}]` : address}:${port}/metrics`;
  if (isService)
    return { state: 'ok', message: askedAt === undefined ? `${place}: nobody has asked yet` : `${place}: was asked last at ${askedAt}` };
  const remedy = '`banksman service install`, or `otlp` with `metrics`';
  return { state: 'warning', message: 'only the service answers Prometheus', remedy };
}

/** Opened and closed again: nothing is sent. */
function flawOf(config: ToldSink, parts: FindingParts): Pick<Finding, 'message' | 'remedy'> | undefined {
  try {
    void openSink(config, parts).close();
    return undefined;
  } catch (thrown) {
    const next = thrown instanceof Fault ? thrown.next : undefined;
    return { message: `is not told: ${reasonOf(thrown)}`, remedy: next ?? 'correct `sinks` in the configuration' };
  }
}
