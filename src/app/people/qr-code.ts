/** An address for a phone's camera (ISO/IEC 18004). */
import { encodeQR } from 'qr';

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

/** As the path of an SVG in a square of `size`; dark is to be drawn on a light ground, border included. */
export function qrPath(address: string): { readonly size: number; readonly path: string } {
  const rows = encodeQR(address, 'raw', { ecc: 'low', border: 4 });
  const path = rows.flatMap((row, y) => row.flatMap((dark, x) => (dark ? [`M${x} ${y}h1v1h-1z`] : []))).join('');
  return { size: rows.length, path };
}
