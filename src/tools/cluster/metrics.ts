/** The tool that looks at how much was used over time. */
import * as z from 'zod';
import { clusterArgument, nodeArgument, vmidArgument } from '#kernel/arguments';
import { Fault } from '#kernel/errors';
import type { JsonObject } from '#kernel/json';
import { timeframes } from '#kernel/ports/cluster';
import { describeTarget, type GuestTarget, type NodeTarget, targetWords } from '#kernel/resource';
import { joined, say } from '#kernel/text/message';
import { defineTool, type ToolResult } from '#kernel/tool';
import { guestNamed } from '../support/targets.ts';

export const getMetrics = defineTool({
  name: 'get_metrics',
  title: 'Get metrics',
  description:
    'How busy a guest (`vmid`) or a node (`node`) of the Proxmox VE cluster was over the last hour, day, week, month or year: for each figure (CPU as a fraction, memory and disk in bytes, network and disk traffic in bytes a second, load) least, mean, most and last value, and its course in one line. For the value now use get_node_status or get_guest.',
  group: 'cluster',
  tier: 'green',
  impact: 'none',
  permission: 'data:read',
  rare: true,
  input: z.strictObject({
    vmid: vmidArgument.optional(),
    node: nodeArgument.optional(),
    timeframe: z.enum(timeframes).default('day').meta({ description: 'How far back.' }),
    cluster: clusterArgument,
  }),
  touches: ({ vmid, node }) => {
    if (vmid !== undefined) return [guestNamed('read', { vmid, node })];
    return node === undefined ? [] : [{ kind: 'node', access: 'read', node }];
  },
  headline: ({ timeframe }, targets) => say`Read the metrics of ${joined(targets.map(targetWords), ',')} over a ${timeframe}`,
  run: async ({ timeframe }, context) => {
    const of = context.targets.find((target) => target.kind === 'guest' || target.kind === 'node');
    if (of === undefined) throw new Fault('invalid_input', 'name a guest in `vmid`, or a node in `node`', { audience: 'user' });
    const rows = await context.cluster().api.rows({ rows: 'metrics', of, timeframe }, context.signal);
    return described(
      of,
      timeframe,
      rows.toSorted((a, b) => Number(a['time'] ?? 0) - Number(b['time'] ?? 0)),
    );
  },
});

/** What says most, first; the rest follows in the order of the API. */
const shownFirst = ['cpu', 'mem', 'memused', 'loadavg'];

function described(of: GuestTarget | NodeTarget, timeframe: string, rows: readonly JsonObject[]): ToolResult {
  const names = new Set(rows.flatMap((row) => Object.keys(row)).filter((name) => name !== 'time'));
  const series = [...names].flatMap((name) => {
    const one = seriesOf(rows.map((row) => numberOf(row[name])));
    return one === undefined ? [] : [[name, one] as const];
  });
  const shown = shownFirst.flatMap((name) =>
    series.filter(([own]) => own === name).map(([own, one]) => `${own} ${one.sparkline} ${figure(own, one)}`),
  );
  const what = series.length === 0 ? 'nothing was measured' : shown.join('; ');
  return {
    ok: true,
    message: `${describeTarget(of)} over the last ${timeframe}: ${what}`,
    result: {
      ...('vmid' in of ? { vmid: of.vmid } : {}),
      node: of.node,
      timeframe,
      from: rows[0]?.['time'] ?? null,
      to: rows.at(-1)?.['time'] ?? null,
      points: rows.length,
      metrics: Object.fromEntries(series.map(([name, one]) => [name, { ...one }])),
    },
  };
}

/** A gap is a row without the figure; the API also gives numbers as texts, and NaN as one. */
function numberOf(value: unknown): number | undefined {
  const number = typeof value === 'string' ? Number.parseFloat(value) : value;
  return typeof number === 'number' && Number.isFinite(number) ? number : undefined;
}

function figure(name: string, { average, max }: Series): string {
  if (name === 'cpu') return `${(average * 100).toFixed(0)} % on average, ${(max * 100).toFixed(0)} % at most`;
  if (name === 'loadavg') return `${average.toFixed(1)} on average, ${max.toFixed(1)} at most`;
  return `${(average / 2 ** 30).toFixed(1)} GiB on average, ${(max / 2 ** 30).toFixed(1)} GiB at most`;
}

// A series of figures in one line.
const bars = '▁▂▃▄▅▆▇█';
/** So many fit beside a name. */
const width = 40;

interface Series {
  readonly min: number;
  readonly average: number;
  readonly max: number;
  readonly last: number;
  /** From 0 to the largest figure; a gap where nothing was measured. */
  readonly sparkline: string;
}

/** undefined where nothing was measured. @param values in order of time; undefined: not measured */
function seriesOf(values: readonly (number | undefined)[]): Series | undefined {
  const known = values.filter((value) => value !== undefined);
  const last = known.at(-1);
  if (last === undefined) return undefined;
  const max = known.reduce((one, other) => Math.max(one, other));
  return {
    min: known.reduce((one, other) => Math.min(one, other)),
    average: known.reduce((sum, value) => sum + value, 0) / known.length,
    max,
    last,
    sparkline: sparkline(values, max),
  };
}

function sparkline(values: readonly (number | undefined)[], max: number): string {
  const count = Math.min(width, values.length);
  const chunks = Array.from({ length: count }, (_, index) =>
    values.slice(Math.floor((index * values.length) / count), Math.floor(((index + 1) * values.length) / count)),
  );
  return chunks.map((chunk) => barOf(chunk, max)).join('');
}

/** The highest figure of the chunk: a short peak is what people look for. */
function barOf(chunk: readonly (number | undefined)[], max: number): string {
  const known = chunk.filter((value) => value !== undefined);
  if (known.length === 0) return ' ';
  const highest = known.reduce((one, other) => Math.max(one, other));
  const step = max <= 0 ? 0 : Math.round((Math.max(0, highest) / max) * (bars.length - 1));
  return bars[step] ?? ' ';
}
