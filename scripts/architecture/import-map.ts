/** The rooms of the project (the folders of `src`) and who imports whom, drawn as an SVG: `docs/import-map.svg`. */
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { specifiersOf } from './specifiers.ts';

/** How many imports lead from one room to another: a file counts for each file that it names. */
export type RoomImports = ReadonlyMap<string, ReadonlyMap<string, number>>;

/** Rooms that many lines meet are as wide as the map; the others stand in columns in this order, so that few lines cross. New ones come last. */
const wide = ['hosts', 'app', 'kernel'];
const columns = [
  'tools',
  'demo',
  'identity',
  'approval',
  'policy',
  'pipeline',
  'redaction',
  'execution',
  'files',
  'connectors',
  'stores',
  'audit',
];

/** From the text of the sources; the architecture check finds the same with another reader, or fails (import-graph.ts). */
export function readRoomImports(root: string): RoomImports {
  const counts = new Map<string, Map<string, number>>();
  for (const file of globSync('src/*/**/*.ts', { cwd: root })) {
    const [, room = ''] = file.split(path.sep);
    const own = counts.get(room) ?? new Map<string, number>();
    counts.set(room, own);
    for (const specifier of specifiersOf(readFileSync(path.join(root, file), 'utf8'))) {
      const [, other] = /^#([^/]+)\//.exec(specifier) ?? [];
      if (other !== undefined && other !== room) own.set(other, (own.get(other) ?? 0) + 1);
    }
  }
  return counts;
}

/** To its first digit: the map is to change when the project does, not with every import. */
function rounded(count: number): number {
  const unit = 10 ** Math.floor(Math.log10(count));
  return Math.round(count / unit) * unit;
}

export function shownCount(count: number): string {
  return count < 10 ? String(count) : `~${rounded(count)}`;
}

const size = { column: 92, row: 104, box: 34, half: 42, margin: 14, top: 44 };

/** Where a room stands: its middle, or both ends of a wide one. */
interface Place {
  readonly from: number;
  readonly to: number;
  readonly y: number;
}

/** As text, the same for the same counts. @throws {Error} where rooms import each other in a circle */
export function drawImportMap(imports: RoomImports): string {
  const places = placesOf(imports);
  const arrows = [...imports].flatMap(([room, others]) => [...others].map(([other, count]) => ({ room, other, count })));
  const lines = arrows.toSorted((a, b) => `${a.room} ${a.other}`.localeCompare(`${b.room} ${b.other}`, 'en'));
  const width = Math.max(...[...places.values()].map(({ to }) => to)) + size.margin;
  const height = Math.max(...[...places.values()].map(({ y }) => y)) + size.box + size.margin;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" font-family="system-ui, sans-serif">`,
    '<title>The folders of src, and how many imports lead from one to another</title>',
    `<desc>${lines.map(({ room, other, count }) => `${room} to ${other}: ${shownCount(count)}`).join('; ')}</desc>`,
    '<style>.room{fill:#e8eef6;stroke:#3b5f8a}.name{fill:#16212e;font-size:14px;text-anchor:middle}.count{fill:#16212e;font-size:11px;paint-order:stroke;stroke:#fff;stroke-width:3px}.line{fill:none;stroke:#3b5f8a}.base{stroke:#9aa9bb}</style>',
    '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0L8 4L0 8z" fill="#3b5f8a"/></marker></defs>',
    `<rect width="${width}" height="${height}" fill="#fff"/>`,
    `<text x="${size.margin}" y="22" class="name" style="text-anchor:start">Who imports whom in src, and how many imports each arrow is</text>`,
    ...lines.map(({ room, other, count }) => arrow({ room, other, count, places })),
    ...[...places].map(([room, place]) => box(room, place)),
    '</svg>',
    '',
  ].join('\n');
}

function placesOf(imports: RoomImports): ReadonlyMap<string, Place> {
  const rooms = [...imports.keys()].toSorted();
  const narrow = [...columns.filter((room) => rooms.includes(room)), ...rooms.filter((room) => ![...columns, ...wide].includes(room))];
  const middle = (column: number) => size.margin + size.half + column * size.column;
  const last = narrow.length + 1;
  return new Map(
    rooms.map((room): [string, Place] => {
      const y = size.top + rowOf(room, imports) * size.row;
      const column = narrow.indexOf(room) + 1;
      // The first and the last column are left free for what leads past the others, down to the kernel.
      const [first, end] = wide.includes(room) ? [room === 'app' ? 1 : 0, last] : [column, column];
      return [room, { from: middle(first) - size.half, to: middle(end) + size.half, y }];
    }),
  );
}

/** Below all that import it. */
function rowOf(room: string, imports: RoomImports, above: readonly string[] = []): number {
  if (above.includes(room)) throw new Error(`rooms import each other: ${[...above, room].join(', ')}`);
  const importers = [...imports].filter(([, others]) => others.has(room)).map(([name]) => name);
  return Math.max(-1, ...importers.map((name) => rowOf(name, imports, [...above, room]))) + 1;
}

interface Arrow {
  readonly room: string;
  readonly other: string;
  readonly count: number;
  readonly places: ReadonlyMap<string, Place>;
}

/** Straight down where one of both is above the other, else a curve into the side of its top that faces where it comes from. */
function arrow({ room, other, count, places }: Arrow): string {
  const [start, end] = [places.get(room), places.get(other)];
  if (start === undefined || end === undefined) throw new Error(`there is no folder ${other}, which ${room} imports`);
  const [from, to] = [start.y + size.box, end.y];
  const x = straight(start, end, wide.includes(room) && wide.includes(other) ? room : undefined);
  const kind = other === 'kernel' ? 'line base' : 'line';
  const stroke = `class="${kind}" stroke-width="${(1 + Math.log10(rounded(count))).toFixed(1)}" marker-end="url(#tip)"`;
  const label = (at: number, y: number) => `<text x="${at}" y="${y}" class="count">${shownCount(count)}</text>`;
  if (x !== undefined) return `<path d="M${x} ${from}V${to}" ${stroke}/>${label(x + 6, from + 16)}`;
  const [out, into] = [(start.from + start.to) / 2, (end.from + end.to) / 2];
  const goal = into + (out < into ? -22 : 22);
  const bend = (to - from) / 2;
  return `<path d="M${out} ${from}C${out} ${from + bend} ${goal} ${to - bend} ${goal} ${to}" ${stroke}/>${label(goal + (out < into ? -18 : 8), to - 12)}`;
}

/** The column in which a line can go straight down; between two wide rooms a free one at the side. */
function straight(start: Place, end: Place, between: string | undefined): number | undefined {
  if (between === 'hosts') return end.from > start.from ? (end.from + end.to) / 2 : start.from + size.half;
  if (between !== undefined) return start.to - size.half;
  const inner = start.to - start.from < end.to - end.from ? start : end;
  const x = (inner.from + inner.to) / 2;
  return x > start.from && x < start.to && x > end.from && x < end.to ? x : undefined;
}

function box(room: string, { from, to, y }: Place): string {
  const name = `<text x="${(from + to) / 2}" y="${y + 22}" class="name">${room}</text>`;
  return `<rect x="${from}" y="${y}" width="${to - from}" height="${size.box}" rx="5" class="room"/>${name}`;
}
