/** One graph as SVG, drawn by attributes and classes alone: the page's policy allows no style of an element's own. */
import { Html, html } from '#kernel/text/html';
import { localTime } from '#kernel/text/result-fields';
import { t } from '../l10n.ts';

interface Series {
  /** The API's name of it. */
  readonly name: string;
  /** undefined: nothing was measured then. */
  readonly points: readonly (number | undefined)[];
}

interface Axes {
  /** Of each point, ms since the epoch. */
  readonly times: readonly number[];
  inWords(value: number): string;
  /** Of the vertical axis; absent: the largest value. */
  readonly top?: number;
}

const width = 300;
const height = 70;

const titles: Readonly<Record<string, string>> = { netin: t('in'), netout: t('out'), diskread: t('read'), diskwrite: t('written') };

/** At most two series. What a screen reader says of it are the figures that count. */
export function graph(title: string, series: readonly Series[], { times, inWords, top }: Axes): Html {
  const known = series.filter(({ points }) => points.some((point) => point !== undefined));
  if (known.length === 0) return html`<figure><figcaption>${title}</figcaption><p class="dim">${t('Nothing was measured.')}</p></figure>`;
  const most = top ?? Math.max(...known.flatMap(({ points }) => points.map((point) => point ?? 0)), Number.MIN_VALUE);
  const figures = known.map((one) => figuresOf(one, inWords));
  const drawn = known.map(({ points }, index) => pathOf(points, most, index));
  const [from = 0, to = 0] = [times[0], times.at(-1)];
  const words = figures.map(({ name, now, average, max }) =>
    t('{0}{1} now, {2} on average, at most {3}', name === '' ? '' : `${name} `, now, average, max),
  );
  const legend = words.map((line, index) => html`<li class="legend-${index}">${line}</li>`);
  return html`<figure>
<figcaption>${title}</figcaption>
<svg viewBox="0 0 ${width} ${height}" preserveAspectRatio="none" role="img" aria-label="${title}: ${words.join('; ')}">${drawn}</svg>
<p class="dim axis"><span>${localTime(from)}</span><span>${localTime(to)}</span></p>
<ul class="legend">${legend}</ul>
</figure>`;
}

function figuresOf({ name, points }: Series, inWords: (value: number) => string) {
  const known = points.filter((point) => point !== undefined);
  const sum = known.reduce((all, value) => all + value, 0);
  const words = { now: inWords(known.at(-1) ?? 0), average: inWords(sum / known.length), max: inWords(Math.max(...known)) };
  return { name: titles[name] ?? '', ...words };
}

/** A line that has a gap where nothing was measured. */
function pathOf(points: readonly (number | undefined)[], most: number, index: number): Html {
  const step = width / Math.max(1, points.length - 1);
  let isDown = false;
  const moves = points.map((point, at) => {
    const move =
      point === undefined
        ? ''
        : `${isDown ? 'L' : 'M'}${(at * step).toFixed(1)} ${(height - 2 - (point / most) * (height - 4)).toFixed(1)}`;
    isDown = point !== undefined;
    return move;
  });
  return new Html(`<path class="line-${index}" vector-effect="non-scaling-stroke" fill="none" d="${moves.join('')}"/>`);
}

export const graphStyle = `
.graphs { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(20em, 100%), 1fr)); gap: 1.2em; }
figure { margin: 0; }
figcaption { font-weight: 600; margin-bottom: .3em; }
svg { display: block; width: 100%; height: 5.5em; background: var(--vscode-textCodeBlock-background); border: 1px solid var(--vscode-contrastBorder, transparent); }
.line-0 { stroke: var(--vscode-charts-blue, var(--vscode-foreground)); stroke-width: 1.5px; }
.line-1 { stroke: var(--vscode-charts-purple, var(--vscode-foreground)); stroke-width: 1.5px; stroke-dasharray: 5 3; }
.axis { display: flex; justify-content: space-between; margin: .2em 0; font-size: .9em; }
.legend { list-style: none; padding: 0; }
.legend li::before { content: "— "; font-weight: 700; }
.legend-0::before { color: var(--vscode-charts-blue, inherit); }
.legend-1::before { color: var(--vscode-charts-purple, inherit); }
.legend .legend-1::before { content: "- - "; }
`;
