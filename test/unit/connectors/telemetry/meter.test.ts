import { describe, expect, it } from 'vitest';
import { seal } from '#audit/seal';
import { createMeter, exposition } from '#connectors/telemetry/meter';
import type { JsonObject } from '#kernel/json';

const tools = new Set(['stop_vm', 'get_node_status']);

function finished(attributes: JsonObject) {
  return seal({ name: 'tool.finished', attributes }, undefined, 1_000);
}

function measured(...attributes: readonly JsonObject[]) {
  const meter = createMeter(tools, 1_700_000_000_000);
  meter.note(attributes.map(finished));
  return exposition({ ...meter.read(), pending: 2, sinks: [{ name: 'otlp', up: false, behind: 1.5, told: 7, lost: 1, refused: 0 }] });
}

const stop = { 'gen_ai.tool.name': 'stop_vm', tier: 'red', status: 'ok', duration_ms: 250 };

describe('Prometheus’ text', () => {
  it('has HELP and TYPE before each family, once, and samples that belong to it', () => {
    const text = measured(stop, { ...stop, status: 'denied', duration_ms: 90_000 });
    const families = text.split(/^(?=# HELP )/m);
    const names = families.map((family) => /^# HELP ([a-z_]+) \S.*\n# TYPE \1 (?:counter|gauge|histogram)\n/.exec(family)?.[1] ?? family);
    expect(names).toEqual([...new Set(names)]);
    const sample = (name: string) =>
      new RegExp(`^${name}(?:_bucket|_sum|_count)?(?:\\{[a-z_]+="[^"]*"(?:,[a-z_]+="[^"]*")*\\})? [0-9.e+]+$`);
    const strangers = families.flatMap((family, index) => {
      const [, , ...samples] = family.trimEnd().split('\n');
      return samples.filter((line) => !sample(names[index] ?? '').test(line));
    });
    expect(strangers).toEqual([]);
    expect(text.endsWith('\n')).toBe(true);
  });

  it('counts calls by tool, tier and outcome', () => {
    const text = measured(stop, stop, { ...stop, status: 'denied' });
    expect(text).toContain('banksman_calls_total{tool="stop_vm",tier="red",outcome="ok"} 2\n');
    expect(text).toContain('banksman_calls_total{tool="stop_vm",tier="red",outcome="denied"} 1\n');
  });

  it('has cumulative buckets that end with all of them', () => {
    const text = measured(stop, { ...stop, duration_ms: 320 }, { ...stop, duration_ms: 90_000 });
    expect(text).toContain('_bucket{tool="stop_vm",le="0.16"} 0\n');
    expect(text).toContain('_bucket{tool="stop_vm",le="0.32"} 2\n');
    expect(text).toContain('_bucket{tool="stop_vm",le="+Inf"} 3\n');
    expect(text).toContain('_count{tool="stop_vm"} 3\n');
    expect(text).toContain('_sum{tool="stop_vm"} 90.57\n');
  });

  it('does not grow with what agents call things', () => {
    const many = Array.from({ length: 500 }, (_none, index) => ({
      'gen_ai.tool.name': `made_up_${index}`,
      tier: `t${index}`,
      status: `s${index}`,
    }));
    const text = measured(...many);
    expect(text).toContain('banksman_calls_total{tool="other",tier="unknown",outcome="unknown"} 500\n');
    expect(text).not.toContain('made_up');
  });

  it('says how each sink does', () => {
    const text = measured();
    expect(text).toContain('banksman_sink_up{sink="otlp"} 0\n');
    expect(text).toContain('banksman_sink_behind_seconds{sink="otlp"} 1.5\n');
    expect(text).toContain('banksman_sink_lost_total{sink="otlp"} 1\n');
    expect(text).toContain('banksman_requests_pending 2\n');
  });
});
