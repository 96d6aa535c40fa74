/** An address for a phone's camera (ISO/IEC 18004). */
import { encodeQR } from 'qr';
import { Html, html } from '#kernel/text/html';

/** What a phone can open: it has its own `localhost`, and no business with it. */
export function isForPhones(address: string): boolean {
  return address.startsWith('https://');
}

/** For a terminal of any colours: two rows of the code in one line, dark on light whatever the terminal's own colours are. */
export function qrText(address: string): string {
  return pairs(encodeQR(address, 'raw', { ecc: 'low', border: 2 }))
    .map((line) => `\u001b[30;47m${line}\u001b[0m`)
    .join('\n');
}

const halves = { '00': ' ', '10': '▀', '01': '▄', '11': '█' } as const;

function pairs(rows: readonly (readonly boolean[])[]): readonly string[] {
  const even = rows.filter((_, index) => index % 2 === 0);
  return even.map((upper, index) => {
    const lower = rows[2 * index + 1] ?? [];
    return upper.map((dark, column) => halves[`${dark ? 1 : 0}${lower[column] === true ? 1 : 0}`]).join('');
  });
}

/** For a page: black on white whatever the page's colours are, its border included. */
export function qrDrawing(address: string): Html {
  const rows = encodeQR(address, 'raw', { ecc: 'low', border: 4 });
  const size = rows.length;
  // Markup of ours: as a value it would be cut after some thousand characters, and no camera could read the rest.
  const dark = new Html(rows.map(darkRuns).join(''));
  return html`<svg class="qr" role="img" aria-label="QR code of ${address}" viewBox="0 0 ${size} ${size}" width="200" height="200" shape-rendering="crispEdges"><path fill="#fff" d="M0 0h${size}v${size}h-${size}z"/><path fill="#000" d="${dark}"/></svg>`;
}

function darkRuns(row: readonly boolean[], y: number): string {
  const line = row.map((dark) => (dark ? '#' : ' ')).join('');
  return [...line.matchAll(/#+/g)].map(({ index, 0: { length } }) => `M${index} ${y}h${length}v1h-${length}z`).join('');
}
