/** A series of figures in one line. */

const bars = '▁▂▃▄▅▆▇█';
/** So many fit beside a name. */
const width = 40;

export interface Series {
  readonly min: number;
  readonly average: number;
  readonly max: number;
  readonly last: number;
  /** From 0 to the largest figure; a gap where nothing was measured. */
  readonly sparkline: string;
}

/** undefined where nothing was measured. @param values in order of time; undefined: not measured */
export function seriesOf(values: readonly (number | undefined)[]): Series | undefined {
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
