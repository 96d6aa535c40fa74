/** Counts what the trail says, with label sets that cannot grow: a tool's name is one of the catalog's, or `other`. */
import type { AuditRecord } from '#kernel/audit-event';
import { durationBounds, type Measures } from '#kernel/ports/sink';
import { factsOf } from './record-facts.ts';

export interface Meter {
  note(records: readonly AuditRecord[]): void;
  read(): Pick<Measures, 'since' | 'calls' | 'durations'>;
}

const tiers: ReadonlySet<string> = new Set(['green', 'yellow', 'red', 'black']);
const outcomes: ReadonlySet<string> = new Set(['ok', 'error', 'denied', 'pending']);

/** @param tools the catalog's names */
export function createMeter(tools: ReadonlySet<string>, since: number): Meter {
  const calls = new Map<string, Measures['calls'][number]>();
  const durations = new Map<string, { readonly tool: string; readonly counts: number[]; sum: number }>();

  function note(record: AuditRecord): void {
    if (record.name !== 'tool.finished' && record.name !== 'tool.denied') return;
    const facts = factsOf(record);
    const tool = known(facts.tool, tools, 'other');
    const tier = known(facts.tier, tiers, 'unknown');
    const outcome = known(facts.status, outcomes, 'unknown');
    const key = `${tool} ${tier} ${outcome}`;
    calls.set(key, { tool, tier, outcome, count: (calls.get(key)?.count ?? 0) + 1 });
    noteDuration(tool, (facts.durationMs ?? 0) / 1_000);
  }

  function noteDuration(tool: string, seconds: number): void {
    const taken = durations.get(tool) ?? { tool, counts: [...durationBounds, 0].map(() => 0), sum: 0 };
    const bucket = durationBounds.findIndex((bound) => seconds <= bound);
    const at = bucket < 0 ? durationBounds.length : bucket;
    taken.counts[at] = (taken.counts[at] ?? 0) + 1;
    taken.sum += seconds;
    durations.set(tool, taken);
  }

  return {
    note: (records) => records.forEach(note),
    read: () => ({ since, calls: [...calls.values()], durations: [...durations.values()] }),
  };
}

function known(value: string | undefined, words: ReadonlySet<string>, other: string): string {
  return value !== undefined && words.has(value) ? value : other;
}

// Prometheus' text exposition format, version 0.0.4.

type Sample = readonly [labels: Readonly<Record<string, string>>, value: number, suffix?: string];

export function exposition({ calls, durations, pending, sinks, since }: Measures): string {
  const perSink = (value: (sink: Measures['sinks'][number]) => number) => sinks.map((sink): Sample => [{ sink: sink.name }, value(sink)]);
  return [
    family(
      'banksman_calls_total',
      'counter',
      'Calls that ended, by tool, action tier and outcome.',
      calls.map(({ count, ...labels }) => [labels, count]),
    ),
    family('banksman_call_duration_seconds', 'histogram', "How long calls took, without a person's time.", durations.flatMap(histogram)),
    family('banksman_requests_pending', 'gauge', 'Requests that wait for a person.', pending === undefined ? [] : [[{}, pending]]),
    family(
      'banksman_sink_up',
      'gauge',
      'Whether the sink took what it was told last.',
      perSink(({ up }) => (up ? 1 : 0)),
    ),
    family(
      'banksman_sink_behind_seconds',
      'gauge',
      'Age of the oldest record that the sink was not told yet.',
      perSink(({ behind }) => behind),
    ),
    family(
      'banksman_sink_told_total',
      'counter',
      'Records that the sink was told.',
      perSink(({ told }) => told),
    ),
    family(
      'banksman_sink_lost_total',
      'counter',
      'Records that were gone or too old before the sink could be told.',
      perSink(({ lost }) => lost),
    ),
    family(
      'banksman_sink_refused_total',
      'counter',
      'Records that the receiver will never take.',
      perSink(({ refused }) => refused),
    ),
    family('banksman_start_time_seconds', 'gauge', 'When counting began, in seconds since the epoch.', [[{}, since / 1_000]]),
  ].join('');
}

function family(name: string, type: 'counter' | 'gauge' | 'histogram', help: string, samples: readonly Sample[]): string {
  if (samples.length === 0) return '';
  const lines = samples.map(([labels, value, suffix = '']) => `${name}${suffix}${labelText(labels)} ${value}\n`);
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('')}`;
}

function histogram({ tool, counts, sum }: Measures['durations'][number]): readonly Sample[] {
  let below = 0;
  const buckets = counts.map((count, index): Sample => {
    below += count;
    return [{ tool, le: String(durationBounds[index] ?? '+Inf') }, below, '_bucket'];
  });
  return [...buckets, [{ tool }, sum, '_sum'], [{ tool }, below, '_count']];
}

function labelText(labels: Readonly<Record<string, string>>): string {
  const entries = Object.entries(labels).map(
    ([key, value]) => `${key}="${value.replace(/[\\"\n]/g, (char) => (char === '\n' ? '\\n' : `\\${char}`))}"`,
  );
  return entries.length === 0 ? '' : `{${entries.join(',')}}`;
}
